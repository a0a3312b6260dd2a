#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coscheduleadm without Slurm: what it reads of slurm.conf, one sentence with file and line for
what is wrong or contradictory, merged lines, two versions on a node, and files that cannot be
written, have been changed, or are of another version."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["abs_top_srcdir"]
ADM = f"{SOURCE}/slurm_conf/coscheduleadm"
GOOD = """ClusterName=c
SlurmctldHost=ctl
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
TaskPlugin=task/cgroup   # the site's
PrologFlags=Contain
JobSubmitPlugins=lua
SchedulerParameters=bf_window=10,\\
cosched_policy=corun
NodeName=DEFAULT RealMemory=8000
NodeName=n[01-03,7],m CPUs=4
PartitionName=cosched Nodes=ALL OverSubscribe=FORCE:4 DefMemPerNode=2000
"""
# What replaces what in GOOD, and what check says of it.
WRONG = (
    ("cons_tres", "cons_res", "FILE:3: SelectType=select/cons_res: co-scheduled jobs need",
     "SelectType=select/cons_tres"),
    ("CR_Core_Memory", "CR_CPU,CR_LLN", "FILE:4: SelectTypeParameters=CR_CPU,CR_LLN: memory must",
     "SelectTypeParameters=CR_Core_Memory,CR_LLN"),
    ("task/cgroup", "task/none", "FILE:5: TaskPlugin=task/none: task/affinity is missing",
     "TaskPlugin=task/affinity"),
    ("Contain", "Serial", "FILE:6: PrologFlags=Serial: Alloc is missing",
     "PrologFlags=Serial,Alloc"),
    ("Plugins=lua", "Plugins=require_timelimit",
     "FILE:7: JobSubmitPlugins=require_timelimit: lua is missing",
     "JobSubmitPlugins=lua,require_timelimit"),
    ("Plugins=lua", "Plugins=lua,all_partitions", "FILE:7: JobSubmitPlugins=lua,all_partitions: "
     "all_partitions puts every job", ""),
    ("cosched_policy=corun", "max_rpc_cnt=9", "FILE:8: SchedulerParameters=bf_window=10,",
     "SchedulerParameters=bf_window=10,"),
    ("OverSubscribe=FORCE:4", "OverSubscribe=YES", "FILE:12: partition cosched has OverSubscribe="
     "YES: each job would have the node to itself", "OverSubscribe=FORCE:4"),
    ("OverSubscribe=FORCE:4", "OverSubscribe=FORCE:1", "FILE:12: partition cosched has "
     "OverSubscribe=FORCE:1: each job would", "OverSubscribe=FORCE:4"),
    ("DefMemPerNode=2000", "DefMemPerNode=2000 MaxCPUsPerNode=2", "FILE:12: MaxCPUsPerNode=2: "
     "co-scheduled jobs ask for all CPUs", ""),
    ("DefMemPerNode=2000", "DefMemPerNode=4001", "FILE:12: DefMemPerNode=4001: more than half",
     "DefMemPerNode=2000"),
    ("DefMemPerNode=2000", "", "FILE:12: partition cosched has no DefMemPerNode", "=2000"),
    ("DefMemPerNode=2000", "DefMemPerNode=1 ExclusiveUser=YES", "FILE:12: ExclusiveUser=YES", ""),
    ("ClusterName=c", "PreemptMode=SUSPEND,GANG", "FILE:1: PreemptMode=SUSPEND,GANG: gang", ""),
    ("cosched_policy=corun", "cosched_policy=bogus,cosched_epoch=1s",
     "FILE:8: cosched_policy=bogus: unknown policy, one of", ""),
    ("cosched_policy=corun", "cosched_policy=corun,cosched_epoch@cosched=1ms",
     "FILE:8: cosched_epoch=1ms: not from 10ms", ""),
    ("cosched_policy=corun", "cosched_policy=corun,cosched_fast=1",
     "FILE:8: cosched_fast: unknown, after cosched_ comes one of", ""),
    ("cosched_policy=corun", "cosched_policy=corun,cosched_epoch@long=1s",
     "FILE:8: cosched_epoch@long=1s: no partition long", ""),
    ("cosched_policy=corun", "cosched_policy=equal,cosched_policy_options=gamma:2",
     "FILE:8: cosched_policy_options", ""),
)
UNREADABLE = (
    ("ClusterName=c", "ClusterName c", "FILE:1: ClusterName: not KEY=VALUE"),
    ("ClusterName=c", "Include none.conf", "FILE:1: Include: FOLDER/none.conf: No such file"),
    ("ClusterName=c", "include slurm.conf", "files include each other"),
)
FAKES = {
    "scontrol": 'case $1 in --version) echo slurm-wlm 22.05.8;; *) exit 1;; esac',
    "sbatch": "echo '  --coschedule'", "munge": "echo x", "unmunge": "exit 0",
    "coschedd": "case $1 in --version) echo coschedd 0.2.0;; "
                f"*) exec {os.environ['abs_top_builddir']}/coschedd \"$@\";; esac",
    "coschedctl": 'case $2 in --json) echo "{\\"version\\": \\"0.1.0\\"}";; *) echo well;; esac',
    "systemctl": 'echo "$*" >>"$SAID"; case $1 in is-system-running) echo running;; '
                 'is-enabled) exit 1;; esac',
}


class Site:
    """A folder with slurm.conf, and commands that say what they are told."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="adm.")
        self.etc, path = f"{self.folder}/etc", f"{self.folder}/bin"
        os.makedirs(path)
        os.makedirs(f"{self.folder}/plugins")
        for name, text in FAKES.items():
            self.write(f"bin/{name}", f"#!/bin/sh\n{text}\n")
            os.chmod(f"{path}/{name}", 0o755)
        self.said = f"{self.folder}/said"
        self.env = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "SAID": self.said,
                    "SLURM_CONF": f"{self.etc}/slurm.conf"}
        self.write("plugins/spank_cosched.so", "cosched-plugin 0.2.0 slurm 0x160508 ")
        self.write("plugins/job_submit_lua.so", "")
        return self

    def __exit__(self, *exception):
        shutil.rmtree(self.folder)

    def write(self, name, text):
        path = f"{self.folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def conf(self, old="", new=""):
        assert old in GOOD, old
        self.write("etc/slurm.conf", GOOD.replace(old, new) if old else GOOD)
        with open(f"{self.etc}/slurm.conf", "a", encoding="utf-8") as file:
            file.write(f"PluginDir={self.folder}/plugins\n")

    def adm(self, *arguments, prefix=()):
        done = subprocess.run([*prefix, sys.executable, ADM, *arguments], env=self.env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout + done.stderr

    def says(self, text, *words):
        for word in words:
            word = word.replace("FILE", f"{self.etc}/slurm.conf").replace("FOLDER", self.etc)
            assert word in text, (word, text)

    def files(self):
        found = {}
        for name in sorted(os.listdir(self.etc)):
            with open(f"{self.etc}/{name}", encoding="utf-8") as file:
                found[name] = file.read()
        return found


def check_wrong(site):
    site.write("etc/plugstack.conf", "# ours\noptional spank_cosched.so\n")
    site.conf()
    assert site.adm("check")[1].endswith("nothing is missing\n"), site.adm("check")
    for old, new, said, line in WRONG:
        site.conf(old, new)
        text = site.adm("check")[1]
        site.says(text, said, line)
        others = [other for other in text.splitlines() if re.search(r"slurm.conf:\d+: ", other)]
        assert len(others) == 1, (new, others)
    for old, new, said in UNREADABLE:
        site.conf(old, new)
        for command in "check", "diff", "install":
            status, text = site.adm(command)
            assert status == 1
            site.says(text, said)


def check_plugin_arguments():
    """Those that the plugin takes, and that check knows."""
    with open(f"{SOURCE}/spank_plugin/args.c", encoding="utf-8") as file:
        known = set(re.findall(r'^    \{"(\w+)=", ', file.read(), re.M))
    sys.path.insert(0, f"{SOURCE}/slurm_conf")
    from admin import requirement
    assert known == set(re.findall(r"\w+(?==|\||\))", requirement.PLUGIN_ARGUMENTS)), known


def check_hosts(site):
    """The controller's script, plugstack.conf, and versions."""
    site.conf()
    own = ("--role", "controller", "--role", "node")
    site.says(site.adm("check", *own)[1], "FILE:7: JobSubmitPlugins=lua: FOLDER/job_submit.lua: "
              "No such file or directory: slurmctld does not start",
              "note: coschedd 0.1.0 still runs, 0.2.0 is installed: restart it")
    site.write("etc/job_submit.lua", "-- the site's\n")
    site.says(site.adm("check", *own)[1], "FOLDER/job_submit.lua: does not call the script",
              'dofile("FOLDER/cosched_submit.lua")')
    os.unlink(f"{site.etc}/job_submit.lua")
    site.write("plugins/spank_cosched.so", "cosched-plugin 0.1.0 slurm 0x160508 ")
    site.says(site.adm("check", *own)[1], "plugins/spank_cosched.so: version 0.1.0, but coschedd "
              "has 0.2.0: install the same packages")
    site.write("plugins/spank_cosched.so", "cosched-plugin 0.2.0 slurm 0x170b01 ")
    site.says(site.adm("check")[1], "built for Slurm 23.11, but this is 22.05.8: build it anew")
    site.write("plugins/spank_cosched.so", "cosched-plugin 0.2.0 slurm 0x160508 ")
    site.write("etc/plugstack.conf", "required spank_cosched.so\n")
    site.says(site.adm("check")[1], "FOLDER/plugstack.conf:1: required spank_cosched.so: should")
    site.write("etc/plugstack.conf", "optional spank_cosched.so socket=/s timeout=2s\n")
    site.says(site.adm("check")[1], "FOLDER/plugstack.conf:1: timeout=2s: neither socket=, ")
    site.write("etc/plugstack.conf", "include plugstack.conf.d/*.conf\n")


def check_diff(site):
    """Merged lines in the place of the old ones; everything else is left."""
    site.conf("Contain", "Serial")
    text = site.adm("diff")[1]
    assert [line for line in text.splitlines()[2:] if line[:1] in "+-"] == \
        ["-PrologFlags=Serial", "+PrologFlags=Serial,Alloc"], text
    site.conf("cosched_policy=corun", "max_rpc_cnt=9 # ours")
    assert "\n+SchedulerParameters=bf_window=10,max_rpc_cnt=9,cosched_policy=corun # ours\n" in \
        site.adm("diff")[1]
    site.conf("task/cgroup", "task/none")
    assert "\n+TaskPlugin=task/affinity   # the site's\n" in site.adm("diff")[1]
    site.conf("PartitionName=cosched", "PartitionName=other")
    site.says(site.adm("diff")[1], "FOLDER/coschedule.conf: not there: coscheduleadm install")
    site.conf("JobSubmitPlugins=lua", "")
    site.says(site.adm("diff")[1], "FOLDER/job_submit.lua: not there, and slurmctld does not start")


def check_install(site):
    """plugstack.conf.d where the site has it; the unit; --undo takes back what is as it was
    written, and nothing else."""
    site.conf("PartitionName=cosched", "PartitionName=other")
    before = site.files()
    both = ("--role", "controller", "--role", "node", "--yes", "--jobs", "3")
    status, text = site.adm("install", *both)
    assert status == 0, text
    site.says(text, "FOLDER/plugstack.conf.d/coschedule.conf", "start coschedd.service")
    with open(f"{site.etc}/coschedule.conf", encoding="utf-8") as file:
        assert "Nodes=ALL OverSubscribe=FORCE:3 MaxTime=INFINITE State=UP DefMemPerNode=2666" in \
            file.read()
    with open(site.said, encoding="utf-8") as file:
        assert "enable --now coschedd.service" in file.read()
    used = site.adm("install", "--undo")
    site.says(used[1], "FILE:7: JobSubmitPlugins=lua: without what it names slurmctld does not")
    site.conf("JobSubmitPlugins=lua", "")
    with open(f"{site.etc}/coschedule.conf", "a", encoding="utf-8") as file:
        file.write("# the site's\n")
    status, text = site.adm("install", "--undo")
    assert text == f"{site.etc}/coschedule.conf: changed since: left as it is\n", text
    os.unlink(f"{site.etc}/coschedule.conf")
    os.rmdir(f"{site.etc}/plugstack.conf.d")
    assert set(site.files()) == set(before)
    with open(site.said, encoding="utf-8") as file:
        assert "disable --now coschedd.service" in file.read()


def check_record(site):
    """Of another version, or nothing of ours."""
    path = f"{site.etc}/coschedule.installed"
    for record, said in (({"version": 2}, "written by another version of coscheduleadm (2, this "
                          "one knows 1)"), ({}, "not a record"), ([1], "not a record")):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(record, file)
        for more in (("--undo",), ("--yes",)):
            status, text = site.adm("install", *more)
            assert status == 1
            site.says(text, f"coscheduleadm: {path}: {said}")
    os.unlink(path)


def check_read_only(site):
    """One sentence, and nothing is written."""
    site.conf("PartitionName=cosched", "PartitionName=other")
    if os.geteuid() == 0 and shutil.which("unshare"):
        prefix = ("unshare", "-m", "sh", "-c", f"mount --bind {site.etc} {site.etc} && "
                  f"mount -o remount,bind,ro {site.etc} && exec \"$@\"", "sh")
        reason = "Read-only file system"
    else:
        prefix, reason = (), "Permission denied"
        os.chmod(site.etc, 0o500)
    before = site.files()
    status, text = site.adm("install", "--yes", prefix=prefix)
    os.chmod(site.etc, 0o755)
    assert status == 1 and site.files() == before
    assert text.splitlines()[-1] == (f"coscheduleadm: {site.etc}/coschedule.installed: {reason}: "
                                     "nothing was written there"), text


check_plugin_arguments()
with Site() as the_site:
    for check in (check_wrong, check_hosts, check_diff, check_install, check_record,
                  check_read_only):
        check(the_site)
        print(check.__name__, "passed")
