#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Mixes of OpenMP jobs under Slurm, in turn, shared by the kernel, co-scheduled, in several rounds.

Run by ./demo on a cluster that slurm_conf/testcluster/cluster started.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True      # leave the source tree as it is
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../../plot"),
                os.path.join(HERE, "../../coschedeval")]

import charts           # noqa: E402
import coretrace        # noqa: E402
import progress         # noqa: E402
import rounds           # noqa: E402
import slurmrows        # noqa: E402
import svgchart         # noqa: E402
import turnaround       # noqa: E402

MIXES = (("lu", "mg"),              # spins for its neighbours, beside one bound by memory
         ("streamcluster", "ep"),   # has serial phases
         ("bt", "ep"))              # both compute on all cores: nothing is to be gained
MODES = {   # what sbatch is told, what the job's environment has beside
    "batch": (["--exclusive"], {}),
    "native": (["--partition=native", "--exclusive"], {}),
    "passive": (["--partition=native", "--exclusive"],
                {"OMP_WAIT_POLICY": "passive"}),
    "coschedule": (["--coschedule"], {}),
}
ROUNDS = 3
SIZES = "BAWS"      # the largest first
RUN_LIMIT = 150     # seconds after which a mix that hangs is cancelled
SUMMARY_LIMIT = 20  # seconds to wait for the agent's last words on the jobs


class DemoError(Exception):
    """What the user must know to set things right."""


def capture(command, env=None, **more):
    """The standard output of COMMAND, which must succeed."""
    try:
        done = subprocess.run(command, env=env, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              **more)
    except OSError as error:
        raise DemoError(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        reason = (done.stderr or done.stdout).strip() or \
            f"exit status {done.returncode}"
        raise DemoError(f"{' '.join(command)}: {reason}")
    return done.stdout


class Step:
    """A line for each step when it is over: what came of it."""

    progress = progress.Progress("demo", stream=sys.stdout)

    def __init__(self, what):
        self.what = what
        self.progress.show(what)

    def done(self, result):
        self.progress.done += 1
        self.progress.clear()
        print(f"demo: {self.what:36} {result}", flush=True)


class Cluster:
    """The Slurm cluster whose files are below DIRECTORY."""

    def __init__(self, directory, build):
        env_file = os.path.join(directory, "env.sh")
        if not os.path.exists(env_file):
            raise DemoError(f"--cluster {directory}: no cluster: "
                            "env.sh is missing")
        lines = capture(["bash", "-c", '. "$1" && env -0', "-", env_file])
        self.env = dict(entry.split("=", 1) for entry in lines.split("\0")
                        if "=" in entry)
        # The jobs decide about threads and waiting themselves.
        for name in [n for n in self.env if n.startswith(("OMP_", "GOMP_"))]:
            del self.env[name]
        self.env["COSCHED_JOBS_DIR"] = os.path.join(build, "jobs")
        self.build = build

    def call(self, *command):
        return capture(list(command), self.env)

    def submit(self, arguments, more_env, script):
        """Submit SCRIPT (a list, with its arguments); returns the job's id."""
        out = capture(["sbatch", "--parsable", *arguments, *script],
                      {**self.env, **more_env})
        return out.strip().split(";")[0]

    def queued(self, jobids):
        """Those of JOBIDS that Slurm has not yet ended, cleaned up included."""
        out = self.call("squeue", "--noheader", "--format=%A")
        return [j for j in out.split() if j in jobids]

    def accounting(self, jobids):
        """jobid -> (state, whole seconds from submission to end, comment)."""
        rows = {}
        for row in slurmrows.sacct(
                ("jobid", "state", "submit", "end", "admincomment"), "-X", "-j",
                ",".join(jobids), env=self.env):
            submitted, ended = (slurmrows.count(row[k]) for k in ("submit", "end"))
            took = None if None in (submitted, ended) else ended - submitted
            rows[row["jobid"]] = (row["state"], took, row["admincomment"])
        return rows


def wait_for(condition, seconds, every=0.1):
    """Wait until CONDITION() is true; False when SECONDS have passed."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(every)
    return True


def read_output(path):
    """A job's output: (started, finished, verified, all other lines)."""
    started = finished = 0.0
    verified, notes = False, []
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        lines = []
    for line in lines:
        stamp = re.fullmatch(r"(started|finished) (\d+\.\d+)", line)
        if stamp and stamp[1] == "started":
            started = float(stamp[2])
        elif stamp:
            finished = float(stamp[2])
        elif re.match(r"PASS \S+ class=", line):
            verified = True
        else:
            notes.append(line)
    return started, finished, verified, notes


def choose_repeat(once, wanted):
    """How often to compute what takes ONCE seconds to take about WANTED."""
    return max(1, round(wanted / once))


def calibrate(cluster, wanted):
    """program -> arguments with which it takes WANTED seconds alone."""
    step = Step("sizes of the jobs")
    chosen, texts = {}, []
    for program in dict.fromkeys(p for mix in MIXES for p in mix):
        for size in SIZES[1:]:
            out = cluster.call(os.path.join(cluster.build, "jobs", program), "--class", size,
                               "--json")
            once = json.loads(out)["time_s"]
            if once < 0.7 * wanted:
                break
        repeat = choose_repeat(once, wanted)
        chosen[program] = ["--class", size, "--repeat", str(repeat)]
        texts.append(f"{program} {size} x {repeat}")
    step.done(", ".join(texts))
    return chosen


class Demo:
    def __init__(self, cluster, output, arguments):
        self.cluster, self.output, self.arguments = cluster, output, arguments
        self.logs = os.path.join(output, "jobs")
        self.runs, self.notes, self.traces = [], [], {}
        os.makedirs(self.logs, exist_ok=True)

    def start(self, mix, mode, runs, number):
        """Submit the jobs of MIX and add them to RUNS, of round NUMBER."""
        options, env = MODES[mode]
        for job in mix:
            script = [os.path.join(self.cluster.build, "jobs", "job.sh"), job,
                      *self.arguments[job]]
            run = turnaround.Run(" + ".join(mix), mode, job, time.time(), round=number)
            run.jobid = self.cluster.submit(
                [*options, f"--job-name={job}", f"--output={self.logs}/%x-%j.out"], env, script)
            runs.append(run)

    def log(self, run):
        return os.path.join(self.logs, f"{run.job}-{run.jobid}.out")

    def finish(self, runs):
        """Read what the jobs printed, and what Slurm recorded."""
        recorded = self.cluster.accounting([r.jobid for r in runs])
        for r in runs:
            state, r.recorded_s, _ = \
                recorded.get(r.jobid, ("UNKNOWN", None, ""))
            r.started, r.finished, passed, notes = read_output(self.log(r))
            r.verified = passed and state == "COMPLETED"
            where = f"{r.mix}, {r.mode}, {r.job} (job {r.jobid})"
            self.notes += [f"{where}: {line}" for line in notes]
            if state != "COMPLETED":
                self.notes.append(f"{where}: state {state}")

    def recorded(self, jobids):
        """Has the accounting the end of all of JOBIDS?"""
        rows = self.cluster.accounting(jobids)
        return all(j in rows and rows[j][1] is not None for j in jobids)

    def run(self, mix, mode, number):
        step = Step(f"{number}. {' + '.join(mix)}, {mode}")
        runs = []

        def ended():
            return not self.cluster.queued([r.jobid for r in runs])

        try:
            self.start(mix, mode, runs, number)
            if not wait_for(ended, RUN_LIMIT, 0.25):
                self.notes.append(f"{runs[0].mix}, {mode}: cancelled after "
                                  f"{RUN_LIMIT} s")
        finally:
            self.runs += runs
            if runs and not ended():
                self.cluster.call("scancel", *(r.jobid for r in runs))
                wait_for(ended, 30)
        jobids = [r.jobid for r in runs]
        # The end reaches the database a moment after the queue.
        wait_for(lambda: self.recorded(jobids), 15)
        self.finish(runs)
        if mode == "coschedule":
            self.save_trace(mix, runs)
        step.done(
            ", ".join(f"{r.job} {r.turnaround:.1f} s" if r.finished
                      else f"{r.job} did not finish" for r in runs) +
            ("" if all(r.verified for r in runs) else ", WRONG"))

    def save_trace(self, mix, runs):
        path = os.path.join(self.output, f"{'-'.join(mix)}.trace.json")
        try:
            self.cluster.call(os.path.join(self.cluster.build, "coschedctl"),
                              "trace", "-o", path)
            segments = coretrace.read(path)
        except (DemoError, slurmrows.CommandError, coretrace.TraceError) as error:
            self.notes.append(f"{runs[0].mix}: no trace: {error}")
            return
        self.traces[runs[0].mix] = coretrace.select(
            segments, [r.jobid for r in runs])

    def summaries(self):
        """Note what the agent wrote into the records of the last round's co-scheduled
        jobs, which it does some seconds after their end."""
        ours = [r for r in self.runs if r.mode == "coschedule" and
                r.round == self.runs[-1].round]
        if not ours:
            return
        comments = {}

        def final():
            rows = self.cluster.accounting([r.jobid for r in ours])
            comments.update((j, row[2]) for j, row in rows.items())
            return all("state=final" in comments.get(r.jobid, "")
                       for r in ours)

        step = Step("records of the jobs")
        step.done("ok" if wait_for(final, SUMMARY_LIMIT, 0.5)
                      else f"not complete after {SUMMARY_LIMIT} s")
        for r in ours:
            where = f"{r.mix}, {r.job} (job {r.jobid})"
            comment = comments.get(r.jobid) or "no summary in its record"
            self.notes.append(f"{where}: {comment}")
            if "attached=0" in comment.split():
                self.notes.append(f"{where}: ran without the cooperative "
                                  "OpenMP library")

    def records(self):
        return rounds.records(self.runs, [s for mix in self.traces.values() for s in mix])

    def draw(self):
        """Write the picture; returns its path."""
        path = os.path.join(self.output, "cores.svg")
        svgchart.write(path, svgchart.document(charts.of(self.records())))
        return path

    def report(self):
        print()
        print(rounds.table(self.runs))
        print()
        print("Medians of the rounds. turnaround: submission to end.  NTT: first start to last\n"
              "end, relative to native.  norm. turnaround: total turnaround, relative to native.\n"
              "Hmean: harmonic mean of the speedups relative to having the node alone without\n"
              "waiting.  ±: half of the 95 % interval.")
        if self.notes:
            print("\n" + "\n".join(self.notes))
        print()
        for mix in dict.fromkeys(r.mix for r in self.runs):
            print(rounds.verdict(self.runs, mix))


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="demo.py", description=__doc__)
    parser.add_argument("--cluster", required=True, metavar="DIR",
                        help="directory of the cluster, with env.sh")
    parser.add_argument("--build", required=True, metavar="DIR",
                        help="build tree")
    parser.add_argument("--output", default="demo-output", metavar="DIR",
                        help="for pictures, traces and the jobs' output")
    parser.add_argument("--json", metavar="FILE", help="results as JSON")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N",
                        help="times to run each mix in each mode (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2, metavar="S",
                        help="run time of a job alone (default: %(default)s)")
    parser.add_argument("--modes", default=",".join(MODES), metavar="LIST",
                        help="some of %(default)s")
    arguments = parser.parse_args(argv)
    arguments.modes = arguments.modes.split(",")
    for mode in arguments.modes:
        if mode not in MODES:
            parser.error(f"--modes: {mode} is not one of {', '.join(MODES)}")
    if not 1 <= arguments.rounds <= 100:
        parser.error(f"--rounds: {arguments.rounds} is not between 1 and 100")
    if not 0 < arguments.seconds <= 60:
        parser.error(f"--seconds: {arguments.seconds:g} is not above 0 and at "
                     "most 60")
    return arguments


def save_results(path, records):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(records, file, indent=1)
        file.write("\n")


def main(argv):
    arguments = parse_arguments(argv)
    output = os.path.abspath(arguments.output)
    demo = None
    try:
        cluster = Cluster(os.path.abspath(arguments.cluster),
                          os.path.abspath(arguments.build))
        Step.progress.total = 2 + arguments.rounds * len(MIXES) * len(arguments.modes)
        demo = Demo(cluster, output, calibrate(cluster, arguments.seconds))
        for number in range(1, arguments.rounds + 1):
            for mix in MIXES:
                for mode in random.sample(arguments.modes, len(arguments.modes)):
                    demo.run(mix, mode, number)
        demo.summaries()
        picture = demo.draw()
        if arguments.json:
            save_results(arguments.json, demo.records())
    except (DemoError, slurmrows.CommandError, OSError) as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        if demo and demo.runs:
            demo.report()
        return 2
    demo.report()
    print(f"\npicture: {picture}\ntraces:  {output}/*.trace.json (open them in "
          "a viewer for Chrome traces)")
    traced = "coschedule" not in arguments.modes or \
        len(demo.traces) == len(MIXES)
    return 0 if traced and all(r.verified for r in demo.runs) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
