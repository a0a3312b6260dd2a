# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Jobs, and sets of mixes of them.

A mix is a list of jobs that begin at the same time.  A job of a named set is one of the package's
programs, repeated so often that it takes about as long alone as is wanted.
"""

import json
import os
import re
import shlex
import subprocess

from evaluation import EvaluationError

# Twelve mixes for nodes of a few cores: pairs that ask for different things (compute, memory,
# barriers, spinning, serial phases, tasks), and triples.  A number after a colon is the length of
# a job relative to the others.
SETS = {
    "node2": ("ep cg", "bt sp", "lu mg", "lu cg", "ft ep", "ft streamcluster", "kmeans is",
              "sp ua", "sparselu stream", "blackscholes:0.5 streamcluster", "bt ft ep",
              "cg mg kmeans:0.5"),
    # NuPoCo (SoCC 2020), figure 7.
    "papers10": ("bt ft", "bt sp", "ft sp", "bt ft sp", "bt ft ep", "bt sp ep", "ft sp ep",
                 "bt kmeans", "ft kmeans", "sp kmeans"),
    # Y. Cho's thesis, section 4.4.2.
    "papers18": ("bt ft", "bt sp", "bt streamcluster", "bt kmeans", "ft sp", "ft streamcluster",
                 "ft kmeans", "sp streamcluster", "sp kmeans", "bt ft streamcluster",
                 "bt ft kmeans", "bt sp streamcluster", "bt sp kmeans",
                 "bt streamcluster kmeans", "ft sp streamcluster", "ft sp kmeans",
                 "ft streamcluster kmeans", "sp streamcluster kmeans"),
}
SIZES = "CBAWS"     # the largest first


class Job:
    """A command that is run as it is, or one of the package's programs."""

    def __init__(self, name, command, length=1.0):
        self.name, self.command, self.length = name, command, length
        self.sized = False      # its arguments say how much it has to do

    @classmethod
    def of_user(cls, text):
        try:
            command = shlex.split(text)
        except ValueError as error:
            raise EvaluationError(f"--job {text}: {error}") from error
        if not command:
            raise EvaluationError("--job: an empty command")
        job = cls(os.path.basename(command[0]), command)
        job.sized = True
        return job


class Mix:
    def __init__(self, jobs):
        self.jobs = jobs
        self.name = " + ".join(job.name for job in jobs)


def named(name, programs):
    """The mixes of set NAME; PROGRAMS is the directory of the package's programs."""
    if name not in SETS:
        raise EvaluationError(f"--set {name}: not one of {', '.join(SETS)}")
    mixes, left_out = [], []
    for text in SETS[name]:
        jobs = []
        for word in text.split():
            program, _, length = word.partition(":")
            path = os.path.join(programs, program)
            jobs.append(Job(program, [path], float(length or 1)))
        missing = [job.name for job in jobs if not os.access(job.command[0], os.X_OK)]
        if missing:
            left_out.append(f"{text}: {', '.join(missing)} was not built")
        else:
            mixes.append(Mix(jobs))
    return mixes, left_out


def _once(job, size, env, limit):
    """Seconds of one computation of a program of the package, and of its largest step."""
    try:
        done = subprocess.run(job.command[:1] + ["--class", size, "--json"], env=env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=limit, universal_newlines=True,
                              check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise EvaluationError(f"{job.name} --class {size}: {done.stderr.strip()}")
    return json.loads(done.stdout)["time_s"]


def choose_size(job, seconds, env):
    """Give JOB arguments with which it takes about SECONDS alone, in this environment: the
    largest class that fits twice, as often as it takes."""
    wanted = seconds * job.length
    for size in SIZES[2:]:
        took = _once(job, size, env, max(60.0, 4 * wanted))
        if took is not None and took <= 0.6 * wanted:
            break
    if took is None:
        raise EvaluationError(f"{job.name}: even its smallest class takes over a minute")
    # Small classes are over in milliseconds: what starts and ends them would be measured.
    job.command = job.command[:1] + ["--class", size, "--repeat",
                                     str(max(1, round(wanted / max(took, 1e-4))))]
    job.sized = True
    return f"{job.name} {size} x {job.command[-1]}"


def describe(job):
    """The command as a user would type it."""
    return re.sub(r"^\S*/", "", " ".join(shlex.quote(word) for word in job.command))
