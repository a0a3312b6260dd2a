#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""cosched_enforcement=cpuset on real cgroups laid out as Slurm's: nothing gets
out by setting its affinity, slurmstepd is not touched, and all is as it was when
the agent dies, also with its supervisor, when a process attaches and when the job
ends.  Works on version 1 and version 2."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (BURN, Agent, FAKE_JOB, Program, affinities, allowed_cpus, cpus_of,
                   fake, need, pinned, skip, kill_both, wait_for)
from slurmtree import SlurmTree, place, read

ALL = set(allowed_cpus())
NAME = f"cg{os.getpid()}"

# Sets its affinity to all CPUs, all the time, in two threads.  What is held is
# what is busy, on several cores.
ESCAPE = BURN + r"""
burn(1)
def escape():
    while True:
        try:
            os.sched_setaffinity(0, range(os.cpu_count()))
        except OSError: # EINVAL while its cpuset is being changed
            pass
threading.Thread(target=escape).start()
escape()
"""

# Busy until a file appears; then a program that attaches.
LATE = BURN + r"""
burn(1)
while not os.path.exists(sys.argv[1]):
    pass
os.execv(sys.argv[2], sys.argv[2:])
"""


def within(agent, job, group, program):
    """PROGRAM as the task of JOB in the cgroup GROUP, where Slurm has put it
    before it is the agent's."""
    return Program(agent, job, [
        "sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group, *program],
        ready=lambda pid: place(pid) == group)


def escaper(agent, job, group):
    return within(agent, job, group, [sys.executable, "-c", ESCAPE])


def contained(program, cpus):
    """True when the CPUs of all threads stay within CPUS, however often one
    looks."""
    for _ in range(100):
        sets = affinities(program.process.pid)
        if len(sets) < 2 or not all(s <= cpus for s in sets):
            return False
    return True


def shared(program):
    return len(program.cpus()) == len(ALL) // 2 and \
        contained(program, program.cpus())


def free(program):
    return all(s == ALL for s in affinities(program.process.pid))


def check_share(agent, tree):
    step = tree.step(2, 0, stepd=agent.directory)
    stepd = tree.stepds[-1]
    at = place(stepd.pid)
    with fake(agent, 1) as other, escaper(agent, 2, step) as busy:
        wait_for("share", lambda: shared(busy))
        sets = cpus_of(agent, busy, other)
        assert sets[0].isdisjoint(sets[1]), sets
        assert place(stepd.pid) == at
        assert os.sched_getaffinity(stepd.pid) == ALL

        # The next step is held as well, and Slurm's own writing survived.
        new = tree.step(2, 1)
        second = escaper(agent, 2, new)
        with second:
            wait_for("hold of the new step", lambda: shared(second))
            wait_for("hold of the first", lambda: shared(busy))
        other.kill()
        wait_for("all CPUs", lambda: free(busy))
    wait_for("end", lambda: not agent.job(2)["cpus"])
    wait_for("end of the holds",
             lambda: tree.untouched(step) and tree.untouched(new))


def check_crash(agent, tree):
    step = tree.step(3, "batch", stepd=agent.directory)
    with fake(agent, 1), escaper(agent, 3, step) as busy:
        wait_for("share", lambda: shared(busy))
        agent.kill()
        wait_for("release by the supervisor",
                 lambda: free(busy) and tree.untouched(step))
        assert place(busy.process.pid) == step
        agent.start()
        wait_for("hold after the crash", lambda: shared(busy))

        # Without anybody left to restore it, the next agent does.
        kill_both(agent)
        assert not tree.untouched(step)
        agent.arguments += ["--set", "enforcement=affinity"]
        agent.start()
        assert "undid 1 thing" in agent.log_text()
        assert tree.untouched(step)
        assert place(busy.process.pid) == step
        agent.stop()
        agent.arguments[-2:] = []
        agent.start()
        wait_for("hold again", lambda: shared(busy))


def check_attach(agent, tree):
    step = tree.step(4, 0)
    go = os.path.join(agent.directory, "go")
    with fake(agent, 1), within(agent, 4, step, [
            sys.executable, "-c", LATE, go, FAKE_JOB, agent.socket, "4"]) as late:
        wait_for("hold", lambda: not tree.untouched(step))
        with open(go, "w", encoding="ascii"):
            pass
        wait_for("attach", lambda: agent.attached(4))
        assert place(late.process.pid) == step
        wait_for("end of the hold", lambda: tree.untouched(step))


def check_elsewhere(agent):
    """A job outside all cgroups of Slurm is pinned by affinity, and that is
    said."""
    with fake(agent, 1), pinned(agent, 5) as held:
        wait_for("hold", lambda: set(affinities(held.process.pid)) ==
                 {frozenset(held.cpus())} and len(held.cpus()) < len(ALL))
        wait_for("warning", lambda: "job 5: pinned by" in agent.log_text())
    wait_for("end", lambda: not agent.job(5)["cpus"])
    assert agent.log_text().count("job 5: pinned by affinity") == 1


def check_warnings(log):
    """Job 5 is said to be pinned by affinity.  So may 1 be, which is in no cgroup
    and may be late to attach.  Nobody else is, at its begin or at its end."""
    warned = re.findall(r"warning: job (\d+): pinned by affinity: ", log)
    assert "5" in warned and set(warned) <= {"1", "5"}, log


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    if len(ALL) < 2 or ALL != set(range(os.cpu_count())):
        skip("needs all CPUs of the machine, two at least")
    with SlurmTree(NAME) as tree, \
            Agent("--set", "attach_timeout=1s", "--node", NAME,
                  "--set", "enforcement=cpuset") as agent:
        check_share(agent, tree)
        check_crash(agent, tree)
        check_attach(agent, tree)
        check_elsewhere(agent)
        check_warnings(agent.log_text())


main()
