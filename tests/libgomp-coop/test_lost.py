#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A worker whose kernel thread gets no CPU, as beside other processes, but for
good: here the test stops it. Regions end all the same while it was idle; and
where it was not, as soon as it goes on. In kernel-thread mode, once a thread had
to wait for its CPU, all may run, on any CPU of the job's, and no one else's."""

import ctypes
import os
import select
import time

from fake_agent import (FakeAgent, LIBC, Program, directory, needs_probe,
                        two_cpus, wait_for)

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000


def ptrace(request, tid):
    if LIBC.ptrace(request, tid, ctypes.c_void_p(), ctypes.c_void_p()):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), f"ptrace {request} {tid}")


def stop(tid):
    """Stop the thread TID; False: it has ended."""
    try:
        ptrace(PTRACE_SEIZE, tid)
        ptrace(PTRACE_INTERRUPT, tid)
    except OSError:
        return False
    return os.WIFSTOPPED(os.waitpid(tid, WALL)[1])


def resume(tid):
    """Let it go on, or, since it ended with its process, go."""
    try:
        ptrace(PTRACE_DETACH, tid)
    except OSError:
        os.waitpid(tid, WALL)


def state(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def second_worker(pid):
    """The thread on a CPU of its own that is not the initial thread's. Others
    have that one or all."""
    home = os.sched_getaffinity(pid)
    return [tid for tid in map(int, os.listdir(f"/proc/{pid}/task"))
            if len(os.sched_getaffinity(tid)) == 1
            and os.sched_getaffinity(tid) != home]


def start(mode, team, regions, barriers):
    program = Program(str(regions), str(barriers), program="test_lost",
                      COSCHED_MODE=mode, OMP_NUM_THREADS=str(team))
    program.wait_line("ready")
    wait_for("one second worker", lambda: len(second_worker(program.pid)) == 1)
    return program, second_worker(program.pid)[0]


def stopped_for_good(mode, team):
    program, worker = start(mode, team, 200, 3)
    with program:
        wait_for("an idle worker", lambda: state(program.pid, worker) == "S")
        assert stop(worker)
        program.process.stdin.write("go\n")
        program.process.stdin.flush()
        ended = select.select([program.process.stdout], [], [], 60)[0]
        resume(worker)
        out, err = program.process.communicate(timeout=60)
        assert ended, f"{mode}, {team} threads: a region waits for the worker"
        assert out == "PASS\n", (mode, team, out, err)


def stopped_at_random(mode, team):
    program, worker = start(mode, team, 3000, 10)
    stops = 0
    with program:
        program.process.stdin.write("go\n")
        program.process.stdin.flush()
        while stops < 200 and stop(worker):
            time.sleep(0.001)
            resume(worker)
            stops += 1
        out, err = program.process.communicate(timeout=120)
        assert out == "PASS\n", (mode, team, out, err)
    print(f"{mode}, {team} threads: stopped {stops} times")


def all_may_run(pid, client, cpus):
    """Threads are stopped for a while, one after the other, too short for the
    watchdog: true once more run than there are CPUS, all on any of these."""
    for _ in range(500):
        masks = {tid: os.sched_getaffinity(tid)
                 for tid in map(int, os.listdir(f"/proc/{pid}/task"))}
        bound = [tid for tid, mask in masks.items() if mask != set(cpus)]
        if not bound and client.header_of_report()["extra_workers"]:
            return True
        if stop(tid := max(bound or masks)):
            time.sleep(0.002)
            resume(tid)
    return False


def kernel_threads(path, cpus):
    with FakeAgent(path, cpus) as agent, \
            Program("barriers", socket_path=path, COSCHED_MODE="kthread",
                    OMP_NUM_THREADS="4") as program:
        client = agent.client()
        program.wait_line("ready")
        assert all_may_run(program.pid, client, cpus), (
            "kernel threads wait for a CPU that they do not get")
        for keep in cpus:
            client.allot([keep])
            wait_for(f"all on CPU {keep}", lambda: program.on_only([keep]))
            client.allot(cpus)
        program.stop()


def main():
    needs_probe()
    os.sched_setaffinity(0, two_cpus())
    with directory() as path:
        kernel_threads(f"{path}/sock", two_cpus())
    for mode in ("donor", "ult"):
        for team in (2, 4, 7, 40):
            stopped_for_good(mode, team)
            stopped_at_random(mode, team)


main()
