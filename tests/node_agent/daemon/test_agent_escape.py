#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Programs that try to be nobody's: orphans in sessions of their own, and programs that are
called slurmstepd.  Where Slurm has made a cgroup they are the job's.  Slurm's own daemon in
it is not touched."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (BURN, Agent, Program, affinities, allowed_cpus, fake, need, skip, wait_for)
from slurmtree import SlurmTree, place

ALL = set(allowed_cpus())
NAME = f"es{os.getpid()}"
NOBODY = 65534

# A task that leaves a busy process behind, and says which: an orphan in its own session, or a
# child with another name.
TASK = BURN + f"""
import ctypes, signal
os.nice(-15)
os.setgid({NOBODY}); os.setuid({NOBODY})
if os.fork():
    signal.pause()
ctypes.CDLL(None).prctl(15, sys.argv[2].encode(), 0, 0, 0)
if sys.argv[1] == "orphan":
    os.setsid()
    if os.fork():
        os._exit(0)
print(os.getpid(), flush=True)
burn()
threading.Event().wait()
"""


def leaver(agent, job, group, *how):
    return Program(agent, job, [
        "sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group,
        sys.executable, "-c", TASK, *how], uid=NOBODY,
        ready=lambda pid: place(pid) == group)


def check(agent, tree, job, *how):
    step = tree.step(job, 0, stepd=agent.directory)
    stepd = tree.stepds[-1].pid
    with fake(agent, 1), leaver(agent, job, step, *how) as program:
        wait_for("number", program.text)
        left = int(program.text())
        try:
            wait_for(f"hold of {' '.join(how)}", lambda: len(program.cpus()) < len(ALL) and
                     set(affinities(left)) == {frozenset(program.cpus())}, 60)
        finally:
            os.kill(left, 9)
        assert os.sched_getaffinity(stepd) == ALL
    wait_for("end", lambda: not agent.job(job)["cpus"])


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    if os.getuid() != 0 or len(ALL) < 2 or ALL != set(range(os.cpu_count())):
        skip("needs root and all CPUs of the machine, two at least")
    with SlurmTree(NAME) as tree, Agent("--set", "attach_timeout=1s", "--node",
                                        NAME) as agent:
        check(agent, tree, 2, "orphan", "program")
        check(agent, tree, 3, "orphan", "slurmstepd")
        check(agent, tree, 4, "child", "slurmstepd")


main()
