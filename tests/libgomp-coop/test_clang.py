#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Programs of clang, which call libomp, follow as those of gcc do: CPUs are taken
and given inside regions and tasks, and what they compute is right."""

import os

from fake_agent import (BUILD, FakeAgent, Program, directory, needs_probe,
                        print_us, skip, two_cpus)
from test_runtime_revoke import toggle
from test_shapes import SHAPES, run

PROGRAMS = os.path.join(BUILD, "tests/libgomp-coop/clang")
JOBS = (("ep", "S"), ("stream", "S"), ("cg", "S"))


def program(name):
    return os.path.join(PROGRAMS, name)


def inside_regions(path, cpus):
    """A program whose region or tasks go on leaves a CPU and comes back."""
    for mode in ("donor", "kthread"):
        for name in ("static", "dynamic", "barriers", "tasks"):
            with FakeAgent(path, cpus) as agent, \
                    Program(name, program=program("probe"), socket_path=path,
                            COSCHED_MODE=mode,
                            OMP_NUM_THREADS="2") as running:
                revokes, grants = toggle(agent, running, name, cpus)
            print_us(f"{mode} {name}: revoke in effect", revokes)
            print_us(f"{mode} {name}: grant in effect", grants)


def ends_well(path, cpus, name, arguments, expected, **environment):
    """Run jobs/NAME under allotments that change all the time."""
    with FakeAgent(path, cpus) as agent, \
            Program(*arguments, program=program(name), socket_path=path,
                    **environment) as running:
        out, err, changes = running.end_under(agent, [cpus, cpus[:1], cpus[1:]])
        mode = agent.clients[0].header_of_report()["mode"]
    assert running.process.returncode == 0 and out.startswith(expected), (
        name, environment, out, err)
    print(f"{name} {environment}: mode {mode}, {changes} allotments")


def main():
    needs_probe()
    if not os.path.exists(program("probe")):
        skip("there is no clang with libomp")
    cpus = two_cpus()
    with directory() as where:
        path = f"{where}/sock"
        inside_regions(path, cpus)
        # Also without an agent.
        with Program("fork", program=program("probe")) as running:
            running.wait_line("ready")
            running.stop()
        for name, size in JOBS:
            ends_well(path, cpus, name, ("--class", size), f"PASS {name} ")
            ends_well(path, cpus, name, ("--class", size), f"PASS {name} ",
                      OMP_NUM_THREADS="5")
        if os.path.exists(program("flang")): # by make check-llvm-releases
            for threads in "2", "9":
                ends_well(path, cpus, "flang", (), "PASS", OMP_NUM_THREADS=threads)
        for shape in SHAPES:
            changes = run(path, cpus, program("test_shapes"), shape,
                          {"OMP_NUM_THREADS": "9"})
            print(f"{' '.join(shape)}: {changes} allotments")


main()
