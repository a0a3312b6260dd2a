#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Which mode a program gets, and what each promises: threadprivate variables,
forks, serial regions on one CPU, the stock behaviour without an agent."""

import os
import time

from fake_agent import (MODES, FakeAgent, Program, directory, needs_probe,
                        two_cpus, wait_for)


def mode_of(path, cpus, program, **environment):
    with FakeAgent(path, cpus) as agent, \
            Program("team", socket_path=path, program=program,
                    **environment) as running:
        mode = MODES[agent.client().header_of_report()["mode"]]
        running.stop()
    return mode


def check_choice(path, cpus):
    """Programs that import pthread_kill get kernel threads, if not told."""
    assert mode_of(path, cpus, "probe") == "donor"
    assert mode_of(path, cpus, "probe_kill") == "kthread"
    assert mode_of(path, cpus, "probe_kill", COSCHED_MODE="donor") == "donor"
    assert mode_of(path, cpus, "probe", COSCHED_MODE="ult") == "ult"
    assert mode_of(path, cpus, "probe", COSCHED_MODE="nonsense") == "donor"


def check_under_change(path, cpus, name, mode):
    """Run NAME while its CPUs change every few milliseconds."""
    with FakeAgent(path, cpus) as agent, \
            Program(name, socket_path=path, COSCHED_MODE=mode,
                    OMP_NUM_THREADS="6") as program:
        program.wait_line("ready")
        client = agent.client()
        for round_ in range(200):
            client.allot([cpus[:1], cpus, cpus[1:]][round_ % 3])
            time.sleep(0.003)  # not a wait for anything: the disturbance
        program.stop()


def check_serial(path, cpus):
    """Between regions one thread runs, the workers sleep."""
    with FakeAgent(path, cpus) as agent, \
            Program("serial", socket_path=path) as program:
        program.wait_line("ready")
        client = agent.client()
        wait_for("one runnable thread",
                 lambda: list(program.runnable()) == [program.pid])
        for cpu in cpus:
            client.allot([cpu])
            wait_for(f"serial code on CPU {cpu}",
                     lambda: program.on_only([cpu]))
        program.stop()


def check_child(path, cpus):
    """The child of a fork attaches as itself."""
    with FakeAgent(path, cpus) as agent, \
            Program("fork", socket_path=path) as program:
        program.wait_line("ready")
        wait_for("two attached processes", lambda: len(agent.clients) == 2)
        pids = {client.request["pid"] for client in agent.clients}
        assert program.pid in pids and len(pids) == 2, pids
        program.stop()


def check_alone():
    """No agent: no thread but the team's, none of them bound."""
    with Program("static", OMP_NUM_THREADS="2") as program:
        program.wait_line("ready")
        # The initial thread, its team mate and the reader of stdin.
        wait_for("a team of two", lambda: len(program.runnable()) == 2)
        tasks = os.listdir(f"/proc/{program.pid}/task")
        assert len(tasks) == 3, tasks
        for tid in tasks:
            assert os.sched_getaffinity(int(tid)) == os.sched_getaffinity(0)
        program.stop()
    # Stock libgomp waits in the child for the threads of the parent.
    for mode in ("auto", "donor"):
        with Program("fork", OMP_NUM_THREADS="2", COSCHED_MODE=mode) as program:
            program.wait_line("ready")
            program.stop()


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as path:
        path = f"{path}/sock"
        check_choice(path, cpus)
        for mode in ("donor", "kthread"):
            for name in ("threadprivate", "barriers", "dynamic", "fork", "ids"):
                check_under_change(path, cpus, name, mode)
        check_serial(path, cpus)
        check_child(path, cpus)
        check_alone()


main()
