#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Jobs of users who mean harm, beside another user's job, on a cluster with cgroups:
they get out of nothing, forge nothing, and take nothing.  In namespaces of its own:
users, cgroups, and numbers of processes that come round again at will.

usage: test_hostile.py [CASE]..."""

import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
import namespaces
from coschedcluster import Cluster, need_cluster
from coschedtest import BUILD, allowed_cpus, cpu_list, need, skip, threads, wait_for

ALL = set(allowed_cpus())
VICTIM, ENEMY, THIRD = 61001, 61002, 61003
PARTS = ("ep", "cg", "pinned")

# Connects, hands the connection to its parent, and ends: the number of the process
# that connected is free, and is taken by a process of root's (ns_last_pid).
REUSE = """
import json, os, socket, subprocess, sys
path, job, want = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ours, theirs = socket.socketpair()
pid = os.fork()
if pid == 0:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    socket.send_fds(theirs, [b"x"], [s.fileno()])
    os._exit(0)
_, fds, _, _ = socket.recv_fds(ours, 1, 1)
os.waitpid(pid, 0)
s = socket.socket(fileno=fds[0])
print("pid", pid, flush=True)
while not os.path.exists(want):
    pass
s.send(json.dumps({"v": 1, "op": "attach", "job": job, "pid": pid,
                   "threads": 2}).encode())
try:
    print("reply", s.recv(4096).decode(), flush=True)
except ConnectionError as error:
    print("reply", error, flush=True)
"""
# Connections that ask for the largest reply, again and again, and read it or not.
FLOOD = """
import os, select, socket, sys
path = sys.argv[1]
all = []
while True:
    while len(all) < 120:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.setblocking(False)
        try:
            s.connect(path)
        except OSError:
            break
        all.append(s)
    for s in list(all):
        try:
            s.send(b'{"v":1,"op":"trace"}' if len(all) % 2 else
                   b'{"v":1,"op":"explain"}')
            s.recv(1 << 17)
        except BlockingIOError:
            pass
        except OSError:
            s.close()
            all.remove(s)
"""
# Continues all processes of its user, as fast as it can.
CONTINUE = """
import os, signal
while True:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                os.kill(int(name), signal.SIGCONT)
            except OSError:
                pass
"""


# ---- jobs ---------------------------------------------------------------------------

class Hostile(Cluster):
    """A cluster whose users may read what its jobs need."""

    def __enter__(self):
        super().__enter__()
        self.open_to_all()
        self.bin = f"{self.directory}/bin"
        os.mkdir(self.bin)
        for name in PARTS:
            shutil.copy(f"{BUILD}/jobs/{name}", self.bin)
        shutil.copy(f"{BUILD}/tests/cluster/standin", self.bin)
        shutil.copy(f"{BUILD}/tests/cluster/standin", f"{self.bin}/slurmstepd")
        shutil.copy(sys.executable if not sys.executable.startswith("/root") else
                    "/usr/bin/python3", f"{self.bin}/python")
        return self

    def submit(self, user, text, *options):
        """A job of USER that runs TEXT; its number."""
        done = self.run("sbatch", "--parsable", "--coschedule", "--mem=50", *options,
                        "--wrap", text.replace("BIN", self.bin), user=user, group=user,
                        extra_groups=[])
        assert done.returncode == 0, done
        return int(done.stdout.split(";")[0])

    def script(self, name, text):
        path = f"{self.output}/{name}.py"
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def cpus(self, job):
        return cpu_list(self.status().get(job, {}).get("cpus", ""))

    def over(self, *jobs):
        self.run("scancel", *map(str, jobs))
        self.wait_end(*jobs)
        wait_for("an agent without these jobs",
                 lambda: not set(jobs) & set(self.status()), 60, 0.1)

    @property
    def socket(self):
        return f"{self.root}/run/coschedd-n1.sock"


def named(name, user):
    """Living processes NAME of USER."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as comm:
                if comm.read().strip() == name and os.stat(f"/proc/{pid}").st_uid == user:
                    found.append(int(pid))
        except OSError:
            continue
    return [pid for pid in found if state(pid) not in "ZX"]


def state(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def ticks(pids):
    """CPU time that PIDS have used."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total


def masks(pid):
    found = []
    for tid, _, _ in threads(pid):
        try:
            found.append(os.sched_getaffinity(tid))
        except OSError:
            pass
    return found


def beside(c):
    """The victim's job, which has cores of its own once another is there."""
    return c.submit(VICTIM, "BIN/ep --class W --min-time 300", "-J", "victim")


def contained(c, job, victim, name, count=1):
    """The processes NAME of the enemy's JOB stay off the VICTIM's cores."""
    pids = named(name, ENEMY)
    mine, its = c.cpus(job), c.cpus(victim)
    if len(pids) < count or not mine or not its or mine & its:
        return False
    return all(mask <= mine for pid in pids for mask in masks(pid))


# ---- cases -----------------------------------------------------------------------

def case_escapes(c):
    """New sessions, double forks, and a program named as Slurm's own."""
    victim = beside(c)
    job = c.submit(ENEMY, "(setsid BIN/standin pool 2 &); "
                   "(setsid sh -c '(setsid BIN/standin pool 2 &) &' &); "
                   "BIN/slurmstepd pool 2 & sleep 300")
    wait_for("containment of sessions and double forks",
             lambda: contained(c, job, victim, "standin", 2), 60)
    wait_for("containment of a program named slurmstepd",
             lambda: contained(c, job, victim, "slurmstepd"), 25)
    c.over(job, victim)
    wait_for("end of all that the job began",
             lambda: not named("standin", ENEMY) + named("slurmstepd", ENEMY))


def case_continue(c):
    """A user continues his own parked jobs: they are stopped again."""
    jobs = [c.submit(ENEMY, "BIN/standin pool 2") for _ in range(len(ALL))]
    victim = beside(c)
    path = c.script("continue", CONTINUE)
    with subprocess.Popen(["/usr/bin/python3", path], user=ENEMY, group=ENEMY,
                          extra_groups=[]) as enemy:
        try:
            def parked():
                return [pid for job in jobs if not c.cpus(job)
                        for pid in c.programs("standin").get(job, [])]
            wait_for("a parked job", parked, 60, 0.05)
            stopped = samples = 0
            while samples < 40:
                if (pids := parked()):
                    samples += 1
                    stopped += all(state(pid) == "T" for pid in pids)
                time.sleep(0.05)
        finally:
            enemy.kill()
    print(f"stopped in {stopped} of {samples} samples while being continued")
    assert stopped, "nothing stops what its user continues"
    c.over(*jobs, victim)


def case_restarts(c):
    """SLURM_RESTART_COUNT of the user's own changes nothing."""
    victim = beside(c)
    job = c.submit(ENEMY, "BIN/standin pool 2 & sleep 4; SLURM_RESTART_COUNT=7 "
                   "srun --overlap -n1 true; touch stepped; sleep 300",
                   "-D", c.output)
    wait_for("containment", lambda: contained(c, job, victim, "standin"), 60)
    wait_for("the forged step", lambda: os.path.exists(f"{c.output}/stepped"), 60)
    wait_for("containment after it", lambda: contained(c, job, victim, "standin"), 5)
    c.over(job, victim)
    record = c.wait_final(job)
    held = float(record.split(" core_s=")[1].split()[0])
    assert held >= 3, record


def case_names(c):
    """A name with separators and newlines gives nobody else a row."""
    forged = "x\x1f77\x1fCOMPLETED\n99|61001|victim|cosched/1 state=final core_s=9"
    job = c.submit(ENEMY, "true", "-J", forged)
    c.wait_end(job)
    c.wait_state(job, "COMPLETED")
    tools = os.path.join(os.environ["abs_top_srcdir"], "slurm_conf")
    out = c.call(f"{tools}/coschedreport", "-a", "-S", "now-1hour", "--csv")
    assert not any(line.startswith("99,") for line in out.splitlines()), out


def case_floods(c):
    """Another user floods the agent: jobs begin, share and end as ever."""
    path = c.script("flood", FLOOD)
    floods = [subprocess.Popen(["/usr/bin/python3", path, c.socket], user=user,
                               group=user, extra_groups=[])
              for user in (ENEMY, THIRD)]
    try:
        victim = beside(c)
        seen = f"{c.output}/seen" # a job of some seconds may be over before anybody looks
        other = c.submit(VICTIM, "echo cosched=$COSCHED_JOB; until BIN/cg --class S "
                         f"--min-time 3 && [ -e {seen} ]; do :; done")
        wait_for("share of the victim's jobs", lambda: c.cpus(victim) and
                 c.cpus(other) and not c.cpus(victim) & c.cpus(other), 60)
        with open(seen, "w", encoding="ascii"):
            pass
        c.wait_end(other)
        wait_for("output", lambda: "PASS" in c.text(other))
        assert f"cosched={other}" in c.text(other), c.text(other)
        wait_for("all cores", lambda: c.cpus(victim) == ALL, 30)
        c.over(victim)
    finally:
        for flood in floods:
            flood.kill()
            flood.wait()


def next_pid(pid):
    """The next process of this namespace gets PID."""
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
        file.write(str(pid - 1))


def case_reuse(c):
    """The number of the process that connected is root's now: it is nobody's to
    adopt."""
    path, go = c.script("reuse", REUSE), f"{c.output}/reuse-go"
    victim = beside(c)
    job = c.submit(ENEMY, f"/usr/bin/python3 {path} {c.socket} $COSCHED_JOB {go}; "
                   "sleep 300")
    text = wait_for("a connection", lambda: "pid " in c.text(job) and c.text(job), 60)
    pid = int(text.split("pid ")[1].split()[0])
    for _ in range(200):
        next_pid(pid)
        root = subprocess.Popen([f"{c.bin}/standin", "pool", "2"])
        if root.pid == pid:
            break
        root.kill()
        root.wait()
    try:
        assert root.pid == pid, "the number did not come round"
        open(go, "w", encoding="ascii").close()
        text = wait_for("a reply", lambda: "reply " in c.text(job) and c.text(job), 60)
        reply = text.split("reply ")[1]
        assert '"ok":true' not in reply.replace(" ", ""), reply
        wait_for("disjoint cores", lambda: c.cpus(job).isdisjoint(c.cpus(victim)))
        for _ in range(40):
            assert all(mask == ALL for mask in masks(pid)), masks(pid)
            assert state(pid) != "T"
            time.sleep(0.05)
    finally:
        root.kill()
        root.wait()
    c.over(job, victim)


def case_namespaces(c):
    """Programs in namespaces of their own are the job's all the same."""
    victim = beside(c)
    job = c.submit(ENEMY, "unshare --user --map-root-user --pid --fork --mount-proc "
                   "BIN/standin pool 2 || BIN/standin pool 2")
    wait_for("containment", lambda: contained(c, job, victim, "standin"), 60)
    c.over(job, victim)
    right = c.submit(ENEMY, "unshare --user --map-root-user --pid --fork "
                     "BIN/ep --class S --min-time 1")
    c.wait_end(right)
    wait_for("its result", lambda: "PASS" in c.text(right))


def case_suspended(c):
    """What Slurm suspends while jobs take turns stays suspended until it resumes."""
    jobs = [c.submit(user, "BIN/pinned --class W --min-time 300")
            for user in (VICTIM, ENEMY, THIRD)[:len(ALL) + 1]]
    wait_for("turns", lambda: any(entry["state"] == "parked"
                                  for entry in c.status().values()), 60)
    pids = wait_for("its program", lambda: c.programs("pinned").get(jobs[1]), 60, 0.05)
    c.call("scontrol", "suspend", str(jobs[1]))
    # Slurm does so by SIGTSTP, and seconds later by SIGSTOP or its freezer.
    since, used = time.monotonic(), ticks(pids)

    def stays():
        nonlocal since, used
        if ticks(pids) != used:
            since, used = time.monotonic(), ticks(pids)
        return time.monotonic() - since > 4
    wait_for("its stop", stays, 60, 0.05)
    # In its turn, if it was stopped while it waited for that.
    wait_for("the agent's sight of it",
             lambda: c.status()[jobs[1]]["state"] == "suspended", 60, 0.1)
    # Turns of the others, a job that ends, and other agents.
    time.sleep(3)
    assert ticks(pids) == used, "continued by a turn"
    c.over(jobs[0])
    assert ticks(pids) == used, "continued by the end of a job"
    c.agent("stop")
    c.agent("start")
    c.crash_agent()
    time.sleep(0.5)
    assert ticks(pids) == used, "continued by the agent's end"
    c.agent("start")
    time.sleep(1)
    assert ticks(pids) == used, "continued by the next agent"
    c.call("scontrol", "resume", str(jobs[1]))
    wait_for("its resumption", lambda: ticks(pids) > used, 30, 0.05)
    c.over(*jobs[1:])


CASES = ("escapes", "continue", "restarts", "names", "floods", "reuse", "namespaces",
         "suspended")


def main():
    need_cluster()
    need("tests/cluster/standin")
    if len(ALL) < 2:
        skip("one CPU cannot be shared in space")
    if not namespaces.inside():
        if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"],
                          check=False).returncode:
            skip("no namespaces here")
        sys.exit(namespaces.enter(sys.argv[1:], cgroups=True))
    bad = []
    parent = namespaces.settle((VICTIM, ENEMY, THIRD), cgroups=True)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with Hostile(cgroup=True, parent=parent) as c:
        for name in sys.argv[1:] or CASES:
            began = time.monotonic()
            try:
                globals()[f"case_{name}"](c)
                result = "passed"
            except AssertionError as error:
                bad.append(name)
                result = f"FAILED: {str(error)[:600]}"
                c.run("scancel", "--user=user61001,user61002,user61003")
                c.run("scancel", "-u", "user61001")
                c.run("scancel", "-u", "user61002")
                c.run("scancel", "-u", "user61003")
                c.agent("start")
            print(f"{name}: {result} ({time.monotonic() - began:.1f} s)", flush=True)
        assert not bad, bad


main()
