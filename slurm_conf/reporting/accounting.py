# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Slurm's accounting, as sacct prints it.

    rows = accounting.ask(accounting.Selection(jobids=["42"]))
    rows[0]["state"]

Each row is a dict of texts, by the names of FIELDS.  Times are seconds since
the epoch, whatever time zone cluster and user are in.
"""

import os
import re
import secrets
import subprocess
from dataclasses import dataclass, field

# What sacct is asked for.  The first is never empty and has no line break.
FIELDS = ("jobid", "jobidraw", "cluster", "user", "account", "state", "submit",
          "start", "end", "suspended", "partition", "nodelist", "alloccpus",
          "alloctres", "totalcpu", "jobname", "submitline", "admincomment")
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
    # A job's name or comment may hold anything but this.
    separator = f"\x1f{secrets.token_hex(4)}\x1f"
    text = _run(["sacct", "-n", "-P", f"--delimiter={separator}",
                 "-o", ",".join(FIELDS), *arguments], selection)
    rows = split(text, separator)
    if selection.cpu_time:      # without -X there are steps
        rows = [row for row in rows if "." not in row["jobid"]]
    return rows


def split(text, separator):
    """The rows in sacct's output.  A field may hold line breaks: the end of a
    row is the last one before the next row's first field."""
    pieces = text.split(separator)
    width = len(FIELDS) - 1
    rows, first = [], pieces[0]
    for start in range(1, len(pieces) - width + 1, width):
        values = pieces[start:start + width]
        last, _, following = values[-1].rpartition("\n")
        rows.append(dict(zip(FIELDS, (first, *values[:-1], last))))
        first = following
    return rows


def _run(command, selection):
    try:
        done = subprocess.run(command, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL,
                              env={**os.environ, "SLURM_TIME_FORMAT": "%s"})
    except FileNotFoundError as error:
        raise AccountingError(
            f"{command[0]}: not found in PATH; it is a part of Slurm "
            "(Debian: slurm-client)") from error
    except OSError as error:
        raise AccountingError(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        raise AccountingError(_reason(command[0], done, selection))
    return done.stdout.decode(errors="replace")


def _reason(program, done, selection):
    """Why PROGRAM failed, after the option that it complains about."""
    reason = done.stderr.decode(errors="replace").strip() or \
        f"{program}: exit status {done.returncode}"
    if selection is None:
        return reason
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
    text = _run(["sacctmgr", "-n", "-P", "list", "cluster", "format=cluster"],
                None)
    return text.split()


# ---- values of a row -----------------------------------------------------------

def epoch(text):
    """Seconds since the epoch; None for "Unknown" and the like."""
    return int(text) if text.isascii() and text.isdigit() else None


def count(text):
    return int(text) if text.isascii() and text.isdigit() else None


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
