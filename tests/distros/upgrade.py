#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Packages of an older version are upgraded while jobs run (make check-upgrade).

usage: upgrade.py OLD NEW

Directories of packages; those that are installed are the old ones first.  A job that began
under the old agent, with the old plugin and library, is the new agent's: it gets the CPUs of
one that ends, shares with one that has the new library, and ends well, with a record."""

import glob
import os
import re
import subprocess
import sys

SOURCE = os.environ["abs_top_srcdir"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from coschedcluster import Cluster  # noqa: E402
from coschedtest import BUILD, allowed_cpus, cpu_list, wait_for  # noqa: E402

EP = f"{BUILD}/jobs/ep --class A --min-time"
# Options that the old agent does not have are left out.
AGENT = """#!/bin/bash
if ! /usr/sbin/coschedd --help | grep -q -e --records; then
    for ((i = 1; i <= $#; i++)); do
        [ "${!i}" != --records ] || set -- "${@:1:i-1}" "${@:i+2}"
    done
fi
exec /usr/sbin/coschedd "$@"
"""


def install(folder):
    """The version of the packages in FOLDER, which are installed."""
    packages = [path for path in sorted(glob.glob(f"{folder}/coschedule-*.deb"))
                if "-dbgsym_" not in path]
    assert packages, f"{folder}: no packages"
    subprocess.run(["dpkg", "--install", *packages], check=True)
    said = subprocess.run(["coschedctl", "--version"], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout
    return said.split()[-1]


def prefix(folder):
    """What is installed, as the cluster looks for it."""
    library = os.path.dirname(next(path for path in glob.glob(
        "/usr/lib/**/coschedule/**/libgomp.so.1", recursive=True) if "before" not in path))
    for name, to in (("lib/slurm/spank_cosched.so",
                      glob.glob("/usr/lib/*/slurm-wlm/spank_cosched.so")[0]),
                     ("lib/coschedule/libgomp", library), ("bin", "/usr/bin"),
                     ("libexec", "/usr/libexec"), ("share", "/usr/share")):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        os.symlink(to, f"{folder}/{name}")
    os.mkdir(f"{folder}/sbin")
    with open(f"{folder}/sbin/coschedd", "w", encoding="ascii") as file:
        file.write(AGENT)
    os.chmod(f"{folder}/sbin/coschedd", 0o755)
    return folder


def sharing(c, *jobs):
    """The CPUs of JOBS, all of them attached and none with another's; else None."""
    status = c.status()
    if not all(status.get(job, {}).get("attached") for job in jobs):
        return None
    sets = [cpu_list(status[job]["cpus"]) for job in jobs]
    return sets if len(set().union(*sets)) == sum(map(len, sets)) else None


def check(c, new):
    """With the old version's packages installed, and its agent running."""
    stays, leaves = (c.sbatch("--coschedule", "--mem=100", "--wrap", f"{EP} {seconds}")
                     for seconds in (120, 3000))
    wait_for("two jobs that share", lambda: sharing(c, stays, leaves), 120)
    processes = c.programs("ep")
    version = install(new)
    # What the package does where systemd runs.
    c.agent("stop")
    c.agent("start")
    print(f"the agent is {version}'s", flush=True)
    wait_for("both jobs with the new agent", lambda: sharing(c, stays, leaves), 120)
    assert c.programs("ep") == processes, (c.programs("ep"), processes)
    c.call("scancel", str(leaves))
    wait_for("all CPUs for the job that stays", lambda: cpu_list(
        c.status()[stays]["cpus"]) == set(allowed_cpus()), 120)
    comes = c.sbatch("--coschedule", "--mem=100", "--wrap", f"{EP} 5")
    wait_for("one with the new library beside it", lambda: sharing(c, stays, comes), 120)
    for job in (stays, comes):
        c.wait_end(job)
        wait_for("output", lambda job=job: "PASS" in c.text(job))
        c.wait_state(job, "COMPLETED")
        record = c.wait_final(job)
        print(f"job {job}: {record}", flush=True)
    assert re.search(rf"partners=[\d,]*\b{stays}\b", record), record


def main():
    old, new = sys.argv[1:]
    print(f"upgrade from {install(old)}", flush=True)
    folder = "/tmp/cosched-upgrade"
    subprocess.run(["rm", "-rf", folder], check=True)
    cluster = Cluster()
    cluster.more = ["--prefix", prefix(folder)]
    with cluster as c:
        check(c, new)
    print("upgraded with jobs running")


if __name__ == "__main__":
    main()
