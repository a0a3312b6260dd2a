#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the report page counts is exact, however CPUs come and go."""

import itertools

from fake_agent import (FakeAgent, Program, directory, need, needs_probe,
                        two_cpus, wait_for)

REGIONS = 10000
COUNTED = ("entries", "barriers", "iterations", "ults")


def counts(client):
    """By region, the one with iterations last."""
    number = client.header_of_report()["regions_used"]
    regions = [client.region(i) for i in range(number)]
    return sorted((tuple(r[name] for name in COUNTED) for r in regions), key=lambda c: c[2])


def wait_for_counts(client, regions, threads):
    """Of so many runs of both regions; the monitor hands them over at its ticks."""
    expected = [(regions, 4 * regions, 0, threads * regions),
                (regions, regions, 60 * regions, threads * regions)]
    try:
        wait_for("counts", lambda: counts(client) == expected)
    except AssertionError as error:
        raise AssertionError(f"{counts(client)} instead of {expected}") from error


def check(path, cpus, sets, **environment):
    """Returns the size of the team."""
    with FakeAgent(path, cpus) as agent, Program(
            str(REGIONS), program="test_counts", socket_path=path, **environment) as program:
        program.wait_line("ready")
        client = agent.client()
        threads = client.header_of_report()["team"]
        wait_for_counts(client, 1, threads)
        program.process.stdin.write("go\n")
        program.process.stdin.flush()
        for allotted in itertools.islice(itertools.cycle(sets), 20):
            generation, _ = client.allot(allotted)
            wait_for("applied allotment", lambda: client.applied(generation), every=0.001)
        program.wait_line("done")
        wait_for_counts(client, REGIONS + 1, threads)
        program.stop()
    return threads


def main():
    needs_probe()
    need("tests/libgomp-coop/test_counts")
    cpus = two_cpus()
    with directory() as path:
        for sets in ([cpus], [cpus, cpus[:1], cpus[1:]]):
            for ults in "1", "3", "20":
                threads = check(f"{path}/sock", cpus, sets, COSCHED_ULTS=ults)
                assert threads == len(cpus) * int(ults), threads
            check(f"{path}/sock", cpus, sets, COSCHED_MODE="kthread")
            print(f"{len(sets)} allotments in turn: exact")


main()
