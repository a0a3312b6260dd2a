#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Tasks that spin for each other are preempted, and nothing of theirs is lost,
on one CPU, on two and while these are taken and given.  They learn who goes
first after a barrier.  A loop that was once taken for one that computes is found to wait.
Tasks that cannot be told from ones that compute take turns, and need no further workers.
Programs that must not be interrupted, and those that say so, are left alone."""

import os

from fake_agent import FakeAgent, Program, directory, needs_probe, two_cpus

TURNS = "they take turns"
TRIES = 10


def run(path, cpus, team, arguments, sets, **environment):
    # It must not be done on other CPUs before it has got these.
    os.sched_setaffinity(0, set().union(*sets))
    with FakeAgent(path, cpus) as agent, \
            Program(*arguments, socket_path=path, OMP_NUM_THREADS=str(team),
                    COSCHED_MODE="donor", **environment) as program:
        client = agent.client()
        out, err, _ = program.end_under(agent, sets, 0.003)
        assert program.process.returncode == 0 and out.startswith("PASS"), (
            team, arguments, sets, program.process.returncode, out, err)
        print(f"{team} tasks, {' '.join(arguments)}, {len(sets)} allotments, "
              f"{environment}: {out.strip()}")
        return err, client.header_of_report()


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as path:
        # Long enough for the monitor to see it.
        for team, rounds, sets in ((2, "600", [cpus[:1]]), (5, "100", [cpus[:1]]),
                                   (7, "60", [cpus]),
                                   (9, "60", [cpus, cpus[:1], cpus[1:]])):
            err, report = run(f"{path}/sock", cpus, team, [rounds], sets,
                              program="test_preempt")
            # With two CPUs somebody else may look on a busy machine.
            assert TURNS in err and report["preempted"] or sets != [cpus[:1]], (err, report)
        for team in (2, 5):
            run(f"{path}/sock", cpus[:1], team, ["4000", "sweeps"], [cpus[:1]],
                program="test_preempt")
        # Each of the waits would take a turn of all others, for minutes in all.
        run(f"{path}/sock", cpus[:1], 5, ["5000", "doubt"], [cpus[:1]], program="test_preempt")
        for team, rounds, what, sets in ((5, "6", "count", [cpus[:1]]),
                                         (9, "4", "count", [cpus]),
                                         (9, "4", "count", [cpus, cpus[:1], cpus[1:]]),
                                         (6, "8", "compute", [cpus])):
            _, report = run(f"{path}/sock", cpus, team, [rounds, what], sets,
                            program="test_preempt")
            assert report["extra_workers"] == 0, (team, rounds, what, sets, report)
        err, _ = run(f"{path}/sock", cpus, 3, ["60"], [cpus[:1]],
                     program="test_preempt", COSCHED_TEST="by_kernel")
        assert TURNS in err, err
        err, _ = run(f"{path}/sock", cpus, 3, ["5"], [cpus[:1]],
                     program="test_preempt", COSCHED_TEST="no_preempt")
        assert TURNS not in err, err
        for _ in range(TRIES):      # on a busy machine its CPU may be left out all the while
            err, _ = run(f"{path}/sock", cpus, 8, ["pipeline", "3"], [cpus[:1]],
                         program="test_spin")
            assert TURNS not in err, err
            if "the program uses usleep" in err:
                break
        else:
            raise AssertionError(err)


main()
