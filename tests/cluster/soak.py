#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""make soak HOURS=n: a throw-away cluster for hours, with random jobs of several
users, and daemons that are killed, hang, and are replaced by other builds.

Rounds of some minutes: a storm in which the agent is killed and upgraded too, a
steady part in which it is not, and the end of all jobs.  Then every job is judged:
its state, its results, its record.  Nothing may be left: no stopped process, no
cgroup, no descriptor, no memory.  Whatever is wrong is a violation: printed at once,
counted in the summary (JSON), and the exit status is 1.

It runs in namespaces of its own (mount, PID, with --cgroup also cgroups), on copies
of the programs: several of them and builds of the tree disturb it in time only."""

import argparse
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import soak_node as node
from soak_faults import Faults
from soak_jobs import ANSWER_S, Jobs
import coschedcluster
import namespaces
from coschedcluster import Cluster, need_cluster
from coschedtest import BUILD, SOURCE, wait_for

USERS = (61001, 61002, 61003)
MOST_JOBS = 7       # in the queue at once
STORM = 0.6         # part of a round's time
UPGRADE_S = 60
SETTLED_S = 20      # after a fault
PROGRESS_S = 30
DRAIN_S = 420
RESUME_S = 150      # of a job with steps, at most
LOST_S = 90         # of these
RECORDS_S = 300
PARTS = ("coschedctl", ".libs/spank_cosched.so", "libgomp-coop/lib-coop", "jobs",
         "tests/cluster/standin", "tests/cluster/database")
AGENT = ("coschedd", "coschedd-slurm", "coschedd-likwid")


# ---- set-up: copies and namespaces --------------------------------------------

def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--round", type=float, default=8, metavar="MINUTES")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--agent", action="append", default=[], metavar="BUILD",
                        help="a build tree with another coschedd to upgrade to")
    parser.add_argument("--cgroup", action="store_true",
                        help="jobs in cgroups, enforcement by cpuset")
    parser.add_argument("--out", default=None, help="where summary and logs go")
    parser.add_argument("--without", default="", metavar="FAULT,...",
                        help="leave out these faults")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 31)
    if options.out is None:
        options.out = f"{BUILD}/soak/{options.seed}"
    options.out = os.path.abspath(options.out)
    return options


def copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


def snapshot(parts, agents):
    """Copy what the cluster runs to PARTS, as a build tree and a source tree."""
    for name in PARTS:
        copy(f"{BUILD}/{name}", f"{parts}/{name}")
    shutil.copy(f"{parts}/tests/cluster/standin", f"{parts}/jobs/standin")
    copy(f"{SOURCE}/slurm_conf", f"{parts}/slurm_conf")
    for number, tree in enumerate([BUILD, *agents]):
        for name in AGENT:
            if os.path.exists(f"{tree}/{name}"):
                copy(f"{tree}/{name}", f"{parts}/agents/{number}/{name}")
    for name in AGENT:
        if os.path.exists(f"{BUILD}/{name}"):
            shutil.copy(f"{BUILD}/{name}", parts)


def enter(options):
    """Run this program again, in namespaces, and return its status."""
    need_cluster()
    coschedcluster.database()

    def prepare(base):
        snapshot(f"{base}/parts", options.agent)
        return {"abs_top_builddir": f"{base}/parts", "abs_top_srcdir": f"{base}/parts",
                "PYTHONDONTWRITEBYTECODE": "1"}
    return namespaces.enter([*sys.argv[1:], "--seed", str(options.seed), "--out",
                             options.out], options.cgroup, prepare)


# ---- the soak --------------------------------------------------------------------

class Soak:
    """All state of one run."""

    def __init__(self, options, cluster):
        self.options, self.c = options, cluster
        self.random = random.Random(options.seed)
        self.without = options.without.split(",")
        self.users = set(USERS)
        parts = f"{namespaces.inside()}/parts"
        self.agents = [f"{parts}/agents/{n}" for n in
                       sorted(os.listdir(f"{parts}/agents"))]
        cluster.jobs = f"{parts}/jobs"
        cluster.env["SLURM_TIME_FORMAT"] = "%s"
        os.makedirs(options.out, exist_ok=True)
        self.violations, self.quiet = [], []
        self.counts = collections.Counter()
        self.states = collections.Counter()
        self.requeued = set()
        self.suspended = {}  # job: when it is to be resumed
        self.resumed = {}  # job: when it was
        self.sum_core_s = self.sum_elapsed_s = 0.0
        self.faulty = []  # (from, to) of all faults
        self.errors = set()  # of the agent, told already
        self.finals = {}  # job: its final record, of all rounds
        self.faults, self.jobs = Faults(self), Jobs(cluster, self.random, USERS)
        self.watch = node.Watch(self.users, self.is_suspended, self.violation,
                                options.cgroup)
        self.began = self.told = time.monotonic()
        self.end = self.began + (options.hours * 60 + options.minutes) * 60

    def count(self, what, number=1):
        self.counts[what] += number

    def event(self, text):
        """What was done and seen, for who has to find out why."""
        with open(f"{self.options.out}/events.log", "a", encoding="utf-8") as file:
            file.write(f"{self.clock()} {text}\n")

    def violation(self, text):
        print(f"VIOLATION {self.clock()}: {text}", flush=True)
        self.event(f"VIOLATION {text}")
        self.violations.append({"at_s": round(time.monotonic() - self.began, 1),
                                "what": text})

    def clock(self):
        return time.strftime("%H:%M:%S")

    def is_suspended(self, job):
        """Slurm stops a job's sruns, too.  Where a step is just being launched its
        slurmstepd waits a minute for its srun, twice, and slurmd continues the script
        and srun only behind it."""
        known = self.jobs.by_number().get(job)
        return job in self.suspended or bool(
            known and known.kind in ("steps", "ranks", "overlap") and
            time.monotonic() - self.resumed.get(job, -RESUME_S) < RESUME_S)

    # ---- what goes on beside ------------------------------------------------

    def tend(self):
        """Do for the jobs what an administrator would, now that daemons were
        killed."""
        now = time.monotonic()
        for job, when in list(self.suspended.items()):
            if now >= when:
                done = self.c.run("scontrol", "resume", job, timeout=ANSWER_S)
                if done.returncode == 0 or "suspend" not in done.stderr:
                    del self.suspended[job]
                    self.resumed[job] = now
                    self.event(f"resumed {job}")
        for job, (state, reason) in (self.jobs.queued() or {}).items():
            if state == "SUSPENDED" and job not in self.suspended:
                self.suspended[job] = now
            elif state == "PENDING" and "BeginTime" in reason and \
                    job not in self.requeued:
                # At once its credential would be taken for the revoked one.
                self.requeued.add(job)
                self.c.run("scontrol", "update", f"jobid={job}", "StartTime=now+5")
            elif state == "RUNNING":
                self.requeued.discard(job)
            elif state == "PENDING" and re.search("requeued.held|Held", reason):
                self.count("held by Slurm after a failed launch")
                if not self.slurm_disturbed():
                    self.violation(f"Slurm holds job {job}: {reason}")
                self.c.run("scontrol", "release", job)
        if self.tend_nodes() and not self.faults.disturbing:
            self.faults.start_all()

    def tend_nodes(self):
        """True if Slurm did not use its node."""
        lines = self.c.run("sinfo", "-h", "-N", "-o", "%T|%E", timeout=60).stdout
        state, _, reason = lines.partition("\n")[0].partition("|")
        if not re.match("drain|down", state):
            return False
        self.note_node(state, reason)
        return True

    def note_node(self, state, reason):
        # Killed between the job's launch and its prolog, slurmd drains its own node; a
        # killed slurmctld starts what its last state has as pending once more.
        if self.slurm_disturbed() and re.search(
                "Not responding|Prolog error|Duplicate jobid", reason):
            self.count(f"drained by Slurm: {reason}")
        else:
            self.violation(f"Slurm says that its node is {state}: {reason}")
        self.c.run("scontrol", "update", "nodename=n1", "state=resume")

    def progress(self, what):
        if time.monotonic() - self.told < PROGRESS_S:
            return
        self.told = time.monotonic()
        print(f"{self.clock()} {what}: {(self.told - self.began) / 60:.1f} of "
              f"{60 * self.options.hours + self.options.minutes:g} min, "
              f"{self.counts['jobs submitted']} jobs, {self.counts['jobs judged']} "
              f"judged, {self.counts['faults']} faults, {self.counts['upgrades']} "
              f"upgrades, {self.watch.stops} stops seen, {len(self.violations)} "
              "violations", flush=True)

    # ---- a round --------------------------------------------------------------

    def submit(self):
        queued = self.jobs.queued()
        if queued is None or len(queued) >= MOST_JOBS:
            return
        error = self.jobs.submit()
        if error is None:
            self.count("jobs submitted")
        elif not self.slurm_disturbed():
            self.violation(f"sbatch: {error}")

    def slurm_disturbed(self, at=None):
        """True if a daemon of Slurm was disturbed at the time AT (now), or shortly
        before."""
        at = at or time.time()
        return self.faults.disturbing or any(
            since <= at <= to + 60 for since, to in self.faults.disturbed)

    def random_fault(self, steady):
        table = {name: weight for name, (weight, always) in Faults.TABLE.items()
                 if (always or not steady) and name not in self.without}
        name = self.random.choices(list(table), list(table.values()))[0]
        self.count("faults")
        self.count(f"fault {name}")
        self.do(name)

    def do(self, name):
        """One fault, or an upgrade."""
        self.event(name)
        self.faults.check_alive()
        began = time.time()
        try:
            getattr(self.faults, name)()
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            self.violation(f"{name}: {error}")
        self.faults.learn()
        self.faulty.append((began, time.time()))

    def random_act(self):
        name = self.random.choices(("scancel", "requeue", "suspend"), (2, 1, 2))[0]
        self.count(f"act {name}")
        getattr(self.faults, name)()

    def disturb(self, seconds, steady):
        """Jobs and faults for SECONDS."""
        end = time.monotonic() + seconds
        next_upgrade = time.monotonic() + min(UPGRADE_S, seconds / 3)
        next_fault = time.monotonic() + self.random.uniform(0, min(10, seconds / 4))
        while time.monotonic() < end:
            self.faults.check_alive()
            self.tend()
            self.submit()
            if self.random.random() < 0.15:
                self.random_act()
            if not steady and time.monotonic() >= next_upgrade:
                self.count("upgrades")
                self.do("upgrade")
                next_upgrade = time.monotonic() + UPGRADE_S
            if time.monotonic() >= next_fault:
                self.random_fault(steady)
                next_fault = time.monotonic() + self.random.uniform(2, 15)
            self.progress("steady" if steady else "storm")
            time.sleep(self.random.uniform(0.1, 1.5))

    def drain(self):
        """Wait for the end of all jobs."""
        end = time.monotonic() + DRAIN_S
        self.faults.check_alive()
        self.faults.start_all()
        self.faults.learn()
        while time.monotonic() < end:
            self.suspended = {job: 0 for job in self.suspended}
            self.tend()
            if self.jobs.queued() == {}:
                break
            if end - time.monotonic() < DRAIN_S - LOST_S:
                self.end_lost()
            self.progress(f"drain {self.jobs.queued()}")
            time.sleep(1)
        else:
            self.violation(f"jobs that do not end: {self.jobs.queued()}")
            self.c.run("scancel", *(j.number for j in self.jobs.known))

    def end_lost(self):
        """A killed slurmctld forgets that jobs have just ended.  Such a one has no
        process, and came to its end."""
        living = {node.job_of(pid) for pid in node.of_users(self.users)}
        for number, (state, _) in (self.jobs.queued() or {}).items():
            job = self.jobs.by_number().get(number)
            if job and state == "RUNNING" and number not in living and \
                    "\nend" in job.last_run() and not job.was("lost") and \
                    self.slurm_disturbed(os.path.getmtime(job.output)):
                self.count("ended, and forgotten by a killed slurmctld")
                self.event(f"lost {number}")
                job.done.append((time.time(), "lost"))
                self.c.run("scancel", number, timeout=ANSWER_S)

    def one_round(self, seconds):
        began = time.time()
        self.disturb(seconds * STORM, False)
        before = self.agent_size()
        self.disturb(seconds * (1 - STORM), True)
        self.drain()
        self.judge(began)
        self.check_quiet(before)
        self.faults.check_alive()

    # ---- judgement -------------------------------------------------------------

    def rows_of_ended(self):
        """The accounting, when it knows the end of all jobs."""
        rows = {}

        def known():
            nonlocal rows
            rows = self.jobs.accounted() or {}
            return all(job.is_over(rows.get(job.number)) for job in self.jobs.known)
        try:
            wait_for("ends in the accounting", known, 120, 2)
        except AssertionError:
            pass # judged by what it knows
        return rows

    def judge(self, began):
        rows = self.rows_of_ended()
        core_s = 0.0
        wait = time.monotonic() + RECORDS_S
        for job in self.jobs.known:
            self.count("jobs judged")
            row = rows.get(job.number)
            if not row:
                self.count("cancelled, not in the accounting")
                if not job.was("scancel"):
                    self.violation(f"job {job.number} is not in the accounting")
                continue
            state = row["state"].split()[0]
            self.states[state] += 1
            self.count("results verified", len(re.findall("^PASS", job.text(), re.M)))
            problem = job.problem(row["state"])
            if problem:
                self.violation(f"job {job.number} ({job.kind}, {job.done}): {problem}")
                self.keep(job)
            self.judge_retries(job)
            core_s += self.judge_record(job, row, wait)
        self.judge_finals(wait)
        if core_s > len(os.sched_getaffinity(0)) * (time.time() - began) + 1:
            self.violation(f"{core_s} core seconds in {time.time() - began:.0f} s")
        self.sum_core_s += core_s
        self.sum_elapsed_s += time.time() - began

    def judge_retries(self, job):
        for at in job.retries():
            self.count("steps tried again")
            if not self.slurm_disturbed(at):
                self.violation(f"job {job.number}: a step failed at {at} and no daemon "
                               "of Slurm had been disturbed")
                self.keep(job)

    def judge_admission(self, job, row):
        """Where nothing was disturbed while it began, a job does not do without the
        agent."""
        self.count("jobs that ran without the agent")
        if not job.began() or not row["start"].isdigit():
            return
        for since, to in self.faulty:
            if since <= job.began() + 1 and to + SETTLED_S >= int(row["start"]):
                return
        self.violation(f"job {job.number} ({job.kind}) ran without the agent from "
                       f"{row['start']} on, and nothing had been disturbed")
        self.keep(job)

    def judge_record(self, job, row, wait):
        """Wait for the record of JOB; its core seconds."""
        if not job.admitted():
            self.judge_admission(job, row)
            return 0.0
        late = False
        while "state=final" not in row["admincomment"]:
            if late:
                self.violation(f"job {job.number} ({job.kind}, {row['state']}, "
                               f"{job.done}): no final record: "
                               f"{row['admincomment'][:60]}")
                self.keep(job)
                return 0.0
            time.sleep(2)
            self.progress(f"record of {job.number} {row}")
            late = time.monotonic() > wait # and looked at once more
            row = (self.jobs.accounted() or {}).get(job.number, row)
        self.count("records")
        self.finals[job.number] = row["admincomment"]
        if row["start"] in (row["end"], "None", "Unknown"):
            self.count("cancelled after a requeue") # its last run never began
            return 0.0
        found = re.search(r" core_s=([\d.]+)", row["admincomment"])
        core_s = float(found[1]) if found else 0.0
        elapsed = int(row["end"]) - int(row["start"])  # it has a final record
        most = len(os.sched_getaffinity(0)) * (elapsed + 8)
        if core_s > most and not job.was("requeue"):
            self.violation(f"job {job.number}: {core_s} core seconds in {elapsed} s")
        return core_s

    def judge_finals(self, wait):
        """Records of earlier rounds, too, are what they were: slurmctld and slurmdbd
        have restarted since."""
        lost = set(self.finals)
        while lost:
            rows = self.jobs.accounted() or {}
            lost = {number for number, text in self.finals.items()
                    if rows.get(number, {}).get("admincomment") != text}
            if lost and time.monotonic() > wait:
                for number in sorted(lost):
                    self.violation(f"job {number}: its final record was "
                                   f"{self.finals.pop(number)}, and {rows.get(number)} "
                                   "now")
                return
            if lost:
                time.sleep(2)
                self.progress(f"final records of {sorted(lost)}")
        self.count("records looked at again", len(self.finals))

    def keep(self, job):
        folder = f"{self.options.out}/jobs"
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/{job.number}.out", "w", encoding="utf-8") as file:
            file.write(f"{job.kind} {job.user} {job.done}\n{job.text()}")

    def agent_size(self):
        """Descriptors and memory of agent and supervisor, and which build it is."""
        pid = self.faults.pid("coschedd-n1")
        superv = (self.faults.named("coschedd-superv") or [0])[0]
        return {"build": self.faults.version, "pid": pid,
                "fds": node.descriptors(pid), "rss_kb": node.resident_kb(pid),
                "supervisor_fds": sum(node.descriptors(superv).values()),
                "supervisor_rss_kb": node.resident_kb(superv)}

    def check_quiet(self, before):
        """Nothing is left of the jobs."""
        try:
            wait_for("end of the jobs' processes", lambda: not node.of_users(
                self.users), 30, 0.2)
        except AssertionError:
            left = [(pid, node.comm(pid)) for pid in node.of_users(self.users)]
            self.violation(f"processes left: {left}")
        try:
            wait_for("end of the agent's zombies", lambda: not self.faults.zombies(),
                     30, 0.2)
        except AssertionError:
            self.violation(f"zombies of the agent: {self.faults.zombies()}")
        for pid in node.pids():
            if node.stopped(pid):
                self.violation(f"{node.comm(pid)} {pid} is stopped, and nobody's")
        try:
            wait_for("an agent without jobs", lambda: not self.c.status(), 30, 0.5)
            if self.options.cgroup: # else they are another cluster's
                wait_for("removal of all cgroups", lambda: not node.job_cgroups(), 30,
                         0.5)
        except AssertionError as error:
            self.violation(f"{error}: {sorted(self.c.status())} "
                           f"{node.job_cgroups()[:5]}")
        health = self.c.run("coschedctl", "health", timeout=60)
        if health.returncode:
            self.violation(f"health: {health.stdout.strip()[:300]}")
        self.check_sizes(before)
        for line in self.c.log().splitlines():
            # Nothing that is done here may be more than a warning for it.
            if line.startswith("coschedd: error") and line not in self.errors:
                self.errors.add(line)
                self.violation(line)
        for name in os.listdir(f"{self.c.root}/log"):
            if name.startswith(("asan", "ubsan")):
                self.violation(f"sanitizer: {node.read(f'{self.c.root}/log/{name}')[:1500]}")
                os.rename(f"{self.c.root}/log/{name}", f"{self.c.root}/log/seen.{name}")
        for pattern in ("*.sh", "*.out"):
            for path in node.glob.glob(f"{self.c.output}/{pattern}"):
                os.unlink(path)
        self.jobs.known = []
        self.save()

    def check_sizes(self, before):
        """Of an agent without jobs, compared with the first one of the same build;
        of the steady part, with itself."""
        now = self.agent_size()
        now["minute"] = round((time.monotonic() - self.began) / 60, 1)
        now["fd_count"] = sum(now["fds"].values())
        earlier = [q for q in self.quiet if q["build"] == now["build"]]
        if earlier and now["fd_count"] > earlier[0]["fd_count"] + 2:
            self.violation(f"{now['fd_count']} descriptors without jobs, "
                           f"{earlier[0]['fd_count']} at first: {now['fds']}")
        if earlier and now["rss_kb"] > earlier[0]["rss_kb"] * 1.3 + 8192:
            self.violation(f"{now['rss_kb']} KB without jobs, "
                           f"{earlier[0]['rss_kb']} at first")
        if now["supervisor_fds"] > 8:
            self.violation(f"supervisor: {now['supervisor_fds']} descriptors")
        if before["pid"] == now["pid"] and \
                now["rss_kb"] > before["rss_kb"] * 1.5 + 16384:
            self.violation(f"{now['rss_kb']} KB, {before['rss_kb']} before the "
                           "steady part")
        self.quiet.append(now)

    # ---- the end ------------------------------------------------------------------

    def log_lines(self):
        """Warnings and errors of the agent, counted without their numbers."""
        found = collections.Counter()
        for line in self.c.log().splitlines():
            if re.search("error|warn", line):
                found[re.sub(r"\d+", "N", line)[:160]] += 1
        return dict(found.most_common(40))

    def summary(self):
        seconds = time.monotonic() - self.began
        return {"seed": self.options.seed, "seconds": round(seconds),
                "builds": len(self.agents), "cgroup": self.options.cgroup,
                "counts": dict(sorted(self.counts.items())),
                "states": dict(self.states),
                "processes watched": self.watch.samples,
                "stops seen": self.watch.stops,
                "core_s": round(self.sum_core_s),
                "node_core_s": round(self.sum_elapsed_s *
                                     len(os.sched_getaffinity(0))),
                "log_bytes": len(self.c.log()), "log": self.log_lines(),
                "quiet": self.quiet, "violations": self.violations}

    def save(self):
        with open(f"{self.options.out}/summary.json", "w", encoding="utf-8") as file:
            json.dump(self.summary(), file, indent=1)
            file.write("\n")
        if self.violations:
            shutil.copytree(f"{self.c.root}/log", f"{self.options.out}/log",
                            dirs_exist_ok=True)

    def configure(self):
        """Slurm runs no epilog for a job that ends just before slurmd is killed: the
        agent is to miss it within the time of a round.  And slurmctld is to forget
        jobs within that time."""
        path = f"{self.c.root}/etc/extra.conf"
        text = node.read(path).replace("cosched_policy=corun",
                                       "cosched_policy=corun,cosched_forget=60s")
        text += "MinJobAge=60\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.c.call("scontrol", "reconfigure")

    def run(self):
        self.configure()
        self.watch.start()
        while time.monotonic() < self.end:
            self.one_round(min(self.options.round * 60,
                               max(30.0, self.end - time.monotonic())))
        self.save()


def main():
    options = parse()
    if options.hours + options.minutes <= 0:
        options.minutes = 1
    if not namespaces.inside():
        return enter(options)
    parent = namespaces.settle(USERS, options.cgroup)
    print(f"soak: seed {options.seed}, summary in {options.out}/summary.json",
          flush=True)
    with Cluster(cgroup=options.cgroup, parent=parent) as cluster:
        soak = Soak(options, cluster)
        try:
            soak.run()
        except BaseException as error:
            soak.violation(f"the soak itself: {error!r}")
            soak.save()
            raise
        print(json.dumps({key: value for key, value in soak.summary().items()
                          if key not in ("quiet", "log")}), flush=True)
    return 1 if soak.violations else 0


if __name__ == "__main__":
    sys.exit(main())
