#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The Ansible role on a cluster that knows nothing of co-scheduling: it is linted, brings it with
two jobs that share the node, changes nothing the second time, and takes all back (part of make
check-slurm)."""

import json
import os
import re
import shutil
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.join(os.environ["abs_top_srcdir"], "tests", "support")]
from coschedtest import BUILD, LIBGOMP_COOP, SOURCE, skip
from coschedcluster import Cluster, need_cluster
from test_admin import files

PLAYBOOK = os.path.realpath(f"{SOURCE}/packaging/ansible")
# A daemon anew, as systemctl restart would; with slurmd comes the agent.
RESTART = """#!/bin/bash -e
pid=$(cat {root}/run/$1.pid)
kill $pid
while tr -d '\\0' 2>/dev/null </proc/$pid/cmdline | grep -q .; do sleep 0.1; done
cluster start {root}
[ $1 = slurmctld ] || cluster agent {root} start n1
"""


def play(c, **more):
    """(what a play says, number of changes)."""
    values = {
        "coschedule_packages": [], "coschedule_controller": True, "coschedule_node": True,
        "coschedule_plugin": f"{BUILD}/.libs/spank_cosched.so libgomp={LIBGOMP_COOP} "
        f"socket={c.root}/run/coschedd-%n.sock munge={c.root}/run/munge.sock timeout=5000",
        "coschedule_patch_file": f"{c.output}/patch", "coschedule_smoke": True,
        "coschedule_restart_slurmctld": f"{c.output}/restart slurmctld",
        "coschedule_restart_slurmd": f"{c.output}/restart slurmd-n1", **more}
    done = c.run("ansible-playbook", "-i", f"{c.output}/hosts", "-e", json.dumps(values),
                 f"{PLAYBOOK}/site.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, int(re.search(r"changed=(\d+)", done.stdout)[1])


def main():
    need_cluster()
    for program in "ansible-playbook", "patch":
        if not shutil.which(program):
            skip(f"{program} is not installed")
    with Cluster(plain=True) as c:
        c.env.update(ANSIBLE_HOME=f"{c.output}/ansible", ANSIBLE_LOCAL_TEMP=f"{c.output}/local",
                     COSCHED_SOCKET=f"{c.root}/run/coschedd-n1.sock", XDG_CACHE_HOME=c.output,
                     ANSIBLE_NOCOLOR="1",
                     PATH=f"{c.env['PATH']}:/usr/sbin:{BUILD}:{SOURCE}/slurm_conf:"
                     f"{SOURCE}/slurm_conf/testcluster")
        if shutil.which("ansible-lint"):
            done = c.run("ansible-lint", "--offline", "--nocolor", f"{PLAYBOOK}/site.yml",
                         f"{PLAYBOOK}/roles")
            assert done.returncode == 0, done.stdout + done.stderr
        with open(f"{c.output}/hosts", "w", encoding="ascii") as file:
            file.write("[slurmctld]\nlocalhost ansible_connection=local "
                       f"ansible_python_interpreter={sys.executable}\n")
        with open(f"{c.output}/restart", "w", encoding="ascii") as file:
            file.write(RESTART.format(root=c.root))
        os.chmod(f"{c.output}/restart", 0o755)
        with open(f"{c.root}/etc/cluster", "a", encoding="utf-8") as file:
            file.write(f"agent={BUILD}/coschedd\nhelper={BUILD}/coschedd-slurm\npath={BUILD}\n")
        before = files(f"{c.root}/etc")
        assert play(c)[1] >= 4
        assert play(c)[1] == 0
        play(c, coschedule_state="absent")
        assert files(f"{c.root}/etc") == before
        assert play(c, coschedule_state="absent")[1] == 0


main()
