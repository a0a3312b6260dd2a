# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the soak (soak.py) does to daemons and jobs, by chance."""

import concurrent.futures
import contextlib
import os
import re
import signal
import subprocess
import time

import soak_node as node
from soak_jobs import ANSWER_S
from coschedcluster import SCRIPT
from coschedtest import wait_for

DAEMONS = ("coschedd-n1", "slurmd-n1", "slurmctld", "slurmdbd", "munged")
# A killed agent's jobs run on within this time.
UNDONE_S = 20


class Faults:
    """Each method is one fault, and returns when it is over."""

    # name: (weight, also while the agent is to stay the same)
    TABLE = {
        "agent_killed": (4, False), "agent_hangs": (3, True),
        "agent_and_supervisor_killed": (2, False), "supervisor_killed": (2, True),
        "slurm_helper_killed": (3, True), "likwid_helper_killed": (1, True),
        "slurmd_killed": (2, True), "slurmctld_killed": (1, True),
        "slurmctld_restarted": (1, True), "slurmdbd_restarted": (1, True),
        "munged_restarted": (2, True), "munged_hangs": (2, True),
        "socket_removed": (1, True),
    }

    def __init__(self, soak):
        self.soak, self.c, self.random = soak, soak.c, soak.random
        self.version = 0
        self.everything = os.sched_getaffinity(0)
        self.disturbed = []  # (from, to) in which Slurm itself was disturbed
        self.disturbing = False  # now
        self.expected = {}  # daemon: its pid, until a fault ends it
        self.learn()
        # libslurm 22.05 loses a little with each job that it is asked for.
        suppressions = f"{self.c.root}/etc/lsan"
        with open(suppressions, "w", encoding="ascii") as file:
            file.write("leak:libslurm\n")
        self.env = {**self.c.env, "ASAN_OPTIONS": "quarantine_size_mb=4:log_path="
                    f"{self.c.root}/log/asan", "UBSAN_OPTIONS": "print_stacktrace=1:"
                    f"halt_on_error=1:log_path={self.c.root}/log/ubsan",
                    "LSAN_OPTIONS": f"suppressions={suppressions}:print_suppressions=0"}

    # ---- daemons -----------------------------------------------------------

    def pid(self, name):
        text = node.read(f"{self.c.root}/run/{name}.pid").strip()
        return int(text) if text and node.stat(int(text)) else 0

    def named(self, name):
        return [pid for pid in node.pids() if node.comm(pid) == name
                and (node.stat(pid) or ["Z"])[0] != "Z"]

    def learn(self):
        """Who runs now, and is to run until a fault."""
        self.expected = {name: self.pid(name) for name in DAEMONS if self.pid(name)}

    def check_alive(self):
        """No daemon has ended by itself."""
        for name, pid in list(self.expected.items()):
            if self.pid(name) != pid or node.stat(pid)[:1] == ["Z"]:
                del self.expected[name]
                self.soak.violation(f"{name} (process {pid}) has ended by itself: "
                                    f"{self.last_words(name)}")
                self.start_all()

    def last_words(self, name):
        return node.read(f"{self.c.root}/log/{name}.log")[-800:]

    def zombies(self):
        """Children of the agent that it has not reaped."""
        agent = str(self.pid("coschedd-n1"))
        return [(pid, node.comm(pid)) for pid in node.pids()
                if node.stat(pid)[:2] == ["Z", agent]]

    def kill(self, pid, number=signal.SIGKILL):
        if number != signal.SIGSTOP:
            self.expected = {n: p for n, p in self.expected.items() if p != pid}
        try:
            os.kill(pid, number)
        except (ProcessLookupError, TypeError):
            return
        if number != signal.SIGSTOP:
            wait_for(f"end of {pid}", lambda: (node.stat(pid) or ["Z"])[0] in "ZX")

    def kill_all(self, name):
        for pid in self.named(name):
            self.kill(pid)

    def script(self, *arguments):
        """The cluster's script; it must succeed.  Slurm may drain the node that it
        waits for, more than once."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            script = pool.submit(self.c.run, SCRIPT, *arguments, timeout=300)
            while concurrent.futures.wait([script], 10).not_done:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.soak.tend_nodes()
        done = script.result()
        if done.returncode:
            self.soak.violation(f"cluster {arguments[0]}: {done.stderr[-300:]}")

    def start_agent(self):
        env, self.c.env = self.c.env, self.env
        try:
            self.script("agent", self.c.root, "start", "n1")
        finally:
            self.c.env = env

    def start_all(self):
        """All that does not run."""
        self.start_agent()
        self.script("start", self.c.root)

    def use_version(self, number):
        """Which build of the agent starts from now on."""
        self.version = number % len(self.soak.agents)
        path = f"{self.c.root}/etc/cluster"
        folder = self.soak.agents[self.version]
        text = node.read(path)
        text = re.sub(r"^agent=.*", f"agent={folder}/coschedd", text, flags=re.M)
        text = re.sub(r"^helper=.*", f"helper={folder}/coschedd-slurm", text, flags=re.M)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    # ---- what the agent leaves ----------------------------------------------

    def left(self):
        """What an agent that has gone left undone."""
        bad = []
        for pid in node.of_users(self.soak.users):
            name, job = node.comm(pid), node.job_of(pid)
            if self.soak.is_suspended(job):
                continue
            if node.stopped(pid):
                bad.append(f"{name} {pid} of job {job} is stopped")
            elif name in ("ep", "cg", "stream", "pinned", "python3") and \
                    "SLURM_STEP_ID=" not in node.read(f"/proc/{pid}/environ") and \
                    (narrow := node.narrowed(node.affinities(pid), self.everything,
                                             node.follows(pid))):
                bad.append(f"{name} {pid} of job {job} is narrowed to {narrow[0]}")
        for path, _ in node.job_cgroups() if self.soak.options.cgroup else ():
            if "cosched" in path and node.read(f"{path}/cgroup.procs"):
                bad.append(f"processes in {path}")
        return bad

    def check_undone(self, what):
        end = time.monotonic() + UNDONE_S
        while self.left():
            if time.monotonic() > end:
                for line in self.left():
                    self.soak.violation(f"{UNDONE_S} s after {what}: {line}")
                return
            time.sleep(0.2)
        self.soak.count("undone checks")

    # ---- faults ------------------------------------------------------------

    def upgrade(self):
        self.expected.pop("coschedd-n1", None)
        self.script("agent", self.c.root, "stop", "n1")
        self.check_undone("the agent's stop")
        self.use_version(self.version + 1)
        self.start_agent()

    def agent_killed(self):
        supervised = bool(self.named("coschedd-superv"))
        self.kill(self.pid("coschedd-n1"))
        if supervised:
            self.check_undone("the agent was killed")
        self.start_agent()

    def agent_and_supervisor_killed(self):
        pid = self.pid("coschedd-n1")
        self.kill(pid, signal.SIGSTOP)
        self.kill_all("coschedd-superv")
        self.kill(pid)
        self.start_agent()

    def agent_hangs(self):
        pid = self.pid("coschedd-n1")
        if pid:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.random.uniform(0.5, 4))
            os.kill(pid, signal.SIGCONT)

    def supervisor_killed(self):
        self.kill_all("coschedd-superv")

    def slurm_helper_killed(self):
        self.kill_all("coschedd-slurm")

    def likwid_helper_killed(self):
        self.kill_all("coschedd-likwid")

    def slurm_disturbed(self, disturb):
        began = time.time()
        self.disturbing = True
        try:
            disturb()
            self.start_all()
        finally:
            self.disturbing = False
        self.disturbed.append((began - 10, time.time() + 30))

    def slurmd_killed(self):
        began = time.monotonic()
        self.slurm_disturbed(lambda: self.kill(self.pid("slurmd-n1")))
        # It may have told only some of the steps to go on.
        for job, when in self.soak.resumed.items():
            if when > began - 20 and self.c.run("scontrol", "suspend", job,
                                                timeout=60).returncode == 0:
                self.soak.suspended[job] = time.monotonic() + 5
                self.soak.event(f"suspended {job}, to be resumed once more")

    def slurmctld_killed(self):
        # It keeps what it knows every few seconds.
        time.sleep(7)
        self.slurm_disturbed(lambda: self.kill(self.pid("slurmctld")))

    def slurmctld_restarted(self):
        self.slurm_disturbed(lambda: self.kill(self.pid("slurmctld"), signal.SIGTERM))

    def slurmdbd_restarted(self):
        def disturb():
            self.kill(self.pid("slurmdbd"), signal.SIGTERM)
            time.sleep(self.random.uniform(0, 10))
        self.slurm_disturbed(disturb)

    def munged_restarted(self):
        self.slurm_disturbed(lambda: self.kill(self.pid("munged"), signal.SIGTERM))

    def munged_hangs(self):
        pid = self.pid("munged")

        def disturb():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.random.uniform(0.5, 5))
            os.kill(pid, signal.SIGCONT)
        self.slurm_disturbed(disturb)

    def socket_removed(self):
        os.unlink(f"{self.c.root}/run/coschedd-n1.sock")
        wait_for("a new socket", lambda: os.path.exists(
            f"{self.c.root}/run/coschedd-n1.sock"), 30, 0.1)

    # ---- jobs --------------------------------------------------------------

    def choose(self, state):
        queued = self.soak.jobs.queued() or {}
        known = self.soak.jobs.by_number()
        found = [known[n] for n, (s, _) in queued.items() if s == state and n in known]
        return self.random.choice(found) if found else None

    def scancel(self):
        job = self.choose(self.random.choice(["RUNNING", "RUNNING", "PENDING"]))
        if job:
            job.done.append((time.time(), "scancel"))
            self.soak.event(f"scancel {job.number}")
            self.c.run("scancel", job.number, timeout=ANSWER_S)

    def requeue(self):
        job = self.choose("RUNNING")
        if job and self.c.run("scontrol", "requeue", job.number,
                              timeout=60).returncode == 0:
            job.done.append((time.time(), "requeue"))
            self.soak.event(f"requeue {job.number}")

    def suspend(self):
        job = self.choose("RUNNING")
        if not job or self.soak.is_suspended(job.number):
            return
        self.soak.suspended[job.number] = time.monotonic() + self.random.uniform(1, 8)
        if self.c.run("scontrol", "suspend", job.number, timeout=ANSWER_S).returncode == 0:
            job.done.append((time.time(), "suspend"))
            self.soak.event(f"suspended {job.number}")
