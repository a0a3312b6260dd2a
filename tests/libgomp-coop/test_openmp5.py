#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What OpenMP 5.0 to 6.0 added works while CPUs are taken and given, inside one
region that lasts all the time, in each mode; and it goes on with what was queued
at a CPU that is taken."""

from fake_agent import FakeAgent, Program, directory, needs_probe, two_cpus, wait_for

CHANGES = 40


def obeyed(client, cpus):
    generation, _ = client.allot(cpus)
    wait_for("applied allotment", lambda: client.applied(generation))


def goes_on(client):
    """Threads meet at barriers: none is left behind."""
    def barriers():
        used = client.header_of_report()["regions_used"]
        return sum(client.region(i)["barriers"] for i in range(used))
    begin = barriers()
    wait_for("barriers", lambda: barriers() > begin + 40)


def run(path, cpus, mode, team):
    with FakeAgent(path, cpus) as agent, \
            Program(program="test_openmp5", socket_path=path, COSCHED_MODE=mode,
                    OMP_NUM_THREADS=str(team),
                    OMP_CANCELLATION=str(team < 7).lower()) as program: # no batches with it
        client = agent.client()
        program.wait_line("ready")
        for change in range(CHANGES):
            obeyed(client, [cpus[:1], cpus, cpus[1:], cpus][change % 4])
            if change % 2 == 0:
                goes_on(client)
        obeyed(client, cpus[:1])
        wait_for(f"threads on CPU {cpus[0]} only", lambda: program.on_only(cpus[:1]))
        out, _ = program.stop()
        print(f"{mode}, {team} threads: {out.splitlines()[0]}")


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as path:
        for mode in ("auto", "ult", "kthread"):
            for team in (2, 7):
                run(f"{path}/sock", cpus, mode, team)


main()
