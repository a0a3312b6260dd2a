#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Programs of the shapes that are met in practice compute what they should,
while CPUs are taken and given: team size and threadprivate data stay."""

import os
import subprocess
import tempfile

from fake_agent import FakeAgent, Program, directory, needs_probe, two_cpus

SHAPES = (("whole-run",), ("fine-regions",), ("single-tasks",),
          ("command-line", "7"), ("sized-by-maximum",), ("sized-by-request",),
          ("threadprivate",), ("serial-start",))
TEAMS = {"default": {}, "2": {"OMP_NUM_THREADS": "2"},
         "9": {"OMP_NUM_THREADS": "9"}}
SOURCE = os.path.join(os.environ["abs_top_srcdir"], "tests/libgomp-coop",
                      "test_shapes_common.f90")


def run(path, cpus, program, arguments, environment):
    """Run PROGRAM under allotments that change all the time."""
    with FakeAgent(path, cpus) as agent, \
            Program(*arguments, program=program, socket_path=path,
                    **environment) as running:
        out, err, changes = running.end_under(agent, [cpus, cpus[:1], cpus[1:]])
        assert running.process.returncode == 0 and out.strip() == "PASS", (
            program, arguments, environment, out, err)
    return changes


def fortran(path, cpus):
    with tempfile.TemporaryDirectory() as where:
        binary = os.path.join(where, "common")
        try:
            subprocess.run(["gfortran", "-fopenmp", "-O1", SOURCE, "-o", binary],
                           check=True)
        except FileNotFoundError:
            print("Fortran left out: no gfortran")
            return
        for environment in TEAMS.values():
            run(path, cpus, binary, (), environment)


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as where:
        path = f"{where}/sock"
        for shape in SHAPES:
            for name, environment in TEAMS.items():
                if shape[0] == "sized-by-request" and not environment:
                    continue
                changes = run(path, cpus, "test_shapes", shape, environment)
                print(f"{' '.join(shape)}, team {name}: {changes} allotments")
        # As many threads as CPUs: what such programs need to be told.
        run(path, cpus, "test_shapes", ("sized-by-cpus",),
            {"OMP_NUM_THREADS": str(len(cpus))})
        for mode in ("donor", "kthread"):
            run(path, cpus, "test_shapes", ("threadprivate",),
                {"COSCHED_MODE": mode, "OMP_NUM_THREADS": "12"})
        fortran(path, cpus)


if __name__ == "__main__":
    main()
