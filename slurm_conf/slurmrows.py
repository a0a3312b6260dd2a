# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Rows of sacct, squeue and sinfo, which print what users wrote, too.

    for row in slurmrows.sacct(("jobidraw", "uid", "jobname"), "-X", "-a"):
        print(row["uid"])

The name, command line or comment of a job may hold line breaks and any separator
that its owner can know, so that it looks like further rows, of others' jobs.  So
each call draws a separator at random.  Each field ends by it, so a row is as many of
them as fields were asked for: no row takes anything from another one.
"""

import os
import re
import secrets
import subprocess

# What squeue and sinfo call a field: no option of theirs takes names.
SQUEUE = {"uid": "%U", "nodes": "%N", "name": "%j"}
SINFO = {"node": "%N", "features": "%b", "available": "%f", "share": "%h", "state": "%T"}


class CommandError(Exception):
    """What the user must know to set things right."""


def sacct(fields, *arguments, errors="replace", env=None):
    """Dicts of the texts of FIELDS, one for each row of sacct with ARGUMENTS.
    Times are seconds since the epoch, whatever time zone cluster and user are in.
    ERRORS: what becomes of bytes that are not UTF-8, as bytes.decode() has it."""
    asked = [*fields, *(("systemcomment",) if "admincomment" in fields else ())]
    unknown = {}
    while True:
        separator = _separator()
        try:
            text = run("sacct", "-n", "-p", f"--delimiter={separator}", "-o",
                       ",".join(asked), *arguments, errors=errors, env=env)
            break
        except CommandError as error:
            # Older ones have not all: submitline came with 21.08.
            name = re.search(r'Invalid field requested: "(\w+)"', str(error))
            if not name or name[1] not in asked:
                raise
            asked.remove(name[1])
            unknown[name[1]] = ""
    rows = split(text, separator, asked)
    for row in rows:
        row.update(unknown)
        record = row.pop("systemcomment", "")
        # slurmdbd before 21.08 can give a job that has ended this one only.
        if record.startswith("cosched/") and "admincomment" in fields:
            row["admincomment"] = record
    return rows


def squeue(*arguments, errors="replace"):
    """The same of the jobs that wait or run: the fields of SQUEUE."""
    return _formatted("squeue", SQUEUE, arguments, errors)


def sinfo(*arguments, errors="replace"):
    """The same of nodes: the fields of SINFO."""
    return _formatted("sinfo", SINFO, arguments, errors)


def _formatted(program, fields, arguments, errors):
    separator = _separator()
    text = run(program, "-h", *arguments, "-o",
               "".join(code + separator for code in fields.values()),
               errors=errors)
    return split(text, separator, fields)


def _separator():
    """What no user can know."""
    return f"\x1f{secrets.token_hex(16)}\x1f"


def split(text, separator, fields):
    """The rows in TEXT."""
    pieces = ("\n" + text).split(separator)
    rows = []
    for first in range(0, len(pieces) - len(fields), len(fields)):
        end, *values = pieces[first:first + len(fields)]
        if not end.startswith("\n"):
            break       # no output of Slurm's
        rows.append(dict(zip(fields, (end[1:], *values))))
    return rows


def run(*command, errors="replace", env=None):
    """The output of a command of Slurm's."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              stdin=subprocess.DEVNULL,
                              env={**(os.environ if env is None else env),
                                   "SLURM_TIME_FORMAT": "%s"})
    except FileNotFoundError as error:
        raise CommandError(f"{command[0]}: not found in PATH; it is a part of "
                           "Slurm (Debian: slurm-client)") from error
    except OSError as error:
        raise CommandError(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip()
        raise CommandError(reason or f"{command[0]}: exit status "
                           f"{done.returncode}")
    return done.stdout.decode(errors=errors)


def count(text):
    """A whole number as Slurm prints it; None for "Unknown" and the like."""
    return int(text) if re.fullmatch("[0-9]+", text) and \
        len(text) < 19 else None
