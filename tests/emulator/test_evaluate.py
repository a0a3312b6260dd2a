#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""evaluate over a runner that only pretends: what it computes, that it goes on where it was
interrupted, that failed runs are kept apart; and mix.sh on this machine."""

import os
import subprocess
import sys

from emulation import BUILD, SOURCE, Emulation

EVALUATE = os.path.join(SOURCE, "emulator/evaluate")
MIX = os.path.join(SOURCE, "emulator/mix.sh")

# Each run is a line in `calls`; the third run of the first evaluation ends it.
RUNNER = r"""#!/bin/bash
echo "$*" >>"$(dirname "$0")/calls"
[ "$(wc -l <"$(dirname "$0")/calls")" != 3 ] || { echo "emulate: no luck" >&2; exit 125; }
while [ "$1" != -- ]; do shift; done
case $5 in
size) echo repeat 3; echo job 0 10 12 0 ;;
native) echo job 0 100.5 104.5 0; echo job 1 100.5 108.5 0 ;;
corun) echo job 0 100 102 0; echo job 1 100 104 0; echo cosched/1 x ;;
batch) echo job 0 100 102 0; echo job 1 102 104 1 ;;
moca) echo "emulate: the limit" >&2; exit 124 ;;
esac
"""


def evaluate(e, runner, *more):
    done = subprocess.run(
        [EVALUATE, "--build", BUILD, "--results", os.path.join(e.path, "results"), "--emulate",
         runner, "--set", "node2", "--only", "ep cg", "--ways", "native batch corun moca", *more],
        capture_output=True, text=True)
    print(done.stderr, done.stdout)
    return done


def check_evaluate(e):
    runner = e.mine("emulate", RUNNER, 0o755)

    def calls():
        with open(os.path.join(e.path, "mine/calls"), encoding="utf-8") as f:
            return f.read().splitlines()

    done = evaluate(e, runner)
    assert done.returncode == 125 and "no luck" in done.stderr, done
    assert len(calls()) == 3
    done = evaluate(e, runner)
    assert done.returncode == 0, done
    # The two sizes are there; native is tried again, then the rest.
    ways = [call.split("mix.sh", 2)[2].split()[1] for call in calls()]
    assert ways == ["size", "size", "native", "native", "batch", "corun", "moca"], ways
    assert "--class W --repeat 3" in calls()[-1]
    # Speeds alone / together: native 2/4 and 2/8, corun 2/2 and 2/4.
    assert "| ep, cg | 1.00 1.00 (0.33) |  | 0.50 0.50 (0.67) |  |" in done.stdout, done.stdout
    assert evaluate(e, runner).stdout == done.stdout and len(calls()) == 7
    assert evaluate(e, runner, "--table").stdout == done.stdout and len(calls()) == 7
    done = evaluate(e, runner, "--ways", "corun batch", "--mix", "ep cg", "--table")
    assert "| ep, cg | 1.00 1.00 (0.67) |  |" in done.stdout and len(calls()) == 7, done.stdout
    evaluate(e, runner, "--seed", "2", "--table")
    assert len(calls()) == 7
    evaluate(e, runner, "--seed", "2")
    assert len(calls()) == 13


def check_mix(e):
    """Each way runs all jobs, and says of each how it ended."""
    jobs = [f"{BUILD}/jobs/ep --class S", "false"]
    for way in "native", "passive", "batch", "static", "spread":
        done = subprocess.run(["bash", MIX, BUILD, way, *jobs], capture_output=True, text=True,
                              env=e.environment)
        lines = sorted(line.split() for line in done.stdout.splitlines())
        assert [line[:2] + line[4:] for line in lines] == \
            [["job", "0", "0"], ["job", "1", "1"]], (way, done)
        assert all(float(line[2]) <= float(line[3]) for line in lines), done


def main():
    e = Emulation()
    check_evaluate(e)
    if os.path.exists(os.path.join(BUILD, "jobs/ep")) and len(os.sched_getaffinity(0)) > 1:
        check_mix(e)


sys.dont_write_bytecode = True
main()
