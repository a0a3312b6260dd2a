# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedreport's command line."""

import argparse
import json
import os
import re
import sys
from plainclass import dataclass

import coretrace
import svgchart
from reporting import accounting, group, listing, programs, summary
from reporting import mix as mixes
from reporting.accounting import AccountingError, Selection
from reporting.job import jobs_of

VERSION = "0.2.0"       # the package's
BY = ("job", "mix", "program", "region", "user", "account")
HISTORY = 30            # days


class UsageError(Exception):
    """The command line cannot be meant."""


def job_list(text):
    """The job numbers in TEXT, separated by commas; each may have its cluster
    behind it, as sbatch --parsable prints it."""
    ids = text.split(",")
    for jobid in ids:
        number, separator, cluster = jobid.partition(";")
        if not accounting.JOBID.fullmatch(number) or \
                bool(separator) != bool(cluster):
            raise argparse.ArgumentTypeError(f"{jobid}: not a job id")
    return ids


def take_clusters(a):
    """Jobs with a cluster behind their number choose clusters, unless
    --clusters does."""
    clusters = []
    for name in ("jobids", "alone", "native"):
        pairs = [jobid.partition(";") for jobid in getattr(a, name)]
        setattr(a, name, [number for number, _, _ in pairs])
        clusters += [cluster for _, _, cluster in pairs if cluster]
    if clusters and not a.clusters:
        a.clusters = ",".join(dict.fromkeys(clusters))


def some_text(text):
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def days(text):
    if not re.fullmatch("[0-9]+", text) or int(text) > 36500:
        raise argparse.ArgumentTypeError(
            f"{text}: not a number of days from 0 to 36500")
    return int(text)


def add_selection(parser):
    which = parser.add_argument_group("which jobs")
    which.add_argument("jobids", nargs="*", metavar="JOBID", type=job_list,
                       help="a job, an element of an array (12_3), or several "
                       "separated by commas; several are one mix")
    which.add_argument("-u", "--user", metavar="NAME,...", type=some_text,
                       help="jobs of these users")
    which.add_argument("-a", "--all-users", action="store_true",
                       help="jobs of all users")
    which.add_argument("-S", "--start", metavar="TIME", type=some_text,
                       help="jobs of this time and later, as sacct takes it: "
                       "2026-11-21, 13:00, now-2days; default midnight")
    which.add_argument("-E", "--end", metavar="TIME", type=some_text,
                       help="jobs until this time; default now")
    which.add_argument("-M", "--clusters", metavar="NAME,...", type=some_text,
                       help="jobs of these clusters, or all")
    which.add_argument("--all", action="store_true",
                       help="also jobs that were not co-scheduled")


def add_content(parser):
    what = parser.add_argument_group("what of them")
    what.add_argument("--by", choices=BY, default="job",
                      help="a line for each job (default), mix, program, parallel region, "
                      "user, account")
    what.add_argument("--alone", metavar="JOBID,...", type=job_list,
                      default=[], help="runs of the programs alone, for "
                      "slowdown and Hmean")
    what.add_argument("--native", metavar="JOBID,...", type=job_list,
                      default=[], help="the same mix under native time "
                      "sharing, for NTT and normalised turnaround")
    what.add_argument("--history", metavar="DAYS", type=days, default=HISTORY,
                      help="look so far back for such runs (default "
                      f"{HISTORY}; 0: only among the jobs)")
    what.add_argument("--cpu", action="store_true",
                      help="add the processor time used; one more query for "
                      "each job")


def add_output(parser):
    form = parser.add_argument_group("output")
    one = form.add_mutually_exclusive_group()
    one.add_argument("--json", action="store_true", help="print JSON")
    one.add_argument("--csv", action="store_true",
                     help="print comma separated values")
    form.add_argument("--html", metavar="FILE", type=some_text,
                      help="write a page with charts")
    form.add_argument("--plot", metavar="FILE", type=some_text,
                      help="write the charts, as SVG")
    form.add_argument("--trace", metavar="FILE", action="append", default=[],
                      help="the agent's trace (coschedctl trace -o FILE), for "
                      "the charts; one for each node")
    form.add_argument("--version", action="version",
                      version=f"coschedreport {VERSION}")


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="coschedreport", allow_abbrev=False,
        description="Tell what sharing a node did to jobs: wait, turnaround, "
        "cores, slowdown, and what it gained or cost.",
        epilog="Without JOBID, --user, --all-users, --start and --end: your "
        "co-scheduled jobs of today.  Times are Slurm's, in whole seconds, "
        "shown in the time zone of TZ.")
    add_selection(parser)
    add_content(parser)
    add_output(parser)
    a = parser.parse_args(argv)
    a.jobids = [jobid for ids in a.jobids for jobid in ids]
    take_clusters(a)
    if a.user and a.all_users:
        parser.error("--user and --all-users exclude each other")
    if a.native and len(a.jobids) < 2:
        parser.error("--native: needs the jobs of a mix before it")
    if a.trace and not (a.html or a.plot):
        parser.error("--trace: only with --html or --plot")
    if a.by != "job" and (a.html or a.plot):
        parser.error(f"--by {a.by}: not with --html or --plot, which show "
                     "jobs and mixes")
    if a.plot and a.plot != "-" and not a.plot.endswith(".svg"):
        parser.error(f"--plot {a.plot}: only .svg can be written")
    return a


# ---- what is asked for ---------------------------------------------------------

def selection(a):
    """The jobs that the arguments A name."""
    users = a.user.split(",") if a.user else []
    if not users and not a.all_users and not a.jobids:
        users = [str(os.getuid())]      # root would see everybody's
    start = a.start or ("" if a.jobids else "midnight")
    return Selection(jobids=a.jobids, users=users, start=start,
                     end=a.end or "", clusters=a.clusters or "",
                     cpu_time=a.cpu)


def missing(jobids, jobs):
    """Those of JOBIDS that are not among JOBS.  "12" is also there as 12_3 and
    12+1, and the number that Slurm gave an element as itself."""
    known = set()
    for job in jobs:
        known.update((job.job, job.raw, job.job.split("_")[0],
                      job.job.split("+")[0]))
    return [j for j in jobids if j not in known]


def why_empty(a, seen):
    """Why there is nothing to report; SEEN jobs were left out."""
    when = f"since {a.start or 'midnight'}" + (f" until {a.end}" if a.end else "")
    whose = f"of {a.user}" if a.user else \
        "of anybody" if a.all_users else "of yours"
    if seen:
        jobs = "job" if seen == 1 else "jobs"
        return f"no co-scheduled job {whose} {when}; {seen} other {jobs} " \
               "(--all shows them)"
    for name in (a.clusters or "").split(","):
        if name not in ("", "all") and name not in accounting.clusters():
            return f"--clusters {name}: no such cluster in Slurm's accounting"
    return f"no job {whose} {when} in Slurm's accounting, or none that you " \
           "may see"


def named(jobids, a):
    """The jobs of an option that names JOBIDS."""
    if not jobids:
        return []
    return jobs_of(accounting.ask(Selection(jobids=jobids,
                                            clusters=a.clusters or "")))


@dataclass
class Found:
    """What the accounting has of what is asked for."""
    jobs: list
    left_out: int               # jobs that were not co-scheduled
    past: list                  # runs of the same programs, before
    alone: list                 # of --alone
    native: list                # of --native
    mix: "mixes.Mix | None"       # the jobs are one

    def lost(self, a):
        """(option, numbers) of what A names and is not there."""
        for option, ids, jobs in (("", a.jobids, self.jobs),
                                  ("--alone: ", a.alone, self.alone),
                                  ("--native: ", a.native, self.native)):
            lost = missing(ids, jobs)
            if lost:
                yield option, lost


def gather(a):
    """What the arguments A ask for."""
    seen = jobs_of(accounting.ask(selection(a)))
    jobs = seen if a.jobids or a.all else [j for j in seen if j.record]
    # Of a span of time we have all jobs already.
    past = programs.history([j for j in jobs if j.record], a.clusters or "",
                            a.history, until_now=bool(a.jobids))
    found = Found(jobs, len(seen) - len(jobs), past, named(a.alone, a),
                  named(a.native, a),
                  mixes.Mix(jobs) if a.jobids and len(jobs) > 1 else None)
    programs.set_alone(jobs, [*past, *[j for j in seen if not j.record]],
                       found.alone)
    if found.mix:
        mixes.find_native([found.mix], past)
        if found.native:
            found.mix.native = mixes.Mix(found.native)
    return found


# ---- output --------------------------------------------------------------------

def write_file(path, text):
    try:
        svgchart.write(path, text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def as_json(a, found):
    keys = listing.job_keys(found.jobs, a.cpu)
    out = {"jobs": [listing.job_values(j, keys) for j in found.jobs],
           "mix": group.mix_row(found.mix) if found.mix else None}
    if a.by != "job":
        out["by"] = a.by
        out["groups"] = groups(a.by, found)
    return json.dumps(out, indent=1) + "\n"


def groups(by, found):
    if by == "mix":
        return group.by_mix(found.jobs, found.past)
    return {"program": group.by_program, "region": group.by_region, "user": group.by_user,
            "account": group.by_account}[by](found.jobs)


def as_text(a, found):
    if a.by == "job":
        return listing.job_table(found.jobs) + "\n" + \
            summary.of_jobs(found.jobs, found.mix, a.history)
    rows = groups(a.by, found)
    text = listing.table(listing.GROUP_COLUMNS[a.by], rows) + "\n"
    if any(row.get("energy_j") is not None for row in rows):
        text += "\n" + summary.ENERGY + "\n"
    return text


def as_csv(a, found):
    if a.by == "job":
        keys = listing.job_keys(found.jobs, a.cpu)
        return listing.as_csv(keys, [listing.job_values(j, keys)
                                     for j in found.jobs])
    rows = groups(a.by, found)
    return listing.as_csv(list(rows[0]) if rows else [], rows)


def report(a):
    """Print what A asks for; the exit status."""
    found = gather(a)
    if a.html or a.plot:
        draw(a, found)
    if a.json:
        print(as_json(a, found), end="")
    elif a.csv:
        print(as_csv(a, found), end="")
    elif found.jobs and not (a.html or a.plot):
        print(as_text(a, found), end="")
    if not found.jobs and not a.jobids:
        print(f"coschedreport: {why_empty(a, found.left_out)}", file=sys.stderr)
    status = 0
    for option, lost in found.lost(a):
        print(f"coschedreport: {option}{listing.jobs_named(lost)}: not in "
              "Slurm's accounting; a job gets there within seconds of its "
              "submission", file=sys.stderr)
        status = 1
    return status


def draw(a, found):
    """Write --html and --plot."""
    # Most runs need none of this.
    from reporting import chart, page       # pylint: disable=C0415
    try:
        if a.plot:
            write_file(a.plot, svgchart.document(
                chart.pictures(found.jobs, a.trace)))
        if a.html:
            write_file(a.html, page.of(
                found.jobs, found.past, found.mix, a.trace, a.history))
    except coretrace.TraceError as error:
        raise UsageError(f"--trace {error}") from error


def main(argv):
    a = parse(argv)
    try:
        return report(a)
    except (AccountingError, UsageError) as error:
        print(f"coschedreport: {error}", file=sys.stderr)
        return 1
