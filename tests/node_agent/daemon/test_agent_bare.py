#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Nodes on which something is missing: no room for the state, a log that nobody
reads, no cgroups, processes that others cannot see, programs in a sandbox.  Jobs run
and share as elsewhere, and one line says what is wrong."""

import ctypes
import os
import platform
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import Job
from fakes import (BUILD, FAKE_JOB, GATE, Agent, affinities, allowed_cpus, announce,
                   fake, need, skip, wait_for)

ALL = set(allowed_cpus())
NOBODY = 65534
STANDIN = f"{BUILD}/tests/cluster/standin"
FLOOD = 700 # requests, each of which is a line of the log


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def shared(*jobs):
    """Each of JOBS has CPUs of its own."""
    sets = [job.cpus() for job in jobs]
    return all(sets) and sum(map(len, sets)) == len(set().union(*sets))


class TestAgent(Agent):
    """With its log beside its directory, and a standard error of the test's own."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        descriptor, self.log = tempfile.mkstemp(prefix="cosched-test.log.")
        os.close(descriptor)

    def __exit__(self, *exception):
        super().__exit__(*exception)
        os.unlink(self.log)


# ---- cases ------------------------------------------------------------------------

def case_full():
    """No room for state and socket: jobs come, share and go; said once, and again
    when there is room."""
    with tempfile.TemporaryDirectory(prefix="cosched-full.") as folder:
        mount("-t", "tmpfs", "-o", "size=256k,mode=755", "full", folder)
        agent = TestAgent("--set", "attach_timeout=60s")
        shutil.rmtree(agent.directory)
        agent.directory, agent.socket = folder, f"{folder}/sock"
        with agent, fake(agent, 1) as first:
            wait_for("attach", lambda: agent.attached(1))
            with open(f"{folder}/filler", "wb", buffering=0) as filler:
                try:
                    while True:
                        filler.write(b"x" * 4096)
                except OSError:
                    pass
            with fake(agent, 2) as second:
                wait_for("share", lambda: shared(first, second))
                wait_for("the message", lambda: "error: cannot keep the state: "
                         in agent.log_text())
                health = subprocess.run(
                    [f"{BUILD}/coschedctl", "--socket", agent.socket, "health"],
                    capture_output=True, text=True, check=False)
                assert health.returncode and "cannot keep the state" in \
                    health.stdout, health
            # Another agent starts here all the same, and knows what was kept.
            agent.kill()
            agent.start()
            wait_for("attach again", lambda: agent.attached(1))
            with fake(agent, 3) as third:
                wait_for("share", lambda: shared(first, third))
                os.unlink(f"{folder}/filler")
                wait_for("the message", lambda: "the state is kept again" in
                         agent.log_text())
            assert agent.log_text().count("error: cannot keep the state: ") == 2
        subprocess.run(["umount", "-l", folder], check=True)


def flood(agent):
    for number in range(FLOOD):
        assert announce(agent, 10 + number)["ok"]
        assert agent.call({"op": "withdraw", "job": 10 + number})["ok"]


def case_log():
    """Nobody reads standard error, as while journald hangs; then it has gone."""
    agent = TestAgent()
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    agent.process = subprocess.Popen(
        [f"{BUILD}/coschedd", "--foreground", "--no-slurm", "--auth", "peer",
         "--socket", agent.socket, "--state", f"{agent.directory}/state.json",
         "--log-level", "info"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=ends[1])
    ends[1].close()
    try:
        wait_for("agent", agent.alive)
        flood(agent)
        ends[0].settimeout(0)
        try:
            while ends[0].recv(1 << 16):
                pass
        except BlockingIOError:
            pass
        flood(agent) # a part of it is read by nobody, again
        text = ends[0].recv(1 << 16).decode()
        assert " lines of the log were lost: nobody read it" in text, text[:500]
        ends[0].close()
        flood(agent)
    finally:
        agent.stop()
    assert agent.process.returncode == 0, agent.process.returncode
    shutil.rmtree(agent.directory)


def case_syslog():
    """Nobody reads /dev/log, and then nobody listens there."""
    old = tempfile.mkdtemp(prefix="cosched-dev.")
    try:
        mount("--rbind", "/dev", old)
        mount("-t", "tmpfs", "-o", "mode=755", "dev", "/dev")
        for name in ("null", "zero", "full", "random", "urandom"):
            with open(f"/dev/{name}", "wb"):
                pass
            mount("--bind", f"{old}/{name}", f"/dev/{name}")
        flood_log()
    finally:
        # Nothing that removes what is in a directory: the node's own devices are.
        subprocess.run(["umount", "-l", "/dev", old], check=False)
        os.rmdir(old)


def flood_log():
    agent = TestAgent()
    pidfile = f"{agent.directory}/pid"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind("/dev/log")
        subprocess.run(
            [f"{BUILD}/coschedd", "--no-slurm", "--auth", "peer", "--socket",
             agent.socket, "--state", f"{agent.directory}/state.json",
             "--log-level", "info", "--pidfile", pidfile], check=True)
        with open(pidfile, encoding="ascii") as file:
            pid = int(file.read())
        try:
            flood(agent)
            while b" lines of the log were lost" not in log.recv(2000):
                announce(agent, 9)
                agent.call({"op": "withdraw", "job": 9})
            log.close()
            os.unlink("/dev/log")
            flood(agent)
        finally:
            os.kill(pid, 15)
            wait_for("end", lambda: not os.path.exists(pidfile))
    shutil.rmtree(agent.directory)


def held(agent, uid, program, said=""):
    """A PROGRAM of UID that does not cooperate is pinned beside another job, which is
    SAID, and has all CPUs again afterwards."""
    announce(agent, 1, uid=uid)
    with subprocess.Popen([program, "pool", "3"], user=uid, group=uid, extra_groups=[],
                          stdin=subprocess.DEVNULL) as process:
        try:
            reply = agent.call({"op": "task", "job": 1, "step": 0, "pid": process.pid})
            assert reply["ok"], reply
            with fake(agent, 2):
                wait_for("pinned", lambda: agent.job(1)["state"] == "pinned" and all(
                    len(cpus) < len(ALL) for cpus in affinities(process.pid)))
                wait_for(f"{said!r} in the log", lambda: said in agent.log_text())
            wait_for("widened", lambda: all(
                cpus == ALL for cpus in affinities(process.pid)))
        finally:
            process.kill()
    assert agent.call({"op": "withdraw", "job": 1})["ok"]


def case_cgroups():
    """A kernel or container without any cgroups."""
    subprocess.run(["umount", "-R", "-l", "/sys/fs/cgroup"], check=True)
    with TestAgent("--set", "enforcement=cpuset", "--set",
                   "attach_timeout=200ms") as agent:
        held(agent, 0, STANDIN, "warning: job 1: pinned by affinity: no cgroup")


def case_hidden():
    """/proc with hidepid=2: only root sees processes of others."""
    mount("-t", "proc", "-o", "hidepid=2", "proc", "/proc")
    seen = subprocess.run(["ls", "-d", f"/proc/{os.getpid()}"], check=False,
                          user=NOBODY, group=NOBODY, extra_groups=[],
                          capture_output=True)
    assert seen.returncode, "hidepid is not in effect"
    # The build tree may be root's alone.
    with TestAgent("--set", "attach_timeout=200ms") as agent, \
            tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for program in (FAKE_JOB, STANDIN):
            shutil.copy(program, folder)
        held(agent, NOBODY, f"{folder}/standin")
        announce(agent, 3, uid=NOBODY)
        with subprocess.Popen([*GATE, f"{folder}/fake_job", agent.socket, "3"],
                              user=NOBODY, group=NOBODY, extra_groups=[],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as job:
            try:
                assert agent.call({"op": "task", "job": 3, "step": 0,
                                   "pid": job.pid})["ok"]
                job.stdin.write(b"go\n")
                job.stdin.close()
                wait_for("attach", lambda: agent.attached(3))
            finally:
                job.kill()


# Numbers of x86-64 and aarch64.
CALLS = {
    "x86_64": (0xc000003e, {
        "socket": 41, "connect": 42, "memfd_create": 319, "sched_setaffinity": 203,
        "sched_getaffinity": 204, "timer_create": 222, "membarrier": 324,
        "userfaultfd": 323, "perf_event_open": 298, "pidfd_open": 434,
        "pidfd_send_signal": 424, "personality": 135, "mlock": 149, "getcpu": 309,
        "sigaltstack": 131, "clone3": 435, "rseq": 334}),
    "aarch64": (0xc00000b7, {
        "socket": 198, "connect": 203, "memfd_create": 279, "sched_setaffinity": 122,
        "sched_getaffinity": 123, "timer_create": 107, "membarrier": 283,
        "userfaultfd": 282, "perf_event_open": 241, "pidfd_open": 434,
        "pidfd_send_signal": 424, "personality": 92, "mlock": 228, "getcpu": 168,
        "sigaltstack": 132, "clone3": 435, "rseq": 293}),
}
SANDBOXES = {
    # As containers have it, or nearly so; what the kernel does not know in others.
    "container": (1, ("userfaultfd", "perf_event_open", "pidfd_open", "personality",
                      "memfd_create", "mlock")),
    "old kernel": (38, ("clone3", "rseq", "membarrier", "memfd_create", "getcpu",
                        "pidfd_open", "pidfd_send_signal")),
    "affinity": (1, ("sched_setaffinity",)),
    "no affinity at all": (1, ("sched_setaffinity", "sched_getaffinity")),
    "timers and stacks": (1, ("timer_create", "membarrier", "sigaltstack")),
    "no sockets": (1, ("socket", "connect")),
}


def confine(error, names):
    """From now on these calls fail in this process and its children."""
    architecture, numbers = CALLS[platform.machine()]
    load, jump, give = 0x20, 0x15, 0x06
    filters = [(load, 0, 0, 4), (jump, 1, 0, architecture), (give, 0, 0, 0x7fff0000),
               (load, 0, 0, 0)]
    for name in names:
        filters += [(jump, 0, 1, numbers[name]), (give, 0, 0, 0x00050000 | error)]
    filters.append((give, 0, 0, 0x7fff0000))
    code = ctypes.create_string_buffer(b"".join(
        struct.pack("=HBBI", *one) for one in filters))
    program = struct.pack("@HP", len(filters), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0, \
        ctypes.get_errno() # PR_SET_SECCOMP


def case_sandbox():
    """Programs that may not make some calls: the right result, whether they can
    cooperate or not, and shared with another."""
    if platform.machine() not in CALLS:
        return
    with TestAgent("--set", "attach_timeout=200ms") as agent, fake(agent, 99) as other:
        for number, (name, (error, calls)) in enumerate(SANDBOXES.items(), 1):
            command = [sys.executable, os.path.abspath(__file__), "confined",
                       str(error), ",".join(calls), f"{BUILD}/jobs/ep", "--class", "S",
                       "--min-time", "0.5"]
            with Job(agent, number, command) as job:
                assert job.wait() == 0 and "PASS" in job.text(), (name, job.text())
        wait_for("all CPUs for the other", lambda: other.cpus() == ALL)
        log = agent.log_text()
        # Which of the others attach within their time depends on the machine's load.
        assert not any(f"job {number}: process" in log
                       for number, name in enumerate(SANDBOXES, 1)
                       if name == "no sockets"), log


def main():
    if sys.argv[1:2] == ["confined"]:
        confine(int(sys.argv[2]), sys.argv[3].split(","))
        os.execv(sys.argv[4], sys.argv[4:])
    if len(sys.argv) == 2:
        globals()["case_" + sys.argv[1]]()
        return
    need("coschedd", "coschedctl", "jobs/ep", "tests/node_agent/daemon/fake_job",
         "libgomp-coop/lib-coop/libgomp.so.1", "tests/cluster/standin")
    if len(ALL) < 2:
        skip("one CPU cannot be shared in space")
    case_log()
    case_sandbox()
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"],
                                           check=False).returncode:
        skip("the rest needs root and namespaces")
    for case in ("full", "syslog", "cgroups", "hidden"):
        subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child",
                        "--mount-proc", "--propagation", "private", sys.executable,
                        os.path.abspath(__file__), case], check=True)


main()
