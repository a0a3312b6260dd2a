#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Threads begin each region in the LLC domain that the agent says, others where
they did before, and garbage in its table changes nothing.  Where nobody says anything,
that is where they were at their first barrier, when they had touched their data; there
they go back after barriers, too."""

import random

from fake_agent import (HOME_ANY, FakeAgent, Program, directory, needs_probe,
                        two_cpus)

# By thread; thread 0 stays on its worker.  Alone they begin at 0 0 1 1.
FIRST = [1, 0, 1]
SECOND = [1, 1, 0]
TRIES, FEW = 30, 20
LINES = 400  # of some 100 ms: a busy machine has tasks begin where CPUs are free


def stacks(program):
    found = {}
    for line in program.process.stdout:
        words = line.split()
        if words == ["ready"]:
            return found
        if words[0] == "stack":
            found[int(words[1])] = int(words[2])
    raise AssertionError(program.process.stderr.read())


def begin(program, cpus, first, second, lines):
    """Where threads 1 to 3 usually begin both regions, domains, by the first of LINES lines
    that says FIRST and SECOND, or the last line."""
    for _ in range(lines):
        began = [cpus.index(int(w)) for w in program.process.stdout.readline().split()]
        if (began[1:4], began[5:8]) == (first, second):
            break
    return began[1:4], began[5:8]


def wait_for_begin(program, cpus, first, second):
    began = begin(program, cpus, first, second, LINES)
    assert began == (first, second), (began, first, second)


def regions(client):
    """The two that run again and again: index in the report."""
    count = client.header_of_report()["regions_used"]
    return [i for i in range(count) if client.region(i)["entries"] > 1]


def homes(stack, region, domains):
    return [(stack[i + 1] - 100, region, d) for i, d in enumerate(domains)]


def check(path, mode, cpus, **environment):
    with FakeAgent(f"{path}/sock", cpus,
                   spoil=lambda c: c.put_domains({cpus[0]: 0, cpus[1]: 1})) \
            as agent, \
            Program("homes", socket_path=f"{path}/sock", COSCHED_MODE=mode,
                    OMP_NUM_THREADS="4", **environment) as program:
        stack = stacks(program)
        client = agent.client()
        client.allot(cpus)  # with the domains
        program.process.stdout.readline()
        one, two = regions(client)
        client.put_homes(homes(stack, one, FIRST) + homes(stack, two, SECOND))
        client.allot(cpus)
        wait_for_begin(program, cpus, FIRST, SECOND)
        # For one region, and for all others.
        client.put_homes(homes(stack, HOME_ANY, FIRST)
                         + homes(stack, one, SECOND))
        client.allot(cpus)
        wait_for_begin(program, cpus, SECOND, FIRST)
        # Garbage: the program goes on, and obeys what makes sense again.
        chance = random.Random(1)
        client.put_homes([(chance.getrandbits(64), chance.getrandbits(16),
                           chance.getrandbits(16)) for _ in range(2048)])
        client.allot(cpus)
        program.process.stdout.readline()
        client.put_homes([], count=0xFFFFFFFF)
        client.allot(cpus)
        program.process.stdout.readline()
        client.put_homes(homes(stack, one, FIRST) + homes(stack, two, SECOND))
        client.allot(cpus)
        wait_for_begin(program, cpus, FIRST, SECOND)
        program.stop()


def check_first(path, cpus):
    """Two of three threads are taken to a CPU that was not there when they began."""
    def one_cpu(client):
        client.put_domains({cpus[0]: 0, cpus[1]: 1})
        client.allot(cpus[:1])

    for _ in range(TRIES):
        with FakeAgent(f"{path}/sock", cpus, spoil=one_cpu) as agent, \
                Program("first", socket_path=f"{path}/sock", COSCHED_MODE="donor",
                        OMP_NUM_THREADS="4") as program:
            assert program.process.stdout.readline() == "begun\n"
            agent.client().allot(cpus)
            first = program.process.stdout.readline().split()[1:]
            first = [cpus.index(int(cpu)) for cpu in first]
            assert program.process.stdout.readline() == "ready\n"
            # If it is the last two, they would be there in any case.  On a busy machine they
            # may be taken elsewhere before they have waited for the first time.
            good = first.count(0) == 2 and first != [0, 0, 1, 1] and \
                begin(program, cpus, first[1:], first[1:], FEW) == (first[1:], first[1:])
            program.stop()
            if good:
                return
    raise AssertionError(f"they never begin where they were first, in {TRIES} runs: {first}")


def check_grows(path, cpus):
    """Tasks are dealt out when the CPUs have come that are said to, if that is soon."""
    def one_cpu(client):
        client.put_domains({cpus[0]: 0, cpus[1]: 1})
        client.put_grows(1)
        client.allot(cpus[:1])

    def share(comes):
        with FakeAgent(f"{path}/sock", cpus, spoil=one_cpu) as agent, \
                Program("share", socket_path=f"{path}/sock", COSCHED_MODE="donor",
                        COSCHED_TEST="no_lease") as program:
            if comes:
                agent.client().put_grows(0)
                agent.client().allot(cpus)
            found = [cpus.index(int(cpu)) for cpu in program.process.stdout.readline().split()]
            program.stop()
            return found.count(1)

    share(False)    # it does not wait for ever
    for _ in range(TRIES):
        if share(True) == 4:
            return
    raise AssertionError(f"not dealt out to both CPUs, in {TRIES} runs")


def wait_for_phase(program, cpus, where):
    for _ in range(LINES):
        at = [cpus.index(int(cpu)) for cpu in program.process.stdout.readline().split()]
        if at == where:
            return
    raise AssertionError(f"never at {where}: {at}")


def check_phases(path, cpus):
    """A CPU is taken and given back within a region."""
    for _ in range(TRIES):
        with FakeAgent(f"{path}/sock", cpus,
                       spoil=lambda c: c.put_domains({cpus[0]: 0, cpus[1]: 1})) as agent, \
                Program("phases", socket_path=f"{path}/sock", COSCHED_MODE="donor",
                        COSCHED_TEST="no_lease") as program:
            first = program.process.stdout.readline().split()
            first = [cpus.index(int(cpu)) for cpu in first]
            program.wait_line("ready")
            if first.count(0) == len(first) / 2:    # all have room where they were
                agent.client().allot(cpus[:1])
                wait_for_phase(program, cpus, [0] * len(first))
                agent.client().allot(cpus)
                wait_for_phase(program, cpus, first)
                program.stop()
                return
            program.stop()
    raise AssertionError(f"never as many on each CPU, in {TRIES} runs: {first}")


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as path:
        check_first(path, cpus)
        check_grows(path, cpus)
        check_phases(path, cpus)
        # On a busy machine they would run elsewhere.
        for mode in ("donor", "ult", "kthread"):
            check(path, mode, cpus, COSCHED_TEST="no_lease")


if __name__ == "__main__":
    main()
