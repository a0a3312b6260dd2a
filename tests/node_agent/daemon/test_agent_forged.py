#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A user who means harm: forged requests, floods, connections that say nothing
or do not listen.  All of it is refused and logged once, and neither the jobs
of others nor root's requests notice."""

import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, fake, need, skip, wait_for

NOBODY = 65534
SILENT = 128  # CONNECTIONS_SILENT_UID

# What the enemy does: one command a line on standard input, one answer a line.
ENEMY = """
import os, socket, sys
path = sys.argv[1]
os.setgid({uid}); os.setuid({uid})
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    s.connect(path)
    return s
keep = []
for line in sys.stdin:
    words = line.split(None, 1)
    if words[0] == "send":          # one packet, one reply
        s = connect()
        s.send(words[1].strip().encode())
        try:
            print(s.recv(1 << 17).decode(), flush=True)
        except ConnectionResetError:
            print("{{}}", flush=True)
    elif words[0] == "oversized":
        s = connect()
        try:
            s.send(b'{{"v":1,"op":"ping","x":"' + b"x" * 150000 + b'"}}')
            print(s.recv(1 << 17).decode(), flush=True)
        except OSError as error:
            print("{{}}", flush=True)
    elif words[0] == "silent":      # connections that say nothing
        refused = 0
        for _ in range(int(words[1])):
            s = connect()
            keep.append(s)
        for s in keep:
            s.settimeout(0.001)
            try:
                refused += s.recv(10) == b""
            except TimeoutError:
                pass
            except ConnectionResetError:
                refused += 1
        print(refused, flush=True)
    elif words[0] == "gone":        # how many have been hung up on
        gone = 0
        for s in keep:
            try:
                gone += s.recv(10) == b""
            except TimeoutError:
                pass
            except ConnectionResetError:
                gone += 1
        print(gone, flush=True)
    elif words[0] == "deaf":        # asks and never reads
        s = connect()
        try:
            for _ in range(100000):
                s.send(b'{{"v":1,"op":"config"}}')
        except OSError:
            pass
        keep.clear()
        print("hung up", flush=True)
    elif words[0] == "flood":       # asks as fast as it can, for ever
        s = connect()
        s.settimeout(None)
        print("begun", flush=True)
        while True:
            s.send(b'{{"v":1,"op":"config"}}')
            s.recv(1 << 17)
"""


class Enemy:
    def __init__(self, agent):
        self.process = subprocess.Popen(
            [sys.executable, "-c", ENEMY.format(uid=NOBODY), agent.socket],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, *words):
        print(*words, file=self.process.stdin, flush=True)

    def answer(self):
        line = self.process.stdout.readline()
        assert line, "the enemy has ended"
        return line.strip()

    def ask(self, *words):
        self.tell(*words)
        return self.answer()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.kill()
        self.process.wait()


def check_forged(agent, enemy, victim):
    """Requests in the name of others change nothing."""
    pid = victim.process.pid
    forged = [
        {"op": "announce", "job": 1, "uid": NOBODY, "name": "x", "cores": "0",
         "memory_mb": 0, "options": "", "restarts": 1},
        {"op": "announce", "job": 2, "uid": NOBODY, "name": "x", "cores": "0",
         "memory_mb": 0, "options": "", "restarts": 0},
        {"op": "task", "job": 1, "step": 0, "pid": enemy.process.pid},
        {"op": "withdraw", "job": 1},
        {"op": "record", "dir": "/tmp"},
        {"op": "drain", "reason": "so"},
        {"op": "resume"},
        {"op": "attach", "job": 1, "pid": enemy.process.pid, "threads": 1},
        {"op": "attach", "job": 1, "pid": pid, "threads": 1},
    ]
    before = victim.cpus()
    for request in forged:
        reply = json.loads(enemy.ask("send", json.dumps({"v": 1, **request})))
        assert reply["ok"] is False, (request, reply)
        assert reply["error"], request
    reply = json.loads(enemy.ask("oversized"))
    assert not reply.get("ok"), reply
    assert victim.cpus() == before and agent.attached(1)
    assert agent.job(2) is None and agent.status()["drained"] is None
    log = agent.log_text()
    assert log.count(f"from uid {NOBODY}") == 2, log  # once a kind and minute
    assert f"refused 'announce' from uid {NOBODY}" in log, log


def check_silent(agent, enemy):
    refused = int(enemy.ask("silent", SILENT + 50))
    assert 50 <= refused <= 51, refused
    assert agent.call({"op": "ping"})["ok"]
    assert "too many connections" in agent.log_text()
    # They are dropped after a while: five seconds and what the sweep takes.
    wait_for("end of the silent", lambda:
             int(enemy.ask("gone")) == SILENT + 50, 60, 0.5)


def check_deaf(agent, enemy):
    assert enemy.ask("deaf") == "hung up"
    assert agent.call({"op": "ping"})["ok"]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_flood(agent, victim):
    """The agent gives a user no more than his share of its time."""
    before = victim.cpus()
    with Enemy(agent) as one, Enemy(agent) as two, Enemy(agent) as three:
        for enemy in (one, two, three):
            assert enemy.ask("flood") == "begun"
        wait_for("use of the burst",
                 lambda: "asks too much" in agent.log_text(), 60)
        begin, used = time.monotonic(), cpu_seconds(agent.process.pid)
        for _ in range(60):  # root is served all the time
            assert agent.call({"op": "status"})["ok"]
            time.sleep(0.05)
        used = cpu_seconds(agent.process.pid) - used
        share = used / (time.monotonic() - begin)
    # 5 %, and the agent's own epochs and answers to us; without a limit it is
    # most of a CPU.
    assert share < 0.4, share
    assert agent.log_text().count("asks too much") == 1
    assert victim.cpus() == before and agent.attached(1)
    assert "lost" not in victim.text()


def check_work(agent, victim):
    """A job that says that it computes, and sleeps, has not computed in its record."""
    assert agent.call({"op": "withdraw", "job": 1})["ok"]
    used = cpu_seconds(victim.process.pid)
    line = re.search(r"job 1 ended: (.*)", agent.log_text())[1]
    record = dict(word.split("=", 1) for word in line.split()[1:])
    assert float(record["parallel_s"]) > 1, line
    # Two counts, in ticks of the kernel.
    assert float(record.get("work_s", 0)) <= used + 0.05, (line, used)


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    if os.getuid() != 0:
        skip("only root can become another user")
    with Agent() as agent, fake(agent, 1) as victim:
        wait_for("attach", lambda: agent.attached(1) and victim.cpus())
        with Enemy(agent) as enemy:
            check_forged(agent, enemy, victim)
            check_deaf(agent, enemy)
            check_silent(agent, enemy)
        check_flood(agent, victim)
        check_work(agent, victim)


main()
