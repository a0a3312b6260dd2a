#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Jobs of very many tasks and processes: what they cost the agent, counted in decisions, lines
of the log, bytes of the state, descriptors, and epochs that its own work keeps from beginning."""

import contextlib
import errno
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, announce, need, wait_for

LONG_EPOCH_S = 0.5
EPOCH_S = 0.05   # as by default
ATTACHES = 100
ENDING = 64      # ENDING_MOST
TASKS = 4000     # JOB_TASKS
JOB_LINES = 200  # JOB_LOG_BURST
LATER_LINES = 2  # JOB_LOG_PER_S
TASK_BYTES = 100 # of one in the state
OTHER_FDS = 20   # that may come and go


class Connection:
    """Requests of root's on one connection."""

    def __init__(self, agent):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(300)
        self.socket.connect(agent.socket)

    def send(self, **request):
        self.socket.send(json.dumps({"v": 1, **request}).encode())

    def answer(self):
        text, fds, _, _ = socket.recv_fds(self.socket, 1 << 17, 4)
        for fd in fds:
            os.close(fd)
        return json.loads(text)

    def call(self, **request):
        self.send(**request)
        return self.answer()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.socket.close()


@contextlib.contextmanager
def children(count, work):
    """The pids of COUNT processes that do WORK(begin), BEGIN being readable or at its end when
    they may begin, and the other end of that; they end with it."""
    begin, go = os.pipe()
    pids = []
    try:
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                try:
                    os.close(go)
                    work(begin)
                finally:
                    os._exit(0)
            pids.append(pid)
        yield pids, go
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)
        os.close(begin)
        with contextlib.suppress(OSError):
            os.close(go)


@contextlib.contextmanager
def sleepers(count):
    """The pids of COUNT processes that wait for the end of a file, and that file: a shell's, which
    makes them in less time than Python does."""
    script = "exec 3<&0; i=0; while [ $i -lt $1 ]; do read x <&3 & echo $!; i=$((i+1)); done; " \
             "echo; read x"
    with subprocess.Popen(["sh", "-c", script, "sh", str(count)], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        pids = [int(line) for line in iter(shell.stdout.readline, "\n")]
        try:
            yield pids, shell.stdin
        finally:
            shell.stdin.close()


def decided(root, before):
    """Decisions since BEFORE that there were not for the epochs alone."""
    now = root.call(op="ping")
    return now["decisions"] - before["decisions"] - (now["epochs"] - before["epochs"])


@contextlib.contextmanager
def attached(agent, root, job, count):
    """The pids of COUNT processes that have attached to JOB, and ping's answer before."""
    def attach(begin):
        os.read(begin, 1)
        with Connection(agent) as connection:
            assert connection.call(op="attach", job=job, pid=os.getpid(), threads=1)["ok"]
            connection.socket.settimeout(None)
            connection.socket.recv(1)

    assert announce(agent, job)["ok"]
    with children(count, attach) as (pids, go):
        for pid in pids:
            assert root.call(op="task", job=job, step=0, pid=pid)["ok"]
        before = root.call(op="ping")
        os.close(go)
        wait_for("attaches", lambda: agent.job(job)["attached"] == count)
        yield pids, before


def check_attaches(agent, root):
    """However many processes of a job attach, or end, in one epoch: they are decided about
    together."""
    with attached(agent, root, 1, ATTACHES) as (pids, before):
        assert decided(root, before) <= 2, decided(root, before)
        before = root.call(op="ping")
        for pid in pids[:-1]:
            os.kill(pid, signal.SIGKILL)
        wait_for("ends", lambda: agent.job(1)["attached"] == 1)
        assert decided(root, before) <= 2, decided(root, before)
    wait_for("the last end", lambda: agent.job(1)["attached"] == 0)
    assert root.call(op="withdraw", job=1)["ok"]


def check_withdrawal(agent, root):
    """Of a job that is withdrawn with all its processes some are detached in each turn of the
    loop: what root asks is answered in between.  Nobody joins it meanwhile."""
    with attached(agent, root, 3, ATTACHES + 2 * ENDING) as _:
        root.send(op="withdraw", job=3)
        root.send(op="status")
        root.send(op="task", job=3, step=0, pid=os.getpid())
        assert root.answer()["ok"]
        left = [job["attached"] for job in root.answer()["jobs"] if job["job"] == 3]
        assert left and left[0] >= ATTACHES, left
        assert root.answer()["errnum"] == errno.ENOENT
        wait_for("its end", lambda: not root.call(op="status")["jobs"])
        assert agent.log_text().count("job 3 ended: cosched/1 state=final") == 1
    # One that is announced again in the middle of that is another job.
    with attached(agent, root, 4, ATTACHES + 2 * ENDING) as _:
        root.send(op="withdraw", job=4)
        assert announce(agent, 4)["ok"] and root.answer()["ok"]
        assert agent.job(4)["attached"] == 0
        assert agent.log_text().count("job 4 ended: cosched/1 state=final") == 1
        assert root.call(op="withdraw", job=4)["ok"]
        assert agent.log_text().count("(withdrawal)") <= JOB_LINES


def count_fds(agent):
    return len(os.listdir(f"/proc/{agent.process.pid}/fd"))


def state_bytes(agent):
    return sum(os.path.getsize(os.path.join(agent.directory, name))
               for name in os.listdir(agent.directory)
               if name in ("state.json", "state.json.log"))


def check_tasks(agent, root):
    """A job has as many tasks as it may have: all are known, one more is refused, and what is
    decided, logged and kept of them is bounded; at their end nothing is left.  No epoch is missed
    for what they cost."""
    fds, size, began = count_fds(agent), state_bytes(agent), time.monotonic()
    assert announce(agent, 2)["ok"]
    with sleepers(TASKS + 1) as (pids, end):
        before = root.call(op="ping")
        for pid in pids[:-1]:
            assert root.call(op="task", job=2, step=0, pid=pid)["ok"]
        refused = root.call(op="task", job=2, step=0, pid=pids[-1])
        assert not refused["ok"] and "JOB_TASKS" in refused["error"], refused
        assert decided(root, before) <= 2, decided(root, before)
        # In the state each is once, and once more until that is written anew.
        assert state_bytes(agent) - size < 2 * TASKS * TASK_BYTES + 10000, state_bytes(agent)
        assert count_fds(agent) <= fds + TASKS + OTHER_FDS, count_fds(agent)
        seen = root.call(op="ping")["epochs"]
        wait_for("epochs", lambda: root.call(op="ping")["epochs"] > seen + 1)
        end.close()
    wait_for("ends", lambda: count_fds(agent) <= fds + OTHER_FDS)
    # The first end while others live, the last one, and none in between.
    assert decided(root, before) <= 4, decided(root, before)
    ping = root.call(op="ping")
    print({key: ping[key] for key in ping if "epochs" in key})
    assert ping["epochs_overrun"] <= ping["epochs"] // 4, ping # it is a time: no bound is safe
    assert root.call(op="withdraw", job=2)["ok"]
    lines = [line for line in agent.log_text().splitlines() if "job 2: " in line]
    seconds = time.monotonic() - began # in which lines were allowed; epochs may be missed
    assert JOB_LINES <= len(lines) < JOB_LINES + LATER_LINES * seconds + 50, len(lines)
    told = sum(int(re.search(r"(\d+) more lines", line)[1]) for line in lines
               if "more lines suppressed" in line)
    ended = told + sum("ended" in line for line in lines)
    assert ended >= TASKS - OTHER_FDS, (ended, lines[-3:])  # so many may live at the withdrawal


def main():
    need("coschedd")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Agent("--set", f"epoch={int(LONG_EPOCH_S * 1000)}ms") as agent, \
            Connection(agent) as root:
        check_attaches(agent, root)
        check_withdrawal(agent, root)
    if hard > TASKS + 1000:
        with Agent("--set", f"epoch={int(EPOCH_S * 1000)}ms") as agent, Connection(agent) as root:
            check_tasks(agent, root)


main()
