#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The five steps of docs/install.md on a cluster that knows nothing of co-scheduling, and back:
coscheduleadm says what is missing, slurmctld starts without the package's script, two jobs share
the node, and afterwards every file is as it was."""

import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import BUILD, LIBGOMP_COOP, SOURCE, wait_for
from coschedcluster import Cluster, need_cluster

ADM = f"{SOURCE}/slurm_conf/coscheduleadm"


def files(folder):
    """{path: text} of all below FOLDER."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(at, name), encoding="utf-8", errors="replace") as file:
                found[os.path.join(at, name)] = file.read()
    return found


def adm(c, *arguments, fails=False):
    """What it says; the log of this test is a transcript of the five steps."""
    done = c.run(ADM, *arguments)
    print("$ coscheduleadm", *arguments)
    print(done.stdout + done.stderr, end="", flush=True)
    assert (done.returncode != 0) == fails, (arguments, done.stdout, done.stderr)
    return done.stdout + done.stderr


def named(text, *words):
    for word in words:
        assert word in text, (word, text)


def patch(c, text, *options):
    done = subprocess.run(["patch", "-p0", "-s", *options], input=text, text=True, cwd="/",
                          check=False, capture_output=True)
    assert done.returncode == 0, (text, done.stdout, done.stderr)


def restart(c, name):
    """A daemon of Slurm's anew, as systemctl restart would."""
    path = f"{c.root}/run/{name}.pid"
    with open(path, encoding="ascii") as file:
        pid = int(file.read())
    os.kill(pid, 15)
    wait_for(f"end of {name}", lambda: not alive(pid))
    c.call("cluster", "start", c.root)


def alive(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read() != b""
    except OSError:
        return False


def check_missing(c):
    text = adm(c, "check", fails=True)
    named(text, "Slurm ", "plugstack.conf: spank_cosched.so is missing",
          "optional spank_cosched.so", "no partition cosched", "Include coschedule.conf",
          "no JobSubmitPlugins: lua is missing", "no PrologFlags: Alloc is missing", "no agent")
    with open(f"{c.root}/etc/extra.conf", encoding="utf-8") as file:
        lines = file.read().splitlines()
    number, had = next((n, line) for n, line in enumerate(lines, 1)
                       if line.startswith("SchedulerParameters="))
    named(text, f"extra.conf:{number}: {had}: cosched_policy=corun is missing",
          f"{had},cosched_policy=corun")
    named(adm(c, "diff", fails=True), "coschedule.conf: not there: coscheduleadm install")
    named(adm(c, "install", "--undo", fails=True), "has installed nothing here")


def install(c):
    plugin = (f"{BUILD}/.libs/spank_cosched.so socket={c.root}/run/coschedd-%n.sock "
              f"libgomp={LIBGOMP_COOP} munge={c.root}/run/munge.sock timeout=5000")
    named(adm(c, "install", "--plugin", plugin, fails=True), "say --yes")
    text = adm(c, "install", "--plugin", plugin, "--yes")
    named(text, "write", "coschedule.conf", "job_submit.lua", "change", "2. slurmctld")
    assert adm(c, "install", "--plugin", plugin, "--yes") == "nothing to do\n"
    text = adm(c, "diff")
    patch(c, text)
    return text


def check_guard(c):
    """slurmctld starts without the package's script; only co-scheduled jobs are refused."""
    path = f"{c.root}/etc/job_submit.lua"
    with open(path, encoding="utf-8") as file:
        good = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub('(?m)^local script = .*', 'local script = "/no/such.lua"', good))
    restart(c, "slurmctld")
    for options in (["--coschedule"], ["--partition=cosched"]):
        done = c.run("sbatch", "--mem=50", *options, "--wrap=true")
        assert done.returncode != 0, done.stdout
        named(done.stderr, "/no/such.lua cannot be loaded; tell your administrator")
    c.wait_end(c.sbatch("--mem=50", "--wrap=true"))
    # And what is wrong with the partition, at once.
    drop_in = f"{c.root}/etc/coschedule.conf"
    with open(drop_in, encoding="utf-8") as file:
        partition = file.read()
    without = re.sub(r" DefMemPerNode=\d+", "", partition)
    assert without != partition, partition
    with open(drop_in, "w", encoding="utf-8") as file:
        file.write(without)
    named(adm(c, "check", fails=True), "job_submit.lua:8: /no/such.lua: not there",
          "partition cosched has no DefMemPerNode: jobs that ask for no memory are refused")
    with open(drop_in, "w", encoding="utf-8") as file:
        file.write(partition)
    with open(path, "w", encoding="utf-8") as file:
        file.write(good)
    before = os.stat(path).st_mtime
    os.utime(path, (before + 2, before + 2))    # Slurm looks at whole seconds


def start_agent(c):
    """What systemctl enable --now coschedd does."""
    with open(f"{c.root}/etc/cluster", "a", encoding="utf-8") as file:
        file.write(f"agent={BUILD}/coschedd\nhelper={BUILD}/coschedd-slurm\npath={BUILD}\n")
    c.agent("start")
    c.env["COSCHED_SOCKET"] = f"{c.root}/run/coschedd-n1.sock"


def main():
    need_cluster()
    if not shutil.which("patch"):
        print("SKIP: no patch")
        sys.exit(77)
    with Cluster(plain=True) as c:
        c.env["PATH"] += f":{BUILD}:{SOURCE}/slurm_conf:{SOURCE}/slurm_conf/testcluster"
        before = files(f"{c.root}/etc")
        begin = time.monotonic()
        check_missing(c)
        text = install(c)
        check_guard(c)
        start_agent(c)
        restart(c, "slurmd-n1")
        assert re.search("^[^ ]+: nothing is missing$", adm(c, "check"), re.M)
        named(adm(c, "smoke", "--seconds", "3"), "both shared n1", "JOB", "WITH")
        print(f"from the first check to the report: {time.monotonic() - begin:.1f} s")
        named(adm(c, "install", "--undo", fails=True), "Include coschedule.conf: without")
        patch(c, text, "-R")
        assert adm(c, "install", "--undo") == ""
        after = files(f"{c.root}/etc")
        after[f"{c.root}/etc/cluster"] = before[f"{c.root}/etc/cluster"]
        assert after == before, {p for p in {*after, *before} if after.get(p) != before.get(p)}
        restart(c, "slurmctld")


if __name__ == "__main__":
    main()
