#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Tasks of programs that clang compiled do what they do with LLVM's own
library, without an agent and while CPUs are taken and given, in each mode."""

import os
import shutil
import subprocess

from fake_agent import FakeAgent, Program, directory, needs_probe, two_cpus
from coschedtest import skip

SOURCE = os.path.join(os.environ["abs_top_srcdir"], "tests/libgomp-coop")
TIMEOUT = 120


def compiler():
    """Of clang's programs; CLANGXX is that of make check-llvm-releases."""
    if "CLANGXX" in os.environ:
        return os.environ["CLANGXX"].split()
    for name in ("clang++-14", "clang++"):
        if shutil.which(name):
            return [name]
    return skip("no clang++")


def build(where, name, command):
    binary = os.path.join(where, name.partition(".")[0])
    done = subprocess.run([*command, os.path.join(SOURCE, name), "-o", binary],
                          capture_output=True, text=True, check=False)
    if done.returncode and "-lomp" in done.stderr:
        skip("no libomp to link with")
    assert done.returncode == 0, done.stderr
    return binary


def passes(program, path=None, **environment):
    """Run PROGRAM, under an agent that changes the allotment all the time if
    there is a PATH for its socket."""
    changes = 0
    rounds = "6" if path else "1"
    with Program(rounds, program=program, socket_path=path,
                 OMP_CANCELLATION="true", **environment) as running:
        if path:
            cpus = two_cpus()
            with FakeAgent(path, cpus) as agent:
                out, err, changes = running.end_under(
                    agent, [cpus, cpus[:1], cpus[1:]], 0.003)
        else:
            out, err = running.process.communicate(timeout=TIMEOUT)
        assert running.process.returncode == 0 and out == "PASS\n", (
            program, environment, running.process.returncode, out, err)
    return changes


def main():
    needs_probe()
    clang = [*compiler(), "-fopenmp", "-fopenmp-version=51", "-O1", "-g",
             "-Wall", "-std=c++17"]
    with directory() as where:
        path = f"{where}/sock"
        programs = [build(where, f"test_kmp_{name}.cc", clang)
                    for name in ("tasks", "groups", "events")]
        # What is expected of ours holds for LLVM's own.
        for program in programs[:2]:
            passes(program, LD_LIBRARY_PATH="", OMP_NUM_THREADS="4")
        programs.append(build(where, "test_events.c",
                              ["gcc", "-fopenmp", "-O1"]))
        for program in programs:
            name = os.path.basename(program)
            for threads in ("1", "9"):
                passes(program, OMP_NUM_THREADS=threads)
            for mode in ("donor", "ult", "kthread"):
                changes = passes(program, path, OMP_NUM_THREADS="7",
                                 COSCHED_MODE=mode)
                print(f"{name}, {mode}: {changes} allotments")


main()
