# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Slurm's accounting, as sacct prints it.

    rows = accounting.ask(accounting.Selection(jobids=["42"]))
    rows[0]["state"]

Each row is a dict of texts, by the names of FIELDS.  Times are seconds since
the epoch, whatever time zone cluster and user are in.
"""

import pwd
import re
from plainclass import dataclass, field

import slurmrows
from slurmrows import count

# What sacct is asked for.
FIELDS = ("jobid", "jobidraw", "cluster", "uid", "user", "account", "state",
          "submit", "start", "end", "suspended", "partition", "nodelist",
          "alloccpus", "alloctres", "totalcpu", "jobname", "submitline",
          "admincomment")
JOBID = re.compile(r"[1-9][0-9]*(_[0-9]+|\+[0-9]+)?")
# Job numbers of one call: the kernel limits the length of an argument.
IDS_PER_CALL = 4000


class AccountingError(Exception):
    """What the user must know to set things right."""


@dataclass
class Selection:
    """Which jobs; what is empty does not restrict.  Texts are sacct's."""
    jobids: list = field(default_factory=list)
    users: list = field(default_factory=list)   # empty: everybody's
    names: list = field(default_factory=list)
    start: str = ""
    end: str = ""
    clusters: str = ""
    completed: bool = False     # only jobs in this state
    cpu_time: bool = False      # ask for totalcpu, which is one query a job
    duplicates: bool = True     # also earlier runs of a requeued job

    def arguments(self):
        """sacct's, without the job numbers."""
        words = [] if self.cpu_time else ["-X"]
        words += ["-D"] if self.duplicates else []
        words += ["-u", ",".join(self.users)] if self.users else ["-a"]
        for option, value in (("--name", ",".join(self.names)),
                              ("-S", self.start), ("-E", self.end),
                              ("-M", self.clusters),
                              ("-s", "CD" if self.completed else "")):
            words += [option, value] if value else []
        return words


def ask(selection):
    """The rows of SELECTION, one for each run of a job."""
    arguments = selection.arguments()
    if not selection.jobids:
        return _rows(arguments, selection)
    rows = []
    for first in range(0, len(selection.jobids), IDS_PER_CALL):
        some = selection.jobids[first:first + IDS_PER_CALL]
        rows += _rows([*arguments, "-j", ",".join(some)], selection)
    return rows


def _rows(arguments, selection):
    try:
        rows = slurmrows.sacct(FIELDS, *arguments)
    except slurmrows.CommandError as error:
        raise AccountingError(_reason(str(error), selection)) from error
    asked = _asked(selection)
    # Without -X there are steps.
    return [row for row in rows if asked(row) and
            not (selection.cpu_time and "." in row["jobid"])]


def _asked(selection):
    """Whether a row is of the jobs and users of SELECTION: sacct has been asked for
    no others, and nobody gets another's."""
    numbers = {_number(jobid) for jobid in selection.jobids}
    users = {number for user in selection.users for number in _uids(user)}
    return lambda row: (
        (not numbers or not numbers.isdisjoint((_number(row["jobid"]),
                                                row["jobidraw"]))) and
        (not users or not users.isdisjoint((row["uid"], row["user"]))))


def _number(jobid):
    """That of the whole array, or of the heterogeneous job."""
    return re.split(r"[_+.]", jobid)[0]


def _uids(user):
    """USER, a name or a number, and the number of that name."""
    try:
        return user, str(pwd.getpwnam(user).pw_uid)
    except KeyError:
        return (user,)


def _reason(reason, selection):
    """REASON, after the option that sacct complains about."""
    for option, values in (("--start", [selection.start]),
                           ("--end", [selection.end]),
                           ("--user", selection.users)):
        for value in filter(None, values):
            if re.search(rf"\binvalid\b.*: {re.escape(value)}$", reason,
                         re.I | re.M):
                return f"{option} {value}: {reason}"
    return reason


def clusters():
    """Names of the clusters in the accounting."""
    try:
        return slurmrows.run("sacctmgr", "-n", "-P", "list", "cluster",
                             "format=cluster").split()
    except slurmrows.CommandError as error:
        raise AccountingError(str(error)) from error


# ---- values of a row -----------------------------------------------------------

def epoch(text):
    """Seconds since the epoch; None for "Unknown" and the like."""
    return count(text)


def span(text):
    """Seconds in "[days-][hours:]minutes:seconds[.fraction]", else None."""
    match = re.fullmatch(
        r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)", text, re.A)
    if not match:
        return None
    days, hours, minutes, rest = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def tres(text, name):
    """The count of NAME in "billing=2,cpu=2,mem=100M,node=1", else None."""
    for part in text.split(","):
        key, _, value = part.partition("=")
        if key == name:
            return count(value)
    return None
