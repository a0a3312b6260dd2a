#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What co-scheduling costs Slurm: submission and start of a step beside the
same without --coschedule, in turn; and many short jobs through one node, of
which none may be lost or leave anything behind in the agent."""

import argparse
import json
import os
import re
import shutil
import signal
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
HUNG_MS = 200          # a site's timeout=
ROUNDS = 60
STEP_ROUNDS = 6
STEPS = 10             # in one allocation
HUNG_ROUNDS = 10
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


def verdict(name, value, limit, error):
    """What the number says, if it is not lost in the noise of a busy host, on
    which moreover all that is done takes several times as long."""
    load, cpus = os.getloadavg()[0], len(os.sched_getaffinity(0))
    told = "kept" if value < limit else "EXCEEDED"
    if abs(value - limit) <= 2 * error:
        told = "too close to tell on this host"
    elif value > limit and load > cpus + 1: # one is ours
        told = f"no verdict, the host is busy (load {load:.0f} on {cpus} CPUs)"
    print(f"{name}: {value:+.2f} ms +- {2 * error:.2f}, limit {limit:.0f} ms: "
          f"{told}")


def report(name, pairs, limit_ms):
    """Medians of both of PAIRS, and by how much the second is slower."""
    without, with_option = map(statistics.median, zip(*pairs))
    more = [b - a for a, b in pairs]
    middle = statistics.median(more)
    # Standard error of a median, from the median deviation (1.48 MAD is sigma).
    error = 1.25 * 1.48 * statistics.median(
        abs(m - middle) for m in more) / len(more) ** 0.5
    row(name, with_option, "ms", without)
    row(f"{name}-more", middle, "ms", limit_ms)
    verdict(name, middle, limit_ms, error)


def submission(c):
    """sbatch without and with the option, one right after the other and each
    first in turn, so that what else the host does falls upon both."""
    plain = ["sbatch", "--hold", "--partition=normal", "--wrap=true"]
    ours = ["sbatch", "--hold", "--coschedule", "--wrap=true"]
    pairs = []
    for number in range(ROUNDS):
        order = (plain, ours) if number % 2 else (ours, plain)
        times = {id(command): timed(c, *command) for command in order}
        pairs.append((times[id(plain)], times[id(ours)]))
        c.call("scancel", "--user", str(os.getuid()))
    report("sbatch", pairs, SUBMIT_MORE_MS)


def empty_queue(c):
    wait_for("an empty queue", lambda: not c.call("squeue", "-h"), 60, 0.2)


def steps(c):
    """Steps in allocations without and with the option.  srun by itself would
    time the scheduler, which looks for new jobs ten times a second."""
    pairs = []
    for _ in range(STEP_ROUNDS):
        times = []
        for options in (["--partition=normal", "--exclusive"],
                        ["--coschedule"]):
            empty_queue(c)
            text = c.run("salloc", "--no-shell", *options).stderr
            job = re.search(r"Granted job allocation (\d+)", text)[1]
            times.append([timed(c, "srun", f"--jobid={job}", "true")
                          for _ in range(STEPS)])
            c.call("scancel", job)
        pairs += zip(*times)
    empty_queue(c)
    report("step", pairs, START_MORE_MS)


def hung_agent(c):
    """How much longer a step takes to start while the agent hangs."""
    pid = AgentProcess(c).pid
    command = ["srun", "--coschedule", "true"]
    c.set_timeout(HUNG_MS)
    pairs = []
    for _ in range(HUNG_ROUNDS):
        good = timed(c, *command)
        # A step waits for the epilog of the job before, too.
        wait_for("an end of the job's epilog", lambda: not c.call(
            "squeue", "-h", "-t", "all", "-o", "%t").count("CG"), 60)
        os.kill(pid, signal.SIGSTOP)
        try:
            pairs.append(timed(c, *command) - good)
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_for("an agent without jobs", lambda: not c.status(), 60)
    c.set_timeout(5000)
    row("srun-hung-agent-more", statistics.median(pairs), "ms", HUNG_MS)


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
        fake.suit(5, "cosched_1,cosched_free")
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
        submission(c)
        steps(c)
        hung_agent(c)
        many_jobs(c, options.jobs)
    path = options.json or f"{BUILD}/bench/bench-slurm.json"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(ROWS, file, indent=1)


main()
