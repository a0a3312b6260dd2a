#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Something of higher priority has a CPU of the allotment: the program leaves it,
in the middle of a task, and comes back later.  Where there is no other CPU it
stays."""

import contextlib
import os
import signal
import subprocess
import sys

from fake_agent import FakeAgent, Program, directory, needs_probe, two_cpus, wait_for

BUSY = [sys.executable, "-c", "while True: pass"]
RAISED = -7  # of the program: whatever else runs leaves it a good part of its CPUs
HIGH = -13  # more than that: about 18 times what the program has


@contextlib.contextmanager
def stopped_process(cpu):
    """A process that would never sleep on CPU if it were not stopped.  Where the kernel
    divides CPUs between sessions, it must not be of ours: on the other CPU our program
    would have next to nothing of our part, too."""
    def prepare():
        os.sched_setaffinity(0, {cpu})
        with contextlib.suppress(OSError):
            os.nice(HIGH)
            os.setsid()
            with open("/proc/self/autogroup", "w", encoding="ascii") as group:
                group.write(str(RAISED + HIGH))

    with subprocess.Popen(BUSY, preexec_fn=prepare) as process:
        process.send_signal(signal.SIGSTOP)
        try:
            yield process
        finally:
            process.kill()


def run(path, mode, cpus, neighbour):
    with FakeAgent(path, cpus) as agent, \
            Program("static", socket_path=path, COSCHED_MODE=mode,
                    OMP_NUM_THREADS="2") as program:
        client = agent.client()
        program.wait_line("ready")
        wait_for("a thread on each CPU", lambda: program.on_each(cpus))
        neighbour.send_signal(signal.SIGCONT)
        wait_for(f"{mode}: CPU {cpus[1]} left", lambda: program.on_only(cpus[:1]))
        client.allot(cpus[1:])
        wait_for(f"{mode}: the only CPU kept", lambda: program.on_only(cpus[1:]))
        neighbour.send_signal(signal.SIGSTOP)
        client.allot(cpus)
        wait_for(f"{mode}: CPU {cpus[1]} used again", lambda: program.on_each(cpus))
        _, err = program.stop()
    assert f"CPU {cpus[1]} is kept busy by something else" in err, err


def main():
    needs_probe()
    cpus = two_cpus()
    with contextlib.suppress(PermissionError):
        os.nice(RAISED)
    with directory() as path, stopped_process(cpus[1]) as neighbour:
        if os.getpriority(os.PRIO_PROCESS, neighbour.pid) == 0:
            os.nice(15)  # beside much else the other CPU is kept busy then, too
        for mode in ("donor", "ult"):
            run(f"{path}/sock", mode, cpus, neighbour)


main()
