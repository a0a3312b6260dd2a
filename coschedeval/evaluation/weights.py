# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A cgroup of its own for each job, all with the same CPU weight, where we may make them.

In version 2 below an ancestor of our cgroup whose children have weights, or in our own cgroup if
only we are in it (as of `systemd-run --user --scope -p Delegate=yes`): then we move into a leaf
for that time, since a cgroup that gives weights holds no processes.  In version 1 below our own."""

import os
import signal
import time

from evaluation import EvaluationError

PATIENCE_S = 5      # for the kernel to let go of a cgroup whose processes were killed


def _read(path):
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _mounts(proc):
    """(type, mount point, root, options) of all mounted cgroup hierarchies."""
    for line in _read(proc + "/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        words, kind = before.split(), after.split()
        if kind[0] in ("cgroup", "cgroup2"):
            yield kind[0], words[4], words[3], kind[2].split(",")


def _own(proc):
    """{controllers of a hierarchy ("": version 2): our cgroup}"""
    lines = [line.split(":", 2) for line in _read(proc + "/self/cgroup").splitlines()]
    return {controllers: path for _, controllers, path in lines}


def _below(mount, root, path):
    """Where the cgroup PATH is below MOUNT, which shows ROOT; None: not there."""
    relative = os.path.relpath(path, root)
    return None if relative.startswith("..") else os.path.normpath(os.path.join(mount, relative))


def _may_fill(path):
    """May we make cgroups in PATH, and move processes between those and below it?"""
    return os.access(path, os.W_OK) and os.access(path + "/cgroup.procs", os.W_OK)


def _family(proc):
    """Our process and its descendants."""
    found = [os.getpid()]
    for pid in found:
        try:
            for task in os.listdir(f"{proc}/{pid}/task"):
                found += map(int, _read(f"{proc}/{pid}/task/{task}/children").split())
        except OSError:
            pass
    return set(found)


class Place:
    """Where cgroups of jobs go."""

    def __init__(self, path, weight, alone=False):
        self.path, self.weight = path, weight   # the file that holds the weight
        self.alone = alone      # it is our own, and must first give weights


def find(proc="/proc"):
    """The Place where we may make cgroups with weights, or EvaluationError that says why not."""
    try:
        own, mounts = _own(proc), list(_mounts(proc))
    except OSError as error:
        raise EvaluationError(f"{error.filename}: {error.strerror}") from error
    seen = False
    for kind, mount, root, options in mounts:
        if kind == "cgroup2" and "" in own:
            path = _below(mount, root, own[""])
            place = path and _in_version_2(path, mount, proc)
        elif kind == "cgroup" and "cpu" in options:
            name = next((n for n in own if "cpu" in n.split(",")), None)
            path = name and _below(mount, root, own[name])
            seen = True
            place = path and _may_fill(path) and Place(path, "cpu.shares")
        else:
            continue
        if place:
            return place
        try:
            seen |= "cpu" in _read(mount + "/cgroup.controllers").split()
        except OSError:
            pass
    raise EvaluationError("this user may not make cgroups with CPU weights" if seen else
                          "there are no cgroups with CPU weights")


def _in_version_2(own, mount, proc):
    path = own
    while path.startswith(mount):
        try:
            if "cpu" in _read(path + "/cgroup.subtree_control").split() and _may_fill(path):
                return Place(path, "cpu.weight")
            alone = path == own != mount and "cpu" in _read(path + "/cgroup.controllers").split()
            if alone and _may_fill(path) and \
                    set(map(int, _read(path + "/cgroup.procs").split())) <= _family(proc) and \
                    os.access(path + "/cgroup.subtree_control", os.W_OK):
                return Place(path, "cpu.weight", alone=True)
        except (OSError, ValueError):
            pass
        path = os.path.dirname(path)
    return None


class Groups:
    """Cgroups of so many jobs, with the kernel's default weight each; close() removes them."""

    def __init__(self, place, jobs):
        self.place, self.paths, self.leaf = place, [], None
        base = os.path.join(place.path, f"coschedeval-{os.getpid()}-")
        try:
            if place.alone:
                self.leaf = base + "own"
                os.mkdir(self.leaf)
                self._move(place.path, self.leaf)
                _write(place.path + "/cgroup.subtree_control", "+cpu")
            for number in range(jobs):
                os.mkdir(base + str(number))
                self.paths.append(base + str(number))
                _write(os.path.join(self.paths[-1], place.weight),
                       "1024" if place.weight == "cpu.shares" else "100")
        except OSError as error:
            self.close()
            raise EvaluationError(f"{error.filename}: {error.strerror}") from error

    @staticmethod
    def _move(source, target):
        for pid in _read(source + "/cgroup.procs").split():
            try:
                _write(target + "/cgroup.procs", pid)
            except ProcessLookupError:
                pass

    @staticmethod
    def _remove(path):
        """PATH with all processes that jobs left in it."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                for pid in _read(path + "/cgroup.procs").split():
                    os.kill(int(pid), signal.SIGKILL)
                os.rmdir(path)
                return
            except ProcessLookupError:
                pass
            except FileNotFoundError:
                return
            except OSError:     # busy: the killed ones are still there
                time.sleep(0.01)

    def close(self):
        for path in self.paths:
            self._remove(path)
        if self.leaf:
            try:
                _write(self.place.path + "/cgroup.subtree_control", "-cpu")
                self._move(self.leaf, self.place.path)
                os.rmdir(self.leaf)
            except OSError:     # gone with its delegation
                pass
