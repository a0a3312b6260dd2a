#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What users can cost the agent, counted: bytes that a trace keeps, lines that attaching and
leaving logs, many attached processes, and requests and attaches of others meanwhile.

usage: test_agent_floods.py [PROCESSES]

With PROCESSES (1024 are allowed: make bounds) as many attach, instead of 256, and the agent's
CPU time of each kind of request is printed."""

import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, announce, need, skip, wait_for

ONE, TWO, THREE, RANKER, NEIGHBOUR = 61001, 61002, 61003, 61004, 61009
RANKS = 256
OTHERS = range(30, 36)  # jobs
LOOPS = 500      # attach and leave
NEIGHBOURS = 10  # likewise, of who does nothing wrong
FLOODERS = 2     # processes that connect and leave all the time
JOB_LINES = 200  # JOB_LOG_BURST
LATER_LINES = 2  # JOB_LOG_PER_S

# Users' programs: argv has the socket, the uid, what to do, and how.
USER = r"""
import json, os, select, signal, socket, sys
path, uid, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if what != "ranks":
    os.setgid(uid); os.setuid(uid)

def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    return s

full = 0                        # queues that were, when it was to attach

def attach(job):                # as the library does, which tries again later
    global full
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    while True:
        try:
            try:
                s.connect(f"{path}.{job}")
            except (FileNotFoundError, ConnectionRefusedError, PermissionError):
                s.connect(path)
            break
        except BlockingIOError:
            full += 1
            select.select([], [], [], 0.001)
    s.setblocking(True)
    s.send(json.dumps({"v": 1, "op": "attach", "job": job, "pid": os.getpid(),
                       "threads": 1}).encode())
    return s, json.loads(s.recv(1 << 17) or b'{"ok": false}')

def ask(s, op):
    s.send(json.dumps({"v": 1, "op": op}).encode())
    return bool(s.recv(1 << 17))

sys.stdin.readline()            # it is known as a task
if what == "loop":              # attach and leave, so many times
    done = 0
    for _ in range(int(sys.argv[5])):
        s, reply = attach(int(sys.argv[4]))
        done += reply["ok"]
        s.close()
    print(done, full, flush=True)
elif what == "ask":             # on so many connections, for ever
    connections = [connect() for _ in range(int(sys.argv[4]))]
    ops = ("trace", "explain", "status", "config")
    print("ready", flush=True)
    while True:
        for i, s in enumerate(connections):
            try:
                s.send(json.dumps({"v": 1, "op": ops[i % len(ops)]}).encode())
            except OSError:     # was silent for too long
                connections[i] = connect()
        for s in connections:
            try:
                s.recv(1 << 17)
            except OSError:
                pass
elif what == "connect":         # and leave, for ever, in so many processes
    for _ in range(int(sys.argv[4]) - 1):
        if os.fork() == 0:
            break
    else:
        print("ready", flush=True)
    while True:
        connect().close()
elif what == "ranks":           # processes that attach once and wait
    for _ in range(int(sys.argv[5])):
        if os.fork() == 0:
            os.setgid(uid); os.setuid(uid)
            s, reply = attach(int(sys.argv[4]))
            s.recv(1)           # until the agent hangs up
            os._exit(0)
    print("ready", flush=True)
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)
"""


class User:
    def __init__(self, agent, uid, *what):
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, agent.socket, str(uid), *map(str, what)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True)
        if what[0] in ("loop", "ranks"):
            assert agent.call({"op": "task", "job": what[1], "step": 0,
                               "pid": self.process.pid})["ok"]
        print(file=self.process.stdin, flush=True)

    def answer(self):
        line = self.process.stdout.readline()
        assert line, "the user's program has ended"
        return line.strip()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def lines_of(agent, job):
    return [line for line in agent.log_text().splitlines() if f"job {job}: " in line]


def check_trace(agent):
    """All are handed the same memory, and can write none of it."""
    files = set()
    for _ in range(20):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
            sock.settimeout(60)
            sock.connect(agent.socket)
            sock.send(b'{"v":1,"op":"trace"}')
            _, fds, _, _ = socket.recv_fds(sock, 1 << 17, 4)
        assert len(fds) == 1
        files.add(os.fstat(fds[0]).st_ino)
        try:
            os.pwrite(fds[0], b"x", 0)
            raise AssertionError("the trace can be written to")
        except PermissionError:
            pass
        os.close(fds[0])
    assert len(files) == 1, f"{len(files)} files for 20 requests"


def check_lines(agent):
    """Of a thousand attaches of one process there are as many lines as the limit has."""
    before = agent.call({"op": "ping"})["epochs"]
    with User(agent, ONE, "loop", 21, LOOPS) as user:
        answer = user.answer()
    assert answer == f"{LOOPS} 0", answer
    # Each second allows a few more; an epoch is 50 ms.
    seconds = (agent.call({"op": "ping"})["epochs"] - before) / 20 + 60
    assert agent.call({"op": "withdraw", "job": 21})["ok"]
    wait_for("end", lambda: "job 21 ended" in agent.log_text())
    lines = lines_of(agent, 21)
    assert JOB_LINES <= len(lines) < JOB_LINES + LATER_LINES * seconds + 50, len(lines)
    told = sum(int(line.split()[-4]) for line in lines if "more lines suppressed" in line)
    said = sum("tached" in line or "task" in line for line in lines)
    assert told + said == 2 * LOOPS + 1, (told, said) # and the task's end


def check_users(agent, *more):
    """Three users with 200 connections, what ONE does besides, and root, who is served each
    time; the jobs of others are announced, and attach when they try first."""
    with contextlib.ExitStack() as stack:
        for user in [(ONE, "ask", 70), (TWO, "ask", 65), (THREE, "ask", 65), *more]:
            user = stack.enter_context(User(agent, *user))
            assert user.answer() == "ready"
        before = agent.call({"op": "ping"})["epochs"]
        for job in OTHERS:
            assert announce(agent, job, uid=NEIGHBOUR)["ok"]
        with User(agent, NEIGHBOUR, "loop", OTHERS[0], NEIGHBOURS) as neighbour:
            answer = neighbour.answer()
        assert answer == f"{NEIGHBOURS} 0", answer
        wait_for("epochs", lambda: agent.call({"op": "ping"})["epochs"] >= before + 10)
    # One line for each that had no time left, one for who had too many connections.
    floods = [line for line in agent.log_text().splitlines() if "from uid" in line or
              "asks too much" in line]
    assert len(set(floods)) <= 4, floods
    for job in OTHERS:
        assert agent.call({"op": "withdraw", "job": job})["ok"]


def print_costs(agent, job):
    """The agent's CPU time from a request to its reply, an epoch's within it included."""
    def cpu_ms():
        with open(f"/proc/{agent.process.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e6

    for op in ("ping", "status", "explain", "trace", "counters", "config", "why"):
        costs = []
        for _ in range(40):
            begin = cpu_ms()
            agent.call({"op": op, "job": job} if op == "why" else {"op": op})
            costs.append(cpu_ms() - begin)
        print(f"{op}: median {statistics.median(costs):.2f} ms, worst {max(costs):.2f} ms")


def check_ranks(agent, ranks):
    """So many processes; all are known, and all leave."""
    assert announce(agent, 60, uid=RANKER)["ok"]
    with User(agent, RANKER, "ranks", 60, ranks) as user:
        assert user.answer() == "ready"
        wait_for("attaches", lambda: agent.job(60)["attached"] == ranks, 120, 0.1)
        before = agent.call({"op": "ping"})["epochs"]
        wait_for("epochs", lambda: agent.call({"op": "ping"})["epochs"] >= before + 10)
        # Its own user's answers are cut to a packet, which 256 fit into.
        reply = agent.call({"op": "why", "job": 60})
        assert ranks < 1024 or reply["omitted"] > 0, reply
        if ranks > RANKS:
            print_costs(agent, 60)
    wait_for("ends", lambda: agent.job(60)["attached"] == 0, 120, 0.1)
    assert len(lines_of(agent, 60)) < 1000
    assert agent.call({"op": "withdraw", "job": 60})["ok"]
    assert "more lines suppressed" in lines_of(agent, 60)[-1] or \
        len(lines_of(agent, 60)) >= 2 * ranks, lines_of(agent, 60)[-3:]



class Rooted(Agent):
    """Asked by root's own socket, as Slurm's requests are."""

    def call(self, request):
        path, self.socket = self.socket, self.socket + ".root"
        try:
            return super().call(request)
        finally:
            self.socket = path


def main():
    need("coschedd")
    if os.getuid() != 0:
        skip("only root can become another user")
    with Rooted() as agent:
        check_trace(agent)
        for job, uid in ((21, ONE), (22, TWO), (23, THREE)):
            assert announce(agent, job, uid=uid)["ok"]
        check_lines(agent)
        check_users(agent)
        check_users(agent, (ONE, "connect", FLOODERS))
        check_ranks(agent, int(sys.argv[1]) if sys.argv[1:] else RANKS)


main()
