#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Donors of thread-local storage: user ids change in all kernel threads, what
happens when there are not enough donors, their reuse, and a C library that
does not know restartable sequences."""

import contextlib
import os
import re
import resource
import shutil
import subprocess

from fake_agent import (BUILD, LIBGOMP_COOP, FakeAgent, Program, directory,
                        need, needs_probe, two_cpus, wait_for)

TOLD = "not every thread can have storage of its own"
REFUSED = "Thread creation failed: Resource temporarily unavailable"
UNUSED_USER = 61234  # has no processes: its limit is all for the test


def check_ids(path, cpus):
    """By turns in all threads, while CPUs come and go."""
    for test in ("", "by_kernel"):
        with FakeAgent(path, cpus) as agent, \
                Program("ids", program="test_donor", socket_path=path,
                        OMP_NUM_THREADS="6", COSCHED_TEST=test) as program:
            program.wait_line("ready")
            client = agent.client()
            for round_ in range(60):
                generation, _ = client.allot(
                    [cpus[:1], cpus, cpus[1:]][round_ % 3])
                wait_for("applied allotment",
                         lambda: client.applied(generation), every=0.003)
            program.stop()


def check_begin(path, cpus):
    """Threads that the initial one creates do not begin behind it, on its CPU, where they
    would wait until its time slice is over: nobody else is bound to that."""
    with FakeAgent(path, cpus) as agent, \
            Program("team", socket_path=path, OMP_NUM_THREADS="6",
                    COSCHED_MODE="donor") as program:
        agent.client()
        program.wait_line("ready")
        def bound():
            masks = {int(tid): os.sched_getaffinity(int(tid))
                     for tid in os.listdir(f"/proc/{program.pid}/task")}
            assert len(masks) >= 8, masks # five donors, a scheduler's, monitor, worker
            return {tid: mask.pop() for tid, mask in masks.items() if len(mask) == 1}
        wait_for("workers on both CPUs", lambda: sorted(set(bound().values())) == cpus)
        at = bound()
        assert [tid for tid in at if at[tid] == at[program.pid]] == [program.pid], at
        program.stop()


def run(path, cpus, *arguments, program="test_donor", prepare=None, user=None,
        **environment):
    """(exit status, stdout, stderr) of a program under a fake agent."""
    command = [os.path.join(os.path.dirname(path), program)]
    shutil.copy(os.path.join(BUILD, "tests/libgomp-coop", program), command[0])
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith(("COSCHED_", "OMP_", "GOMP_"))}
    with FakeAgent(path, cpus):
        os.chmod(path, 0o777)
        done = subprocess.run(
            command + list(arguments), capture_output=True, text=True,
            timeout=300, stdin=subprocess.DEVNULL, preexec_fn=prepare,
            user=user, group=user, extra_groups=[] if user else None,
            env={**clean, "LD_LIBRARY_PATH": os.path.dirname(path),
                 "COSCHED_SOCKET": path, "COSCHED_JOB": "7", **environment})
    return done.returncode, done.stdout, done.stderr


def check_mixed(path, cpus):
    """Every second donor fails: said once, and the team works."""
    status, out, err = run(path, cpus, "mixed", COSCHED_TEST="no_donors",
                           OMP_NUM_THREADS="9")
    assert status == 0 and "PASS" in out, (status, out, err)
    assert err.count(TOLD) == 1, err
    status, out, err = run(path, cpus, "mixed", OMP_NUM_THREADS="9")
    assert status == 0 and "PASS" in out and TOLD not in err, (out, err)


def check_refused(path, cpus):
    """Not for programs with threadprivate variables, nor if donors were
    asked for: these end as with the stock library."""
    for arguments in (
            {"program": "probe", "COSCHED_TEST": "no_donors"},
            {"program": "test_donor", "COSCHED_TEST": "no_donors",
             "COSCHED_MODE": "donor"}):
        name = "team" if arguments["program"] == "probe" else "mixed"
        status, out, err = run(path, cpus, name, OMP_NUM_THREADS="9",
                               **arguments)
        assert status == 1 and "PASS" not in out, (status, out)
        assert REFUSED in err and TOLD not in err, err


def check_limits(path, cpus):
    """A real limit on the user's processes, and one on memory."""
    if os.getuid() != 0:
        print("limits: only root can become a user without processes")
        return
    os.chmod(os.path.dirname(path), 0o755)

    def few_processes():
        resource.setrlimit(resource.RLIMIT_NPROC, (30, 30))

    def little_memory():
        resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))

    status, out, err = run(path, cpus, "mixed", prepare=few_processes,
                           user=UNUSED_USER, OMP_NUM_THREADS="60")
    assert status == 0 and "PASS" in out, (status, out, err)
    assert err.count(TOLD) == 1, err
    status, out, err = run(path, cpus, "team", program="probe",
                           prepare=few_processes, user=UNUSED_USER,
                           OMP_NUM_THREADS="60")
    assert status == 1 and REFUSED in err, (status, out, err)
    # Stacks do not fit either: as with the stock library.
    status, out, err = run(path, cpus, "mixed", prepare=little_memory,
                           OMP_NUM_THREADS="60")
    assert status == 1 and REFUSED in err, (status, out, err)


@contextlib.contextmanager
def pids_cgroup(limit):
    """A control group of at most LIMIT threads; None where none can be made."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        groups = [line.rstrip("\n").split(":", 2) for line in file]
    tops = [f"/sys/fs/cgroup/pids{g[2]}" for g in groups if g[1] == "pids"]
    tops += [f"/sys/fs/cgroup{g[2]}" for g in groups if g[0] == "0"]
    for top in tops:
        group = os.path.join(top, f"coop-test-{os.getpid()}")
        with contextlib.suppress(OSError):
            os.mkdir(group)
            try:
                with open(f"{group}/pids.max", "w", encoding="ascii") as file:
                    file.write(str(limit))
            except OSError:
                os.rmdir(group)
                raise
            break
    else:
        yield None
        return
    try:
        yield group
    finally:
        wait_for("empty control group", lambda: not remains(group))


def remains(group):
    """Remove GROUP; its processes are over, but may not be gone."""
    try:
        os.rmdir(group)
    except OSError:
        return True
    return False


def check_cgroup(path, cpus):
    """A limit on the threads of the job's control group, as Slurm sets."""
    with pids_cgroup(30) as group:
        if group is None:
            print("control group: no pids controller that can be used here")
            return

        def enter():
            with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

        status, out, err = run(path, cpus, "mixed", prepare=enter,
                               OMP_NUM_THREADS="60")
        assert status == 0 and "PASS" in out, (status, out, err)
        assert err.count(TOLD) == 1, err


def check_births(path, cpus):
    """The second worker creates donors, too, unless it came too late."""
    for _ in range(20):
        status, out, err = run(path, cpus, "births", OMP_NUM_THREADS="80")
        assert status == 0 and "PASS" in out, (status, out, err)
        if int(re.search(r"creators (\d+)", out)[1]) > 1:
            return
    assert False, "one thread creates all donors"


def check_reuse(path, cpus):
    """Fifty nested teams need no more kernel threads than the first did."""
    status, out, err = run(path, cpus, "nested")
    assert status == 0, (out, err)
    threads = int(re.search(r"threads (\d+)", out)[1])
    # Initial thread, its scheduler, a worker, monitor; one team mate, twice
    # three nested ones; some allowance for threads that begin late.
    assert threads <= 4 + 1 + 6 + 2, out
    print(f"nested teams: {threads} kernel threads")


def check_old_glibc(path, cpus):
    """With a C library that lacks __rseq_*, which came with 2.35: they are
    weak and of no version, so the library loads (here: renamed)."""
    library = os.path.join(os.path.dirname(path), "libgomp.so.1")
    with open(library, "rb") as file:
        image = file.read()
    assert b"GLIBC_2.35\0" not in image
    for symbol in (b"\0__rseq_offset\0", b"\0__rseq_size\0"):
        assert image.count(symbol) >= 1
        image = image.replace(symbol, b"\0__none" + symbol[7:])
    with open(library, "wb") as file:
        file.write(image)
    for _ in range(20):  # where the machine is busy, it may end before the agent has answered
        status, out, err = run(path, cpus, "mixed", COSCHED_VERBOSE="1",
                               GLIBC_TUNABLES="glibc.pthread.rseq=0")
        assert status == 0 and "PASS" in out, (status, out, err)
        assert "kernel-thread" not in err, err
        if "attached" in err:
            return
    raise AssertionError("never attached")


def main():
    needs_probe()
    need("tests/libgomp-coop/test_donor")
    cpus = two_cpus()
    with directory() as path:
        check_begin(f"{path}/sock", cpus)
        shutil.copy(os.path.join(LIBGOMP_COOP, "libgomp.so.1"), path)
        path = f"{path}/sock"
        check_ids(path, cpus)
        check_mixed(path, cpus)
        check_refused(path, cpus)
        check_limits(path, cpus)
        check_cgroup(path, cpus)
        check_births(path, cpus)
        check_reuse(path, cpus)
        check_old_glibc(path, cpus)


main()
