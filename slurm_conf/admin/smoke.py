# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Two short co-scheduled OpenMP jobs on one node, and what their records must say."""

import time

import jobrecord
import slurmrows
from admin import host

# OpenMP without a compiler: each thread of a parallel region runs strlen() over the same memory.
PROGRAM = """#!/usr/bin/env python3
import ctypes, sys, time
gomp = ctypes.CDLL("libgomp.so.1")
strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p)
text = ctypes.create_string_buffer(b"x" * (1 << 24))
end = time.time() + {seconds}
while time.time() < end:
    gomp.GOMP_parallel(strlen, text, 0, 0)
print("threads:", gomp.omp_get_max_threads())
"""
JOBS = 2


class SmokeError(Exception):
    """Which step failed, and why."""


def submit(options):
    """The jobs' numbers.  They are held until both are there: they begin
    together."""
    node = options.node or some_node(options.partition)
    command = ["sbatch", "--parsable", "--coschedule", "--job-name=coschedule-smoke",
               "--output=/dev/null", "--time=5", f"--mem={options.memory}", "--hold",
               f"--partition={options.partition}", f"--nodelist={node}"]
    jobs = []
    for _ in range(JOBS):
        status, out, err = host.ask(*command, given=PROGRAM.format(seconds=options.seconds))
        if status != 0:
            cancel(jobs)
            raise SmokeError(f"sbatch: {err or out.strip()}")
        jobs.append(int(out.split(";")[0]))
    status, _, err = host.ask("scontrol", "release", *map(str, jobs))
    if status != 0:
        cancel(jobs)
        raise SmokeError(f"scontrol release: {err}")
    return jobs


def some_node(partition):
    nodes = [row["node"] for row in slurmrows.sinfo("-N", "-p", partition, "-t", "idle,mix")
             if row["state"] in ("idle", "mixed")]
    if not nodes:
        raise SmokeError(f"partition {partition}: no node is idle (sinfo -R tells why)")
    return nodes[0]


def cancel(jobs):
    if jobs:
        host.ask("scancel", *map(str, jobs))


def rows(jobs):
    return {int(row["jobidraw"]): row for row in slurmrows.sacct(
        ("jobidraw", "state", "nodelist", "admincomment"), "-X", "-j", ",".join(map(str, jobs)))}


def wait(jobs, limit):
    """{job: its row} when all have their final record."""
    found, end = {}, time.time() + limit
    while time.time() < end:
        found = rows(jobs)
        records = [jobrecord.parse(row["admincomment"]) for row in found.values()]
        if len(found) == len(jobs) and all(r and r.state == "final" for r in records):
            return found
        bad = [f"job {job}: {row['state']}" for job, row in found.items()
               if row["state"].split()[0] in ("FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")]
        if bad:
            raise SmokeError(f"{bad[0]}; its node's slurmd log tells why")
        time.sleep(0.5)
    states = ", ".join(f"job {job}: {row['state']}, record: {row['admincomment'] or 'none'}"
                       for job, row in sorted(found.items()))
    cancel(jobs)
    raise SmokeError(f"no records within {limit:g} s ({states or 'sacct knows of no job'})")


def verify(found):
    """What is wrong with the records of the jobs FOUND; None: they shared a node."""
    for job, row in found.items():
        fields = jobrecord.parse(row["admincomment"]).fields
        others = set(found) - {job}
        if row["state"] != "COMPLETED":
            return f"job {job}: {row['state']}"
        if not others <= set(fields["partners"] or ()):
            return f"job {job}: its record does not have job {min(others)} as a partner"
        if not fields["attached"]:
            return f"job {job}: its OpenMP program did not follow: {fields['follow'] or 'unknown'}"
    return None


def run(options):
    jobs = submit(options)
    print(f"jobs {', '.join(map(str, jobs))} submitted", flush=True)
    try:
        found = wait(jobs, options.limit)
    except KeyboardInterrupt:
        cancel(jobs)
        raise
    problem = verify(found)
    if problem:
        raise SmokeError(problem)
    node = next(iter(found.values()))["nodelist"]
    print(f"both shared {node}, and their cores followed")
    status, out, err = host.ask("coschedreport", *map(str, jobs))
    print(out if status == 0 else f"coschedreport: {err}")
