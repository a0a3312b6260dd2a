#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A connection and the processes that attach over it, in every order of their
ends: none of them touches another user's connection."""

import json
import os
import resource
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, announce, need, skip, wait_for

NOBODY = 65534
JOBS = (11, 12)

# A process of another user: commands on standard input, one answer a line.
CLIENT = f"""
import json, os, socket, sys
os.setgid({NOBODY}); os.setuid({NOBODY})
open_ones = {{}}
for line in sys.stdin:
    word, which, *rest = line.split()
    answer = {{}}
    if word == "open":
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(60)
        s.connect(sys.argv[1])
        open_ones[which] = s
    elif word == "attach":
        s = open_ones[which]
        try:
            s.send(json.dumps({{"v": 1, "op": "attach", "job": int(rest[0]),
                                "pid": os.getpid(), "threads": 1}}).encode())
            answer = json.loads(s.recv(1 << 17) or b"null") or {{}}
        except OSError as error:
            answer = {{"ok": False, "error": str(error)}}
    elif word == "close":
        open_ones.pop(which).close()
    print(json.dumps(answer), flush=True)
"""


class Client:
    def __init__(self, agent):
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, agent.socket],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for job in JOBS:
            self.be_task(agent, job)

    def be_task(self, agent, job):
        """Only a job's own processes may attach to it."""
        assert agent.call({"op": "task", "job": job, "step": 0,
                           "pid": self.process.pid})["ok"]

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Others:
    """Connections of root, which take the place of what was just freed."""

    def __init__(self, agent, count, served=True):
        self.socks, self.served = [], served
        for _ in range(count):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            sock.settimeout(60)
            sock.connect(agent.socket)
            self.socks.append(sock)

    def ping(self, index):
        self.socks[index].send(b'{"v":1,"op":"ping"}')
        return json.loads(self.socks[index].recv(1 << 17) or b"{}")

    def all_live(self):
        return all(self.ping(index).get("ok") for index in range(len(self.socks)))

    def __enter__(self):
        assert not self.served or self.all_live()
        return self

    def __exit__(self, *exception):
        for sock in self.socks:
            sock.close()


def check_two_jobs(agent):
    """Over one connection to two jobs; it is closed, then the process ends."""
    with Client(agent) as client:
        client.ask("open", "a")
        assert client.ask("attach", "a", 11)["ok"]
        reply = client.ask("attach", "a", 12)
        assert not reply["ok"], "one connection holds two processes"
        assert "job 11: a process has attached over this connection" in \
            reply["error"], reply
        assert agent.attached(11) and not agent.attached(12)
        client.ask("close", "a")
        with Others(agent, 50) as others:
            client.end()
            wait_for("ends", lambda: not agent.attached(11) and
                     not agent.attached(12))
            assert others.all_live(), "another's connection was shut"


def check_moves(agent):
    """Over two connections to two jobs: the process is in the last one."""
    with Client(agent) as client:
        client.ask("open", "a")
        client.ask("open", "b")
        assert client.ask("attach", "a", 11)["ok"]
        assert client.ask("attach", "b", 12)["ok"]
        assert agent.attached(12) and not agent.attached(11)
        # The first was hung up on; what its end says is of nobody's concern.
        client.ask("close", "a")
        assert not client.ask("attach", "b", 11)["ok"]
        assert agent.attached(12) and not agent.attached(11)
        client.ask("close", "b")
        wait_for("end", lambda: not agent.attached(12))
        with Others(agent, 50) as others:
            client.end()
            assert others.all_live()


def check_no_descriptors(agent):
    """Where the agent has no descriptor left it says so once a minute, goes on with its work and
    with whom it knows, and takes others as soon as it can."""
    pid, said = agent.process.pid, "cannot accept connections for now"
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    with Others(agent, 1) as known:
        before, began = known.ping(0)["epochs"], time.monotonic()
        taken = len(os.listdir(f"/proc/{pid}/fd"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (taken, limits[1]))
        with Others(agent, 20, False):
            wait_for("the message", lambda: said in agent.log_text())
            wait_for("epochs", lambda: known.ping(0)["epochs"] > before + 40)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
            wait_for("service", agent.alive)
        minutes = (time.monotonic() - began) / 60
    assert agent.log_text().count(said) <= 1 + minutes, agent.log_text()


def check_withdrawn(agent):
    """The job is withdrawn and announced again while the connection lives."""
    with Client(agent) as client:
        client.ask("open", "a")
        assert client.ask("attach", "a", 11)["ok"]
        assert agent.call({"op": "withdraw", "job": 11})["ok"]
        assert announce(agent, 11, uid=NOBODY)["ok"]
        client.be_task(agent, 11)
        with Others(agent, 50) as others:
            client.ask("open", "b")
            assert client.ask("attach", "b", 11)["ok"]
            client.ask("close", "a")
            assert agent.attached(11) and others.all_live()
            client.end()
            wait_for("end", lambda: not agent.attached(11))
            assert others.all_live()


def main():
    need("coschedd")
    if os.getuid() != 0:
        skip("only root can become another user")
    with Agent() as agent:
        for job in JOBS:
            assert announce(agent, job, uid=NOBODY)["ok"]
        check_two_jobs(agent)
        check_moves(agent)
        check_withdrawn(agent)
        check_no_descriptors(agent)
        assert agent.process.poll() is None


main()
