#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What co-scheduling costs Slurm: submission and start of a step beside the
same without --coschedule, in turn; and many short jobs through one node, of
which none may be lost or leave anything behind in the agent."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "slurm_conf"))
from coschedtest import BUILD, SOURCE, wait_for
from coschedcluster import Cluster, need_cluster
from fake_slurm import FakeSlurm, row as job_row

SUBMIT_MORE_MS = 1.0   # at most, by which --coschedule may be slower
START_MORE_MS = 5.0
ROUNDS = 60
JOBS = 1000
GROWTH_KB = 4096       # of the agent over all the jobs
ROWS = []


def row(name, value, unit, reference):
    ROWS.append({"name": name, "value": value, "unit": unit,
                 "reference": reference,
                 "ratio": value / reference if reference else None})
    print(f"{name:24} {value:10.2f} {unit:5} reference {reference:10.2f}")
    sys.stdout.flush()


def timed(c, *command):
    """Milliseconds that COMMAND takes."""
    begin = time.monotonic()
    subprocess.run(command, env=c.env, check=True, cwd=c.output,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return (time.monotonic() - begin) * 1e3


def compare(c, name, plain, ours, limit_ms, after):
    """Medians of both commands, run in turn, and by how much ours is slower."""
    times = ([], [])
    for _ in range(ROUNDS):
        for command, values in zip((plain, ours), times):
            values.append(timed(c, *command))
        after()
    without, with_option = map(statistics.median, times)
    row(name, with_option, "ms", without)
    row(f"{name}-more", with_option - without, "ms", limit_ms)


def lua_submission(known, running):
    """Microseconds of CPU time of a submission in job_submit.lua with so many
    programs KNOWN and jobs RUNNING."""
    lua = next(filter(shutil.which, ("lua5.1", "lua5.3", "lua")))
    here = f"{SOURCE}/tests/slurm_conf"
    with FakeSlurm() as fake:
        fake.says("sacct.says", "".join(
            job_row(i, f"many{i}", program=f"many{i}") for i in range(known)))
        fake.says("sinfo.says", "".join(
            f"n{i}|n{i}|FORCE:4|mixed\n" for i in range(1000)))
        fake.says("squeue.says", "1000|n1|nothing\n" * running)
        fake.call("update")
        fake.suit("memory", "n2,n3")
        done = subprocess.run(
            [lua, f"{here}/bench_submit.lua",
             f"{SOURCE}/slurm_conf/job_submit.lua", here, fake.folder,
             str(running), str(known)], check=True, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return float(done.stdout)


def lua_is_flat():
    """A submission does not get slower by what runs, and hardly by what is
    known: a look-up among a thousand times as much halves ten times more."""
    few = lua_submission(10, 10)
    row("lua-10000-running", lua_submission(10, 10000), "us", few)
    row("lua-10000-known", lua_submission(10000, 10000), "us", few)


class AgentProcess:
    """What the agent holds of its host."""

    def __init__(self, c):
        with open(f"{c.root}/run/coschedd-n1.pid", encoding="ascii") as file:
            self.pid = int(file.read())

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def resident_kb(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        raise AssertionError("no VmRSS")


def wait_for_array(c, job, count):
    """Wait until all tasks of the array JOB are over, and say how it goes."""
    def left():
        lines = c.call("squeue", "-h", "-r", "-o", "%F").split()
        return lines.count(str(job))

    rest = count
    while rest:
        rest = left()
        if sys.stderr.isatty():
            print(f"\r{count - rest} of {count} jobs over ", end="",
                  file=sys.stderr)
        time.sleep(1.0)
    if sys.stderr.isatty():
        print(file=sys.stderr)


def states(c, job):
    lines = c.call("sacct", "-X", "-n", "-P", "-j", str(job), "-o", "state")
    return [state for state in lines.split("\n") if state]


def many_jobs(c, count):
    """COUNT jobs of one OpenMP region each, as many at a time as fit."""
    agent = AgentProcess(c)
    program = c.program("ep")

    # Whatever is allocated once is.
    first = c.sbatch("--coschedule", "--mem=20", "--array=1-8",
                     f"--wrap={program} --class S")
    wait_for_array(c, first, 8)
    wait_for("an agent without jobs", lambda: not c.status(), 60)
    descriptors, resident = agent.descriptors(), agent.resident_kb()
    begin = time.monotonic()
    job = c.sbatch("--coschedule", "--mem=20", f"--array=1-{count}",
                   "--output=/dev/null", f"--wrap={program} --class S")
    wait_for_array(c, job, count)
    seconds = time.monotonic() - begin
    wait_for("an agent without jobs", lambda: not c.status(), 60)
    wait_for("all jobs in the accounting", lambda: len(states(c, job)) == count
             and "RUNNING" not in states(c, job), 120, 1.0)
    completed = states(c, job).count("COMPLETED")
    row("jobs-completed", completed, "", count)
    row("jobs-per-second", count / seconds, "1/s", count / seconds)
    row("agent-descriptors", agent.descriptors(), "", descriptors)
    row("agent-growth", agent.resident_kb() - resident, "kB", GROWTH_KB)
    assert completed == count, states(c, job)
    assert agent.descriptors() <= descriptors, "descriptors leaked"
    assert agent.resident_kb() - resident <= GROWTH_KB, "memory leaked"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N",
                        help="short jobs [%(default)s]")
    parser.add_argument("--json", metavar="FILE",
                        help="write the table there, too")
    options = parser.parse_args()
    need_cluster()
    if any(map(shutil.which, ("lua5.1", "lua5.3", "lua"))):
        lua_is_flat()
    with Cluster() as c:
        def cancel():
            c.call("scancel", "--user", str(os.getuid()))

        compare(c, "sbatch",
                ["sbatch", "--hold", "--partition=normal", "--wrap=true"],
                ["sbatch", "--hold", "--coschedule", "--wrap=true"],
                SUBMIT_MORE_MS, cancel)
        wait_for("an empty queue", lambda: not c.call("squeue", "-h"), 60, 0.2)
        compare(c, "srun",
                ["srun", "--partition=normal", "--exclusive", "true"],
                ["srun", "--coschedule", "true"], START_MORE_MS, lambda: None)
        many_jobs(c, options.jobs)
    path = options.json or f"{BUILD}/bench/bench-slurm.json"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(ROWS, file, indent=1)


main()
