#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""CPUs are taken and given inside a region: threads leave at once and come
back, in each mode; the times are printed, not judged."""

from fake_agent import (FakeAgent, Program, directory, needs_probe, print_us,
                        two_cpus, wait_for)

ROUNDS = 10


def obeyed(client, cpus):
    """Allot CPUS, wait until in effect; returns how long it took in ns."""
    generation, begin = client.allot(cpus)
    wait_for("applied allotment", lambda: client.applied(generation))
    return client.header_of_report()["applied_ns"] - begin


def toggle(agent, program, name, cpus):
    client = agent.client()
    program.wait_line("ready")
    revokes, grants = [], []
    for round_ in range(ROUNDS):
        # Worker 0 loses its CPU in every second round: it gets another's.
        keep = cpus[round_ % 2]
        revokes.append(obeyed(client, [keep]))
        wait_for(f"{name}: threads on CPU {keep} only",
                 lambda: program.on_only([keep]))
        if name != "static":
            # Static regions have no scheduling point for a thread to stop at.
            wait_for(f"{name}: at most one running worker",
                     lambda: client.header_of_report()["workers"] <= 1)
        grants.append(obeyed(client, cpus))
        wait_for(f"{name}: a thread on each CPU",
                 lambda: program.on_each(cpus))
    program.stop()
    return revokes, grants


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as path:
        for mode in ("donor", "ult", "kthread"):
            for name in ("static", "dynamic", "barriers"):
                with FakeAgent(f"{path}/sock", cpus) as agent, \
                        Program(name, socket_path=f"{path}/sock",
                                COSCHED_MODE=mode,
                                OMP_NUM_THREADS="2") as program:
                    revokes, grants = toggle(agent, program, name, cpus)
                print_us(f"{mode} {name}: revoke in effect", revokes)
                print_us(f"{mode} {name}: grant in effect", grants)


if __name__ == "__main__":
    main()
