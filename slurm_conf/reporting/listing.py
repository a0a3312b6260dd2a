# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Tables for the eye, and as CSV: of jobs and of groups of them."""

import csv
import io
import re
import time
from typing import NamedTuple

# Jobs that a line of notes names before it counts the rest.
NAMED = 8

# Keys of a job in JSON and CSV.
KEYS = ("job", "name", "user", "state", "submit", "start", "end", "wait_s",
        "run_s", "turnaround_s", "record", "policy", "mean_cores",
        "final_cores", "regions", "parallel_s", "parallel_share", "core_s",
        "alloc_core_s", "core_share", "billed", "alone_s", "alone_by", "alone_job",
        "slowdown", "slowdown_error", "program_class", "partners", "decisions",
        "attached", "pinned", "cluster", "account", "partition", "nodes", "alloc_cpus",
        "runs", "lost_s", "suspended_s", "agent", "notes")
# The same, where the node of a job measured energy.  Estimates: the packages'
# energy, divided among the jobs by their cycles or cores.
ENERGY_KEYS = ("energy_j", "energy_delay_js")
CPU_KEYS = ("cpu_s",)   # where it was asked for


# Where a spreadsheet may see a formula: at the beginning of a cell, behind spaces or
# not.  One that separates cells by semicolons finds cells within ours.
FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20"
_FORMULA = re.compile(rf"""(^|;)(?=[ "']*[{re.escape(FORMULA)}])""")

SEVERAL, ANY = "several", "any"     # when a column is shown


class Column(NamedTuple):
    title: str
    key: str
    form: object        # value -> text; None: a time of day
    right: bool = True
    shown: str = ""     # SEVERAL: only if values differ; ANY: if there are any


def whole_seconds(value):
    """Slurm's clock has no finer hand: 0 is anything below one second."""
    return f"{value} s" if value else "<1 s"


def some_seconds(value):
    return f"{value:.1f} s" if value < 100 else f"{value:.0f} s"


def with_error(value, error):
    """A ratio, with its error where Slurm's whole seconds make that matter;
    "~" is an estimate."""
    if error is None:
        return f"~{value:.2f}"
    return f"{value:.2f}" if error < 0.05 else f"{value:.1f}±{error:.1f}"


def names_text(values, limit=40):
    """As many of VALUES as there is room for, and how many are left."""
    text = ",".join(map(str, values))
    if len(text) <= limit:
        return text
    shown = []
    for value in values:
        if len(",".join([*shown, str(value)])) > limit - 6:
            break
        shown.append(str(value))
    return ",".join(shown) + f"+{len(values) - len(shown)}"


JOB_COLUMNS = (
    Column("JOB", "job", str, False),
    Column("CLUSTER", "cluster", str, False, SEVERAL),
    Column("USER", "user", str, False, SEVERAL),
    Column("NAME", "name", lambda v: v[:16], False),
    Column("STATE", "state", str, False),
    Column("SUBMIT", "submit", None, False),
    Column("START", "start", None, False),
    Column("END", "end", None, False),
    Column("WAIT", "wait_s", whole_seconds),
    Column("TURNAROUND", "turnaround_s", whole_seconds),
    Column("CORES", "mean_cores", "{:.2f}".format),
    Column("LAST", "final_cores", str),
    Column("HELD", "core_share", "{:.0%}".format),
    Column("CPU", "cpu_s", some_seconds, shown=ANY),
    Column("SLOWDOWN", "slowdown", str),
    Column("CLASS", "program_class", str, False, ANY),
    Column("REGIONS", "regions", str),
    Column("PARALLEL", "parallel_share", "{:.0%}".format),
    Column("ENERGY*", "energy_j", "{:.0f} J".format, shown=ANY),
    Column("EDP*", "energy_delay_js", "{:.3g} Js".format, shown=ANY),
    Column("WITH", "partners", lambda v: names_text(v) or "nobody", False),
)

COMMON_COLUMNS = (
    Column("JOBS", "jobs", str),
    Column("WAIT", "mean_wait_s", some_seconds),
    Column("TURNAROUND", "mean_turnaround_s", some_seconds),
    Column("CORES", "mean_cores", "{:.2f}".format),
    Column("CORE-S", "core_s", "{:.0f}".format),
    Column("ALLOCATED", "alloc_core_s", "{:.0f}".format),
    Column("HELD", "core_share", "{:.0%}".format),
    Column("BILLED", "billed", "{:.0f}".format),
    Column("SLOWDOWN", "mean_slowdown", "{:.2f}".format),
    Column("WORST", "worst_slowdown", "{:.2f}".format),
    Column("ENERGY*", "energy_j", "{:.0f} J".format, shown=ANY),
)
GROUP_COLUMNS = {
    "user": (Column("CLUSTER", "cluster", str, False, SEVERAL),
             Column("USER", "user", str, False), *COMMON_COLUMNS),
    "account": (Column("CLUSTER", "cluster", str, False, SEVERAL),
                Column("ACCOUNT", "account", str, False), *COMMON_COLUMNS),
    "program": (Column("CLUSTER", "cluster", str, False, SEVERAL),
                Column("USER", "user", str, False, SEVERAL),
                Column("PROGRAM", "name", lambda v: v[:16], False),
                Column("ARGUMENTS", "arguments", lambda v: v[:24], False, ANY),
                *COMMON_COLUMNS,
                Column("ALONE", "alone_s", some_seconds, shown=ANY),
                Column("BESIDE", "beside", lambda v: names_text(
                    [f"{name[:16]}:{value:.2f}" for name, value in v.items()]),
                    False, ANY)),
    "region": (Column("CLUSTER", "cluster", str, False, SEVERAL),
               Column("PROGRAM", "program", lambda v: v[:16], False),
               Column("REGION", "region", str, False),
               Column("JOBS", "jobs", str),
               Column("TIME", "parallel_s", some_seconds),
               Column("SHARE", "share", "{:.0%}".format)),
    "mix": (Column("JOBS", "jobs", names_text, False),
            Column("NAMES", "names",
                   lambda v: names_text([n or "-" for n in v]), False),
            Column("SUBMIT", "submit", None, False),
            Column("MAKESPAN", "makespan_s", whole_seconds),
            Column("TURNAROUNDS", "total_turnaround_s", whole_seconds),
            Column("CORE-S", "core_s", "{:.0f}".format),
            Column("ALLOCATED", "alloc_core_s", "{:.0f}".format),
            Column("NODE", "node_core_s", "{:.0f}".format),
            Column("IN-TURN", "in_turn_s", some_seconds),
            Column("HMEAN", "hmean", "{:.2f}".format),
            Column("NTT", "ntt", "{:.2f}".format, shown=ANY),
            Column("NORM-TA", "normalised_turnaround", "{:.2f}".format,
                   shown=ANY),
            Column("ENERGY*", "energy_j", "{:.0f} J".format, shown=ANY),
            Column("EDP*", "energy_delay_js", "{:.3g} Js".format, shown=ANY)),
}

def printable(text):
    """TEXT without what a job's name could do to a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "?" for c in text)


def job_keys(jobs, with_cpu):
    """The keys of JOBS in JSON and CSV."""
    return KEYS + (ENERGY_KEYS if has_energy(jobs) else ()) + \
        (CPU_KEYS if with_cpu else ())


def job_values(job, keys):
    """A job as a dict."""
    return {key: getattr(job, key) for key in keys}


def has_energy(jobs):
    return any(job.energy_j is not None for job in jobs)


def clock_format(stamps):
    """The date only where not all is of one day, the year likewise."""
    days = {time.localtime(s)[:3] for s in stamps if s}
    if len(days) <= 1:
        return "%H:%M:%S"
    return "%m-%d %H:%M:%S" if len({d[0] for d in days}) == 1 else \
        "%Y-%m-%d %H:%M"


def visible(columns, rows):
    """Those of COLUMNS that tell something of ROWS."""
    for column in columns:
        values = [row[column.key] for row in rows]
        if column.shown == SEVERAL and len(set(values)) < 2:
            continue
        if column.shown == ANY and not any(values):
            continue
        yield column


def table(columns, rows):
    """ROWS (dicts) as lines of text."""
    columns = list(visible(columns, rows))
    clock = clock_format([row[c.key] for row in rows for c in columns
                          if c.form is None])
    lines = [[c.title for c in columns]]
    for row in rows:
        lines.append([cell(c, row, clock) for c in columns])
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(
        text.rjust(width) if c.right else text.ljust(width)
        for text, width, c in zip(line, widths, columns)).rstrip()
        for line in lines)


def cell(column, row, clock):
    """The text of one value."""
    value = row[column.key]
    if value is None:
        return "-"
    if column.form is None:
        return time.strftime(clock, time.localtime(value))
    if column.key + "_error" in row:
        return with_error(value, row[column.key + "_error"])
    return printable(column.form(value))


def job_table(jobs):
    keys = KEYS + ENERGY_KEYS + CPU_KEYS
    return table(JOB_COLUMNS, [job_values(j, keys) for j in jobs])


def jobs_named(ids):
    """"job 4", "jobs 4, 5 and 6", "jobs 4, 5, ... and 11 more"."""
    if len(ids) == 1:
        return f"job {ids[0]}"
    if len(ids) <= NAMED:
        return f"jobs {', '.join(ids[:-1])} and {ids[-1]}"
    return f"jobs {', '.join(ids[:NAMED])} and {len(ids) - NAMED} more"


def notes(jobs):
    """One line for each note, however many jobs it is of."""
    of = {}
    for job in jobs:
        for note in job.notes:
            of.setdefault(note, []).append(job.job)
    return [f"{jobs_named(ids)}: {printable(note)}" for note, ids in of.items()]


def as_csv(keys, rows):
    """ROWS (dicts of KEYS) with a line of keys before them.  What looks like a
    formula has a "'" before it, what is not printable becomes "?"."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(keys)
    for row in rows:
        writer.writerow([_csv_cell(key, row[key]) for key in keys])
    return out.getvalue()


def _hot_text(regions):
    return "; ".join(f"{hot['region']} {hot['share']:.0%}" for hot in regions)


def _csv_cell(key, value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, dict):
        value = " ".join(f"{k}={_hot_text(v) if k == 'hot' else v}" for k, v in value.items())
    elif isinstance(value, (list, tuple)):
        value = ("; " if key == "notes" else " ").join(map(str, value))
    if isinstance(value, str):
        return _FORMULA.sub(r"\1'", printable(value))
    return value
