#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Dynamic, guided and runtime loops in each mode, with few and many tasks, on
one LLC domain and on two, while CPUs are taken and given."""

import struct

from fake_agent import FakeAgent, Program, directory, needs_probe, two_cpus

COUNT_AT, NODES_AT = 36, 320  # LLC domains in the allotment page


def two_nodes(cpu):
    """Makes a page say that CPU is on an LLC domain of its own."""
    def spoil(client):
        struct.pack_into("<I", client.allotment.map, COUNT_AT, 4)
        struct.pack_into("<H", client.allotment.map, NODES_AT + 2 * cpu, 3)
        client.allot(client.cpus)
    return spoil


def run(path, cpus, mode, team, nodes, rounds):
    spoil = two_nodes(cpus[1]) if nodes == 2 else None
    with FakeAgent(path, cpus, spoil=spoil) as agent, \
            Program(str(rounds), program="test_dynamic", socket_path=path,
                    COSCHED_MODE=mode, OMP_NUM_THREADS=str(team),
                    OMP_CANCELLATION="true") as program:
        agent.client()
        out, err, changes = program.end_under(
            agent, [cpus[:1], cpus, cpus[1:], cpus])
        assert program.process.returncode == 0 and "PASS" in out, (
            mode, team, nodes, program.process.returncode, out[-500:], err)
        print(f"{mode}, {team} tasks, {nodes} nodes: {changes} changes")


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as path:
        for mode in ("donor", "ult", "kthread"):
            for team in (2, 7, 40):
                for nodes in (1, 2):
                    run(f"{path}/sock", cpus, mode, team, nodes,
                        5 if team < 40 else 1)


main()
