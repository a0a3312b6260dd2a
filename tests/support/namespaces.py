# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A cluster in namespaces of its own: users that the host does not have, all
processes, process numbers, and cgroups of version 1."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

INSIDE = "COSCHED_TEST_INSIDE"


def _text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _make_cgroups(name):
    """A cgroup of each hierarchy of version 1: the root of all that is seen inside."""
    made = []
    for controller in sorted(os.listdir("/sys/fs/cgroup")):
        path = f"/sys/fs/cgroup/{controller}/{name}"
        if os.path.islink(os.path.dirname(path)) or not os.path.exists(
                f"/sys/fs/cgroup/{controller}/tasks"):
            continue
        os.mkdir(path)
        for file in ("cpuset.cpus", "cpuset.mems"):
            if os.path.exists(f"{path}/{file}"):
                with open(f"{path}/{file}", "w", encoding="ascii") as out:
                    out.write(_text(f"{path}/../{file}"))
        made.append(path)
    return made


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def inside():
    """The directory of who runs in namespaces made by enter(), else None."""
    return os.environ.get(INSIDE)


def enter(arguments, cgroups=False, prepare=None, env=None):
    """Run this program again with ARGUMENTS in namespaces, with a directory of its
    own that PREPARE(directory) has filled.  Returns its status."""
    base = tempfile.mkdtemp(prefix="cs-ns.", dir="/tmp")
    os.chmod(base, 0o755)
    made = _make_cgroups(os.path.basename(base)) if cgroups else []
    try:
        more = prepare(base) if prepare else None
        join = "".join(f"echo $$ >{path}/cgroup.procs && " for path in made)
        unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child",
                   "--mount-proc", "--propagation", "private"]
        if made:
            unshare.append("--cgroup")
        # Process 1 is a shell: it reaps whom nobody waits for.
        return subprocess.run(
            ["bash", "-c", join + 'exec "$@"', "enter", *unshare, "bash", "-c",
             '"$@"; exit $?', "inside", sys.executable, os.path.abspath(sys.argv[0]),
             *arguments], env={**os.environ, **(more or {}), **(env or {}), INSIDE: base},
            check=False).returncode
    finally:
        for path in made:
            for root, _, _ in os.walk(path, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(root)
        shutil.rmtree(base, ignore_errors=True)


def settle(users, cgroups=False):
    """Make the namespaces what a cluster needs; its parent directory, which vanishes
    with them."""
    base = inside()
    os.mkdir(f"{base}/run")
    mount("-t", "tmpfs", "-o", "mode=755", "run", f"{base}/run")
    for name, line in (("passwd", "user{0}:x:{0}:{0}::/:/bin/sh\n"),
                       ("group", "user{0}:x:{0}:\n")):
        with open(f"{base}/{name}", "w", encoding="utf-8") as file:
            file.write(_text(f"/etc/{name}") +
                       "".join(line.format(user) for user in users))
        mount("--bind", f"{base}/{name}", f"/etc/{name}")
    if cgroups and not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        controllers = [line.split(":")[1] for line in
                       _text("/proc/self/cgroup").splitlines()]
        mount("-t", "tmpfs", "cgroup", "/sys/fs/cgroup")
        for name in filter(None, controllers):
            path = f"/sys/fs/cgroup/{name.removeprefix('name=')}"
            os.mkdir(path)
            mount("-t", "cgroup", "-o", f"none,{name}" if "=" in name else name,
                  "cgroup", path)
    return f"{base}/run"
