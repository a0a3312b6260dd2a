#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""evaluate over a runner that only pretends: what it computes, that it goes on where it was
interrupted, that failed runs are kept apart; and mix.sh on this machine."""

import json
import os
import subprocess
import sys

from emulation import BUILD, SOURCE, Emulation

EVALUATE = os.path.join(SOURCE, "emulator/evaluate")
MIX = os.path.join(SOURCE, "emulator/mix.sh")

# Each way is a line in `calls`, each guest one in `guests`; the third way ends the first
# evaluation.
RUNNER = r"""#!/bin/bash
cd "$(dirname "$0")"
echo guest >>guests
while [ "$1" != -- ]; do [ "$1" != --seed ] || seed=$2; shift; done
shift 3
for ((number = 0; $#; number++)); do
    shift
    way=$1 words=
    while shift && [ $# != 0 ] && [ "$1" != -- ]; do words+=" $1"; done
    echo "$way$words" >>calls
    [ "$(wc -l <calls)" != 3 ] || { echo "emulate: no luck" >&2; exit 125; }
    case $way in
    size) echo repeat 3; echo job 0 10 12 0 ;;
    native) echo job 0 100.5 104.5 0; echo job 1 100.5 108.5 0 ;;
    corun* | nupoco) echo job 0 100 $((100 + 2 * seed)) 0
        echo job 1 100 $((100 + 4 * seed)) 0; echo agent 0.06
        echo cosched/1 x
        echo cosched/1 state=running policy=corun program=cg class=memory ults=5
        echo cosched/1 state=final policy=corun program=ep class=compute steps=4
        echo cosched/1 state=final policy=corun program=cg class=memory ults=2 alone_s=1 ;;
    batch) echo job 0 100 102 0; echo job 1 102 104 1 ;;
    moca*) echo "emulate: the limit" >&2; exit 124 ;;
    esac
    echo "done $number 0"
done
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

    def lines(name):
        with open(os.path.join(e.path, "mine", name), encoding="utf-8") as f:
            return f.read().splitlines()

    def ran():
        return [line.split()[0] for line in lines("calls")], len(lines("guests"))

    done = evaluate(e, runner)
    assert done.returncode == 125 and "no luck" in done.stderr, done
    assert ran() == (["size", "size", "native"], 2)
    done = evaluate(e, runner)
    assert done.returncode == 0, done
    # Sizes are there; native is tried again, then the rest, in one guest, which fails in the last.
    ways = ["size", "size", "native", "native", "batch", "corun", "moca"]
    assert ran() == (ways, 3), ran()
    assert "--class W --repeat 3" in lines("calls")[-1]
    # Speeds alone / together: native 2/4 and 2/8, corun 2/2 and 2/4.
    assert "| ep, cg | 1.00 1.00 (0.33) |  | 0.50 0.50 (0.67) |  |" in done.stdout, done.stdout
    assert "agent, % of a CPU, ep, cg: corun 1.50\n" in done.stdout, done.stdout
    assert evaluate(e, runner).stdout == done.stdout and len(ran()[0]) == 7
    assert evaluate(e, runner, "--table").stdout == done.stdout and len(ran()[0]) == 7
    done = evaluate(e, runner, "--ways", "corun batch", "--mix", "ep cg", "--table")
    assert "| ep, cg | 1.00 1.00 (0.67) |  |" in done.stdout and len(ran()[0]) == 7, done.stdout
    drawn = os.path.join(e.path, "mine/chart.json")
    evaluate(e, runner, "--json", drawn)
    with open(drawn, encoding="utf-8") as f:
        assert [row["ntt"] for row in json.load(f)] == [1, 0.5]
    # One that fails in the middle is kept as failed, and a new guest takes the rest.
    done = evaluate(e, runner, "--ways", "moca nupoco moca,a=1 corun,a=1")
    assert done.returncode == 0 and ran()[0][7:] == ["nupoco", "moca,a=1", "corun,a=1"], ran()
    evaluate(e, runner, "--seed", "2", "--table")
    assert len(ran()[0]) == 10
    evaluate(e, runner, "--seed", "2")
    assert len(ran()[0]) == 16
    done = evaluate(e, runner, "--seeds", "2", "--ways", "native corun")
    assert "| ep, cg | 1.00 1.00 (0.33) | 0.75 0.75 (0.50) |" in done.stdout, done.stdout
    assert len(ran()[0]) == 16
    # With what the records say, those of the latest run of corun.
    done = evaluate(e, runner, "--ways", "corun again")
    assert "| ep, cg | 1.00 1.00 (0.67) | 1.00 1.00 (0.67) |" in done.stdout, done.stdout
    assert lines("calls")[16:] == [
        "corun jobs/ep --class W --repeat 3 env COSCHED_ULTS=2 jobs/cg --class W --repeat 3"], ran()
    done = evaluate(e, runner, "--mix", "ep sc")
    assert done.returncode == 2 and "--mix 'ep sc': no program 'sc'" in done.stderr, done


def check_mix(e):
    """Each way runs all jobs, and says of each how it ended."""
    jobs = [f"{BUILD}/jobs/ep --class S", "false"]
    ways = "native", "passive", "batch", "static", "spread"
    done = subprocess.run(
        ["bash", MIX, BUILD, *[word for way in ways for word in ("--", way, *jobs)][1:]],
        capture_output=True, text=True, env=e.environment)
    lines = [line.split() for line in done.stdout.splitlines()]
    for number in range(len(ways)):
        *told, last = lines[number * 3:number * 3 + 3]
        assert sorted(line[:2] + line[4:] for line in told) == \
            [["job", "0", "0"], ["job", "1", "1"]], done
        assert all(float(line[2]) <= float(line[3]) for line in told), done
        assert last == ["done", str(number), "0"], done


def main():
    e = Emulation()
    check_evaluate(e)
    if os.path.exists(os.path.join(BUILD, "jobs/ep")) and len(os.sched_getaffinity(0)) > 1:
        check_mix(e)


sys.dont_write_bytecode = True
main()
