#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the thread of a pinned job that lends its cores takes from whom it lends them to.

The job keeps one core, and its thread may run on both (core/stretch.h).  The other's thread may
run on the lent core alone.  Prints CPU time of the other beside it, relative to alone."""

import os
import signal
import sys
import time

SECONDS = 2
ROUNDS = 3
# The lender computes for so many milliseconds, and sleeps for so many.
SHAPES = ((1000, 0), (50, 5), (5, 1), (1, 1), (0.1, 0.1))


def compute(milliseconds):
    until = time.monotonic() + milliseconds / 1000
    while time.monotonic() < until:
        pass


def start(cpus, work):
    """A process on CPUS that does WORK again and again."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()  # a scheduling group of its own, as each job's
    os.sched_setaffinity(0, cpus)
    while True:
        work()


def lend(first, second, shape):
    """Begin on SECOND, as a thread that ran there when its job began to lend."""
    busy, idle = shape
    os.sched_setaffinity(0, {second})
    compute(50)
    os.sched_setaffinity(0, {first, second})
    while True:
        compute(busy)
        time.sleep(idle / 1000)


def cpu_share(pid):
    def ran():
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9
    begin, before = time.monotonic(), ran()
    time.sleep(SECONDS)
    return (ran() - before) / (time.monotonic() - begin)


def beside(first, second, shape):
    """CPU share of who computes on SECOND, beside a lender of SHAPE or nobody."""
    pids = [start({second}, lambda: compute(1000))]
    if shape:
        pids.append(start({first}, lambda: lend(first, second, shape)))
    time.sleep(0.2)  # the begin is over
    try:
        return cpu_share(pids[0])
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def main():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("bench_lender: needs two CPUs")
    first, second = cpus[:2]
    print("lender computes, sleeps, ms: CPU time of who has the lent core, relative to alone")
    for shape in SHAPES:
        ratios = sorted(beside(first, second, shape) / beside(first, second, None)
                        for _ in range(ROUNDS))
        print(f"  {shape[0]:g}, {shape[1]:g}: {ratios[ROUNDS // 2]:.3f} "
              f"({ratios[0]:.3f} to {ratios[-1]:.3f})", flush=True)


if __name__ == "__main__":
    main()
