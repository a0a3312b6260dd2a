# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Jobs for the agent's tests, announced by the test itself."""

import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import (Agent, BUILD, allowed_cpus, cpu_list, need,  # noqa: E402,F401
                         skip, threads, wait_for)

FAKE_JOB = os.path.join(BUILD, "tests", "node_agent", "daemon", "fake_job")


# Python that starts so many threads, each of which uses all of a CPU that it gets:
# OpenSSL lets go of the interpreter's lock.  What uses several cores must be seen
# to do so on a machine with other work, too: that takes a high priority, or, for
# who may not have that, more than two.
BURN = """
import hashlib, os, sys, threading
def burn(threads=3):
    try:
        os.nice(-15)
    except PermissionError:
        pass
    for _ in range(threads):
        threading.Thread(target=hashlib.pbkdf2_hmac, daemon=True, args=(
            "sha256", b"", b"", 2**31 - 1)).start()
"""


BATCH = 0xfffffffb # the step of batch scripts


def announce(agent, job, uid=None, options="", cores=None, restarts=0, step=None):
    """Announce a job that has all cores of the node unless CORES says else, by STEP
    if that is given."""
    return agent.call({
        **({} if step is None else {"r": 2, "step": step}),
        "op": "announce", "job": job, "uid": os.getuid() if uid is None else uid,
        "name": f"job-{job}", "memory_mb": 0, "options": options,
        "cores": cores or f"0-{os.cpu_count() - 1}", "restarts": restarts})


def state_of(pid):
    """State letter of process PID."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0]


# Slurm's tasks begin when the agent knows them: a line on standard input.
GATE = ["sh", "-c", 'read go; exec "$0" "$@" </dev/null']


class Program:
    """A program that is the task of an announced job.  It begins when the agent has heard
    of it; with READY the agent hears of it once READY(pid) is true."""

    def __init__(self, agent, job, command, announced=None, ready=None,
                 **announcement):
        self.agent, self.job = agent, job
        self.output = tempfile.TemporaryFile()
        if not announced:
            reply = announce(agent, job, **announcement)
            assert reply["ok"], reply
        self.process = subprocess.Popen([*GATE, *command], stdout=self.output,
                                        stdin=subprocess.PIPE)
        if ready:
            self.begin()
            wait_for("task", lambda: ready(self.process.pid))
        reply = agent.call({"op": "task", "job": job, "step": 0,
                            "pid": self.process.pid})
        assert reply["ok"], reply
        if not ready:
            self.begin()

    def begin(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.close()

    def text(self):
        return os.pread(self.output.fileno(), 1 << 20, 0).decode()

    def cpus(self):
        """CPUs that the agent says the job has."""
        return cpu_list(self.agent.job(self.job)["cpus"])

    def state(self):
        """State letter of the process."""
        return state_of(self.process.pid)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.kill()
        text = self.text()
        self.output.close()
        if exception[0] is not None:
            print(f"---- output of job {self.job} ----", text, sep="\n")
        else:
            assert "BAD" not in text, text


def fake(agent, job, *arguments, **announcement):
    """A cooperative job: fake_job.c."""
    return Program(agent, job, [FAKE_JOB, agent.socket, str(job), *arguments],
                   **announcement)


def pinned(agent, job, **announcement):
    """A job that does not attach and uses several cores."""
    return Program(agent, job, [sys.executable, "-c",
                                BURN + "burn()\nthreading.Event().wait()"],
                   **announcement)


def cpus_of(agent, *programs):
    """The CPUs of each of PROGRAMS' jobs, all at the same moment."""
    jobs = {job["job"]: job for job in agent.status()["jobs"]}
    return [cpu_list(jobs[program.job]["cpus"]) for program in programs]


def affinities(pid):
    """The CPU sets of all threads of PID."""
    sets = []
    for tid, _, _ in threads(pid):
        try:
            sets.append(frozenset(os.sched_getaffinity(tid)))
        except ProcessLookupError:
            pass
    return sets


def supervisor(agent):
    """Pid of the agent's supervisor; it takes a moment to call itself so."""
    pid = agent.process.pid

    def find():
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
        for child in children:
            with open(f"/proc/{child}/comm", encoding="ascii") as file:
                if file.read().strip() == "coschedd-superv":
                    return int(child)
        return None
    return wait_for("supervisor", find)


def kill_both(agent):
    """End the agent together with its supervisor, which it would replace."""
    os.kill(agent.process.pid, signal.SIGSTOP)
    os.kill(supervisor(agent), signal.SIGKILL)
    agent.kill()
