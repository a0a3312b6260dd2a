# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the soak (soak.py) sees of its node: processes, threads, descriptors, memory
and cgroups.  It has a PID namespace of its own: every process there is its."""

import glob
import os
import threading
import time

# A stopped job has its turn again long before.
STARVED_S = 90
SAMPLE_S = 1.0


def read(path):
    """The text of a file of /proc or /sys; "" when it has gone."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def comm(pid):
    return read(f"/proc/{pid}/comm").strip()


def stat(pid):
    """The fields after the name: state, parent, ...; [] when it has ended."""
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def owner(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def of_users(users):
    """Pids of the living processes of USERS: those of the jobs."""
    return [pid for pid in pids() if owner(pid) in users
            and (stat(pid) or ["Z"])[0] not in "ZX"]


def job_of(pid):
    """The number of the job that PID runs in, as its environment has it."""
    entries = dict(entry.partition("=")[::2] for entry in
                   read(f"/proc/{pid}/environ").split("\0"))
    if "SLURM_ARRAY_JOB_ID" in entries:
        return f"{entries['SLURM_ARRAY_JOB_ID']}_{entries['SLURM_ARRAY_TASK_ID']}"
    return entries.get("SLURM_JOB_ID")


def stopped(pid):
    return (stat(pid) or ["X"])[0] == "T"


def affinities(pid):
    """{thread: the CPUs that it may use} of PID."""
    found = {}
    for path in glob.glob(f"/proc/{pid}/task/*"):
        try:
            tid = int(path.rpartition("/")[2])
            found[tid] = os.sched_getaffinity(tid)
        except (OSError, ValueError):
            continue
    return found


def follows(pid):
    """Its threads are the cooperative library's, which gives a CPU to each of its own."""
    return "/lib-coop/" in read(f"/proc/{pid}/maps")


def narrowed(threads, everything, following):
    """(thread, CPUs) of THREADS that may not use all CPUs.  One that is FOLLOWING has none when
    they may do so together, agent or not."""
    if following and set().union(*threads.values()) == everything:
        return []
    return [(tid, sorted(cpus)) for tid, cpus in threads.items() if cpus != everything]


def descriptors(pid):
    """What its descriptors are, counted by kind."""
    kinds = {}
    for path in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            name = os.readlink(path)
        except OSError:
            continue
        name = name.split(":")[0] if ":[" in name else \
            "/proc/" if name.startswith("/proc/") else name
        kinds[name] = kinds.get(name, 0) + 1
    return kinds


def resident_kb(pid):
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def job_cgroups():
    """Cgroups of jobs, steps and ours, with what is narrowed or frozen there."""
    found = []
    for root, _, files in os.walk("/sys/fs/cgroup"):
        if "/job_" not in root:
            continue
        state = read(f"{root}/freezer.state").strip() or (
            "FROZEN" if "frozen 1" in read(f"{root}/cgroup.events") else "")
        found.append((root, state if "freezer.state" in files or state else ""))
    return found


class Watch(threading.Thread):
    """Looks at all processes of the jobs each second.  A process that is stopped or
    frozen (in CGROUPS) for long though nobody suspended its job is a violation."""

    def __init__(self, users, suspended, tell, cgroups):
        super().__init__(daemon=True)
        self.users, self.suspended, self.tell = users, suspended, tell
        self.cgroups = cgroups
        self.since = {}  # (pid, start) -> when it was first seen stopped
        self.told = set()
        self.samples = self.stops = 0
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(SAMPLE_S):
            self.look()

    def frozen(self):
        """Pids in cgroups that are."""
        found = set()
        for path, state in job_cgroups() if self.cgroups else ():
            if state in ("FROZEN", "FREEZING"):
                found.update(map(int, read(f"{path}/cgroup.procs").split()))
        return found

    def look(self):
        now, seen, frozen = time.monotonic(), set(), self.frozen()
        for pid in of_users(self.users):
            fields = stat(pid)
            if not fields or fields[0] != "T" and pid not in frozen:
                continue
            key = (pid, fields[19])
            seen.add(key)
            if key not in self.since:
                self.stops += 1
            began = self.since.setdefault(key, now)
            job = job_of(pid)
            if self.suspended(job):
                self.since[key] = now
            elif now - began > STARVED_S and key not in self.told:
                self.told.add(key)
                self.tell(f"process {pid} ({comm(pid)}) of job {job} is stopped "
                          f"for {now - began:.0f} s")
        self.since = {key: t for key, t in self.since.items() if key in seen}
        self.samples += 1
