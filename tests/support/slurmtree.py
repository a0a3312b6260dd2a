# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Real cpuset cgroups, laid out as Slurm lays out those of a job."""

import os
import shutil
import subprocess

from fakes import skip, wait_for

SLEEP = shutil.which("sleep")


def read(*path):
    with open(os.path.join(*path), encoding="ascii") as file:
        return file.read().strip()


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="ascii") as file:
        file.write(text)


def mounts():
    """[(type, mount point, super options)] of the cgroup hierarchies."""
    found = []
    with open("/proc/self/mountinfo", encoding="ascii") as file:
        for line in file:
            left, right = line.split(" - ")
            kind, _, options = right.split()[:3]
            if kind.startswith("cgroup"):
                found.append((kind, left.split()[4], options.split(",")))
    return found


def cpuset_mount():
    """(whether it is version 2, its mount point) of the hierarchy with cpusets,
    or None."""
    found = None
    for kind, mount, options in mounts():
        if kind == "cgroup" and "cpuset" in options:
            return False, mount
        if kind == "cgroup2" and "cpuset" in read(
                mount, "cgroup.controllers").split():
            found = True, mount
    return found


def place(pid):
    """The cpuset cgroup directory that process PID is in."""
    unified, mount = cpuset_mount()
    for line in read(f"/proc/{pid}/cgroup").split("\n"):
        _, controllers, path = line.split(":", 2)
        if controllers == "" if unified else "cpuset" in controllers.split(","):
            return mount + path
    return None


class SlurmTree:
    """The cgroups of one node NAME; the directories of a job are made by step()
    and those of all jobs are removed at exit."""

    def __init__(self, name):
        self.unified, self.mount = cpuset_mount() or (False, None)
        if not self.mount or os.geteuid() != 0:
            skip("there are no cpuset cgroups, or only root may use them")
        self.root = os.path.join(self.mount, f"slurm_{name}")
        if self.unified:
            self.slice = os.path.join(self.mount, "system.slice")
            self.root = os.path.join(self.slice, f"{name}_slurmstepd.scope")
        self.stepds = []

    def __enter__(self):
        try:
            self.make()
        except OSError as error:
            skip(f"cannot make cgroups: {error}")
        return self

    def make(self):
        if self.unified and not os.path.isdir(self.slice):
            self.directory(self.slice) # no systemd here
        elif self.unified and "cpuset" not in read(
                self.slice, "cgroup.subtree_control").split():
            skip("systemd has cpusets turned off: not for a test to change")
        self.directory(self.root)

    def directory(self, path, leaf=False):
        """Make PATH as Slurm does, which gives all CPUs and NUMA nodes."""
        os.makedirs(path, exist_ok=True)
        if self.unified and not leaf:
            write("+cpuset", path, "cgroup.subtree_control")
        elif not self.unified:
            for name in ("cpuset.cpus", "cpuset.mems"):
                write(read(os.path.dirname(path), name), path, name)
        return path

    def job(self, job):
        return os.path.join(self.root, *([] if self.unified else ["uid_0"]),
                            f"job_{job}")

    def step(self, job, step, stepd=None):
        """Make the cgroups of a step; returns that of its tasks.  STEPD is a
        directory for a slurmstepd, which is started in its place then."""
        path = self.job(job)
        if not self.unified:
            self.directory(os.path.dirname(path))
        self.directory(path)
        path = place = self.directory(os.path.join(path, f"step_{step}"))
        if self.unified:
            place = self.directory(os.path.join(path, "slurm"), leaf=True)
            path = self.directory(os.path.join(path, "user"))
            path = self.directory(os.path.join(path, "task_0"), leaf=True)
        if stepd:
            program = os.path.join(stepd, "slurmstepd")
            if not os.path.exists(program):
                shutil.copy(SLEEP, program)
            process = subprocess.Popen([program, "1000"])
            write(str(process.pid), place, "cgroup.procs")
            self.stepds.append(process)
        return path

    def untouched(self, step):
        """True when the cgroup of a step's tasks is as Slurm made it."""
        if self.unified:
            up = read(os.path.dirname(step), "cpuset.cpus.effective")
            return read(step, "cpuset.cpus.effective") == up
        job = os.path.dirname(step)
        return not [name for name in os.listdir(job)
                    if name.startswith("cosched")]

    def __exit__(self, *exception):
        for process in self.stepds:
            process.kill()
            process.wait()
        for path, _, _ in os.walk(self.root, topdown=False):
            wait_for(f"end of {path}", lambda p=path: self.removed(p))

    @staticmethod
    def removed(path):
        """Dead processes leave their cgroup a moment later."""
        try:
            os.rmdir(path)
        except FileNotFoundError:
            pass
        except OSError:
            return False
        return True
