# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The jobs of the soak (soak.py): what each runs, how it verifies itself, what was
done to it, and whether it ended as it had to."""

import os
import re

# run: a program of the job's own must succeed.  step: srun may fail where a daemon of
# Slurm has just been killed; then the step is tried again, which is counted.  What went
# wrong says when.
HEAD = """#!/bin/bash
#SBATCH --coschedule --open-mode=append --requeue
echo "begin restarts=${{SLURM_RESTART_COUNT-0}} cosched=${{COSCHED_JOB-none}}" \
    "at=$EPOCHSECONDS"
jobs={jobs}
run() {{ "$@" || {{ echo "BAD $? at=$EPOCHSECONDS from $*"; exit 1; }}; }}
step() {{
    local try out
    for try in 1 2 3 4 5 6 7 8; do
        out=$(srun "$@" 2>&1) && {{ echo "$out"; return; }}
        echo "RETRY at=$EPOCHSECONDS: $out"
        case $out in *FAIL*|*WRONG*) break ;; esac
        sleep 2
    done
    echo "BAD step at=$EPOCHSECONDS: $*"
    exit 1
}}
"""
TAIL = "echo end\n"

ANSWER_S = 300 # a machine with a load of hundreds keeps sbatch from running for a minute

ENDED = re.compile("COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF")

# Processes that come, go and change session, with a result that only all of them give.
TREE = r"""
import os, sys
def part(n):
    r, w = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(w, b"%d" % sum(i * i % 7 for i in range(n * 20000)))
        os._exit(0)
    os.close(w)
    return r
for turn in range(int(sys.argv[1])):
    pipes = [part(n) for n in range(1, 7)]
    got = [int(os.read(r, 64)) for r in pipes]
    want = [sum(i * i % 7 for i in range(n * 20000)) for n in range(1, 7)]
    for r in pipes: os.close(r)
    while True:
        try: os.wait()
        except ChildProcessError: break
    if got != want:
        print("WRONG", got, want); sys.exit(1)
print("PASS tree")
"""

# kind: (weight, least number of PASS lines, body, options)
KINDS = {
    "ep": (4, 1, "run $jobs/ep --class S --min-time {s}\n", ()),
    "cg": (4, 1, "run $jobs/cg --class S --min-time {s}\n", ()),
    "stream": (2, 1, "run $jobs/stream --class S --min-time {s}\n", ()),
    "pinned": (3, 1, "run $jobs/pinned --class S --min-time {s}\n", ()),
    "pair": (2, 2, "$jobs/ep --class S --min-time {s} & first=$!\n"
                   "run $jobs/pinned --class S --min-time {s}\n"
                   "run wait $first\n", ()),
    "steps": (3, 2, "step -n1 $jobs/cg --class S --min-time {s}\n"
                    "step -n1 $jobs/pinned --class S --min-time 1\n", ()),
    "ranks": (3, 2, "step -n2 --overcommit $jobs/ep --class S --min-time {s}\n", ()),
    "overlap": (2, 2, "(step --overlap -n1 $jobs/ep --class S --min-time {s}) & "
                      "first=$!\n"
                      "(step --overlap -n1 $jobs/pinned --class S --min-time 1) || "
                      "exit 1\nrun wait $first\n", ()),
    "tree": (3, 1, "run python3 {tree} {s}\n", ()),
    "array": (2, 1, "run $jobs/ep --class S --min-time 1\n", ("--array=0-2",)),
    "short": (4, 0, "run true\n", ()),
    "fails": (2, 1, "run $jobs/ep --class S\necho end\nexit 3\n", ()),
    "spins": (1, 0, "timeout {s} {standin} ranks 3; timeout 1 {standin} pool 3\n", ()),
}


class Soaked:
    """One job, or one element of an array."""

    def __init__(self, number, kind, user, output):
        self.number = number  # as sacct calls it: 12 or 12_1
        self.kind = kind
        self.user = user
        self.output = output
        self.done = []  # (time, what was done to it)
        self.raw = None

    def was(self, what):
        return any(name == what for _, name in self.done)

    def is_over(self, row):
        """The accounting has the end of its last run in ROW, or None: no row.  That of one that was
        cancelled before it began may have none; after a requeue there is the run before, until
        slurmctld tells of the last one."""
        return bool(ENDED.match(row["state"])) if row else self.was("scancel")

    def text(self):
        try:
            with open(self.output, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def last_run(self):
        return self.text().rpartition("begin ")[2]

    def admitted(self):
        """Whether its last run is one that the agent knew."""
        return re.search(r"cosched=\d", self.last_run()) is not None

    def began(self):
        """When the script of its last run began; None if it has not."""
        found = re.search(r" at=(\d+)", self.last_run())
        return int(found[1]) if found else None

    def lines(self):
        """(when, line) of all that went wrong, but for what programs and steps of a run
        say that is being ended.  Wrong results have no time: nothing excuses them."""
        began, found = 0, []
        for line in self.text().splitlines():
            word = re.match(r"(begin|BAD|RETRY|FAIL|WRONG)\b", line)
            at = re.search(r" at=(\d+)", line) if word else None
            if not word:
                continue
            if word[1] == "begin":
                began = int(at[1])
            elif not at or not any(began <= end < int(at[1]) + 1 for end, name in
                                   self.done if name in ("scancel", "requeue")):
                found.append((int(at[1]) if at else 0, line))
        return found

    def retries(self):
        """When steps failed that were tried again."""
        return [at for at, line in self.lines() if line.startswith("RETRY")]

    def bad(self):
        """What else went wrong."""
        return next((line for _, line in self.lines() if not line.startswith("RETRY")),
                    None)

    def problem(self, state):
        """What is wrong with it in STATE, or None."""
        text = self.last_run()
        cancelled = self.was("scancel")
        if self.bad():
            return self.bad()
        if cancelled and state.startswith("CANCELLED"):
            return None
        want = "CANCELLED" if self.was("lost") else \
            "FAILED" if self.kind == "fails" else "COMPLETED"
        if not state.startswith(want):
            return f"is {state}, not {want}"
        if "\nend" not in text:
            return "has not come to its end"
        passed = len(re.findall(r"^PASS", text, re.M))
        if passed < KINDS[self.kind][1]:
            return f"{passed} of {KINDS[self.kind][1]} results verified"
        return None


class Jobs:
    """Makes jobs by chance, and keeps them until they have been judged."""

    def __init__(self, cluster, random, users):
        self.c, self.random, self.users = cluster, random, users
        self.known = []  # of this round
        self.count = 0
        self.tree = os.path.join(cluster.output, "tree.py")
        with open(self.tree, "w", encoding="ascii") as file:
            file.write(TREE)

    def submit(self):
        """One job; the error of sbatch, if it failed."""
        kind = self.random.choices(list(KINDS), [k[0] for k in KINDS.values()])[0]
        _, _, body, options = KINDS[kind]
        user = self.random.choice(self.users)
        script = os.path.join(self.c.output, f"{self.count}.sh")
        self.count += 1
        with open(script, "w", encoding="ascii") as file:
            file.write((HEAD + body + TAIL).format(
                jobs=self.c.jobs, tree=self.tree, standin=f"{self.c.jobs}/standin",
                s=self.random.randint(1, 6)))
        output = f"{self.c.output}/%A_%a.out" if options else f"{self.c.output}/%j.out"
        done = self.c.run("sbatch", "--parsable", "--mem=50", "--time=30", "-J", kind,
                          "-o", output, *options, script, timeout=ANSWER_S,
                          user=user, group=user, extra_groups=[])
        if done.returncode:
            return done.stderr.strip()
        number = done.stdout.strip().split(";")[0]
        for name in [f"{number}_{i}" for i in range(3)] if options else [number]:
            self.known.append(Soaked(name, kind, user, f"{self.c.output}/{name}.out"))
        return None

    def by_number(self):
        return {job.number: job for job in self.known}

    def queued(self):
        """{number: (state, reason)} of those in the queue; None: no answer."""
        done = self.c.run("squeue", "-h", "-r", "-o", "%F|%K|%T|%r", timeout=ANSWER_S)
        if done.returncode:
            return None
        found = {}
        for line in done.stdout.splitlines():
            job, element, state, reason = line.split("|")[:4]
            found[job if element == "N/A" else f"{job}_{element}"] = (state, reason)
        return found

    def accounted(self):
        """{number: row} of the accounting; None: no answer."""
        # Slurm's own elapsed time is wrong for jobs that were suspended at times.
        fields = ("jobid", "jobidraw", "state", "exitcode", "start", "end",
                  "admincomment")
        done = self.c.run("sacct", "-a", "-X", "-n", "-P", "-S", "now-1day", "-o",
                          ",".join(fields), timeout=120)
        if done.returncode:
            return None
        rows = {}
        for line in done.stdout.splitlines():
            row = dict(zip(fields, line.split("|")))
            rows[row["jobid"]] = row
        return rows
