# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A job: what Slurm's accounting and the agent's record say of it.

What is not known is None, never 0, and `notes` says why.  Times are Slurm's,
in whole seconds.
"""

import os
import re
from plainclass import dataclass, field

import jobrecord
from reporting import accounting

NO_NODE = "None assigned"
NOT_ENDED = {"PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING",
             "REVOKED", "CONFIGURING", "COMPLETING"}
# States of a run after which Slurm may start the job again.
GIVEN_UP = {"REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"}
# Names that Slurm or a shell gives: they tell no program.
NAMELESS = {"", "allocation", "interactive", "bash", "sh", "zsh", "sbatch",
            "salloc", "srun"}

# Keys of the record that are a job's own here; the others go into `agent`.
REPORTED = ("policy", "mean_cores", "final_cores", "regions", "parallel_s",
            "core_s", "partners", "decisions", "attached", "energy_j")

LATE = ("Slurm has recorded its end but not yet all of its beginning; ask "
        "again in 5 s")
NO_ATTACH = "not OpenMP, or not with GNU's shared libgomp"
PINNED = ("no program attached ({}): pinned to its share by affinity while it used "
          "several cores")
UNSEEN = ("the agent was told of none of its processes: they ran without co-scheduling, "
          "if at all")
NO_CORES = "ended before the agent had given it cores"
NO_RECORD = ("no record: not co-scheduled, the node had no agent, or the job "
             "has only begun")
NEVER = "ended before it started"
NOT_STARTED = "has not started"
RUNNING = "still running: cores are those at the agent's last note"
INTERIM = ("cores are those at the agent's last note; the final record comes "
           "6 s or more after the end")


@dataclass
class Job:
    """One job; of a requeued one its last run, and since when it was there."""
    job: str                # as Slurm shows it: 12, 12_3, 12+1
    raw: str
    cluster: str
    name: "str | None"
    user: str
    account: str
    state: str
    partition: str
    nodes: str
    submit: "int | None"      # the first one
    start: "int | None"
    end: "int | None"
    runs: int               # more than one: it was requeued
    lost_s: int             # run time of the runs that were given up
    suspended_s: float
    alloc_cpus: "int | None"  # what Slurm gave it: of a shared node all CPUs
    billing: "int | None"     # units that Slurm bills for each second
    cpu_s: "float | None"     # user and system time, where it was asked for
    program: "tuple | None"   # what makes two jobs runs of the same
    record: "str | None" = None       # "interim" or "final"
    policy: "str | None" = None
    mean_cores: "float | None" = None
    final_cores: "int | None" = None
    regions: "int | None" = None
    parallel_s: "float | None" = None
    core_s: "float | None" = None
    partners: "list | None" = None
    decisions: "int | None" = None
    attached: "bool | None" = None
    energy_j: "float | None" = None
    agent: dict = field(default_factory=dict)   # further keys of the record
    # Filled in by programs.py.
    alone_s: "float | None" = None
    alone_by: "str | None" = None     # "run", "estimate"
    alone_job: "str | None" = None    # that run
    notes: list = field(default_factory=list)

    @property
    def key(self):
        """What no other job has."""
        return self.cluster, self.raw

    @property
    def ended(self):
        return self.end is not None

    @property
    def wait_s(self):
        """Between submission and start, what ran in vain not counted."""
        waited = _less(self.start, self.submit)
        return None if waited is None else max(0, waited - self.lost_s)

    @property
    def run_s(self):
        return _less(self.end, self.start)

    @property
    def busy_s(self):
        """The time that it ran and was not suspended."""
        return None if self.run_s is None else \
            max(0, self.run_s - self.suspended_s)

    @property
    def turnaround_s(self):
        return _less(self.end, self.submit)

    @property
    def alloc_core_s(self):
        """Core-seconds that it would have used had it had its allocation, of
        a shared node all of it, to itself."""
        return _times(self.alloc_cpus, self.busy_s)

    @property
    def core_share(self):
        """Core-seconds held of those allocated."""
        if self.core_s is None or not self.alloc_core_s:
            return None
        return round(min(1.0, self.core_s / self.alloc_core_s), 3)

    @property
    def billed(self):
        """What Slurm bills: units times seconds."""
        return _times(self.billing, self.busy_s)

    @property
    def parallel_share(self):
        """Part of the time with running processes that parallel regions
        took.  The record has that time only as core seconds per mean core."""
        if self.parallel_s is None or not self.core_s or not self.mean_cores:
            return None
        return round(min(1.0, self.parallel_s * self.mean_cores / self.core_s),
                     2)

    @property
    def slowdown(self):
        """Run time by that of the program alone on the node."""
        if not self.alone_s or self.busy_s is None:
            return None
        return round(self.busy_s / self.alone_s, 3)

    @property
    def slowdown_error(self):
        """How wrong the slowdown may be since Slurm's times are wrong by up to
        a second.  That of an estimate is not known."""
        if not self.slowdown or self.alone_by == "estimate":
            return None
        if self.alone_job == self.job:      # it was itself the best run alone
            return 0.0
        return round(self.slowdown * (1 / self.busy_s + 1 / self.alone_s), 3)

    @property
    def program_class(self):
        """What the agent found it to be (docs/record.md)."""
        return self.agent.get("class")

    @property
    def energy_delay_js(self):
        value = _times(self.energy_j, self.run_s)
        return None if value is None else round(value, 1)

    @property
    def pinned(self):
        """Did no program of it attach, though it had cores to run on?"""
        return self.record == "final" and self.attached is False and \
            bool(self.core_s) and self.core_s > 1


def _less(later, earlier):
    return None if later is None or earlier is None else \
        max(0, later - earlier)


def _times(one, other):
    return None if one is None or other is None else one * other


# ---- from the accounting -------------------------------------------------------

def jobs_of(rows):
    """The jobs in ROWS (accounting.py), in their order; runs of the same job
    are put together."""
    runs = {}
    for row in rows:
        runs.setdefault((row["cluster"], row["jobid"]), []).append(row)
    return [_merge(same) for same in runs.values()]


def _merge(rows):
    """The job whose runs are ROWS.  A run before the last belongs to it if
    Slurm gave it up; other such rows had the same number earlier."""
    rows = sorted(rows, key=lambda r: (accounting.epoch(r["submit"]) or 0,
                                       accounting.epoch(r["start"]) or 0))
    job = make_job(rows[-1])
    for row in reversed(rows[:-1]):
        if _state(row) not in GIVEN_UP or row["user"] != job.user:
            break
        start, end = _start(row), accounting.epoch(row["end"])
        job.runs += 1
        job.lost_s += _less(end, start) or 0
        job.submit = accounting.epoch(row["submit"]) or job.submit
    if job.runs > 1:
        times = "once" if job.runs == 2 else f"{job.runs - 1} times"
        job.notes.append(f"requeued {times}: it counts from its first "
                         f"submission; {job.lost_s} s ran in vain")
    return job


def _state(row):
    return row["state"].split()[0] if row["state"] else "UNKNOWN"


def _start(row):
    # To a job cancelled soon after its submission Slurm may give a start.
    if row["nodelist"] == NO_NODE and row["partition"]:
        return None
    return accounting.epoch(row["start"])


def make_job(row):
    """The job of one ROW."""
    state, start = _state(row), _start(row)
    end = accounting.epoch(row["end"])
    if state in NOT_ENDED:
        end = None
    elif start is not None and end is not None and start > end:
        start = None
    late = row["partition"] == ""
    name = None if late and row["jobname"] == "allocation" else row["jobname"]
    job = Job(
        job=row["jobid"], raw=row["jobidraw"], cluster=row["cluster"],
        name=name, user=row["user"], account=row["account"], state=state,
        partition=row["partition"],
        nodes="" if row["nodelist"] == NO_NODE else row["nodelist"],
        submit=accounting.epoch(row["submit"]), start=start, end=end, runs=1,
        lost_s=0, suspended_s=accounting.span(row["suspended"]) or 0,
        alloc_cpus=accounting.count(row["alloccpus"]) or None,
        billing=accounting.tres(row["alloctres"], "billing"),
        cpu_s=accounting.span(row["totalcpu"]) or None,
        program=_program(name, row))
    if late:
        # Slurm writes the beginning of a job some seconds late, so that of a
        # short one comes after its end.
        job.notes.append(LATE)
    if start is None:
        job.notes.append(NOT_STARTED if end is None else NEVER)
    read_record(job, row["admincomment"])
    if start is not None:
        _explain(job, late)
    return job


def _program(name, row):
    """What makes two jobs runs of the same program: user, name and, where the
    command line shows them, the script's arguments."""
    if name is None or name in NAMELESS:
        return None
    line = row["submitline"]
    words = line.split()        # Slurm has not kept the quotes
    wrapped = re.search(r"\s--wrap[= ](.*)", line, re.S)
    if wrapped:
        return row["cluster"], row["user"], name, (wrapped[1],)
    if name == "wrap":
        return None
    rest = ()
    for before, word, i in zip(words, words[1:], range(2, len(words) + 1)):
        # Not a name given by -J, after which nobody knows which is the script.
        script = os.path.basename(word)
        if name in (script, os.path.splitext(script)[0]) and \
                before not in ("-J", "--job-name"):
            rest = tuple(words[i:])
            break
    return row["cluster"], row["user"], name, rest


def read_record(job, comment):
    """Put the agent's record in COMMENT into JOB; what is missing is said in
    its notes."""
    record = jobrecord.parse(comment)
    if record is None:
        return
    job.notes += record.problems
    if record.version != jobrecord.VERSION:
        return
    job.record = "final" if record.state == "final" else "interim"
    for key, value in record.fields.items():
        if key in REPORTED:
            setattr(job, key, value)
        elif value is not None:
            job.agent[key] = value
    job.agent.update(record.other)


def _forget_sums(job):
    """What an interim record counted until it was written, soon after the job's
    start, is nothing to hold against all of its time."""
    if not job.core_s:
        job.mean_cores = job.final_cores = None
    job.core_s = job.parallel_s = job.regions = None
    job.partners = job.partners or None


def _explain(job, late):
    """Say why there is no record, or why it says little."""
    if job.record is None:
        if not job.notes and not late:
            job.notes.append(NO_RECORD)
        return
    if job.record == "interim":
        job.notes.append(INTERIM if job.ended else RUNNING)
        _forget_sums(job)
    elif job.core_s == 0 and job.mean_cores == 0:
        job.notes.append(UNSEEN if job.agent.get("started") is False else NO_CORES)
    if job.pinned:
        job.notes.append(PINNED.format(
            jobrecord.sentence(job.agent.get("follow")) or NO_ATTACH))
    if not job.core_s and not job.mean_cores:
        # Zeros that nobody measured.
        for key in ("mean_cores", "final_cores", "regions", "parallel_s",
                    "core_s"):
            setattr(job, key, None)
