#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Stacks of tasks: overflow says what to do and is still a SIGSEGV, the
program's own handlers get what is theirs, idle stacks give memory back,
OMP_STACKSIZE is obeyed."""

import os
import resource
import signal
import subprocess

from fake_agent import BUILD, LIBGOMP_COOP, need, wait_for

PROGRAM = os.path.join(BUILD, "tests/libgomp-coop/test_stack")
MODES = ("donor", "ult", "kthread")


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(name, mode, **environment):
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith(("COSCHED_", "OMP_", "GOMP_"))}
    clean.update(LD_LIBRARY_PATH=LIBGOMP_COOP, COSCHED_MODE=mode,
                 OMP_NUM_THREADS="4", **environment)
    return subprocess.Popen([PROGRAM, name], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=clean, preexec_fn=no_core)


def run(name, mode, **environment):
    with start(name, mode, **environment) as process:
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err


def check_overflow(mode):
    status, out, err = run("overflow", mode, OMP_STACKSIZE="512K")
    assert status == -signal.SIGSEGV, (mode, status, out, err)
    assert "Stack overflow in thread 3" in err, (mode, err)
    assert "OMP_STACKSIZE is 512K, try OMP_STACKSIZE=2M" in err, (mode, err)
    # A frame that is larger than a page does not jump over the guard.
    for name in () if mode == "kthread" else ("frame", "interrupt"):
        status, out, err = run(name, mode, OMP_STACKSIZE="256K")
        assert status == -signal.SIGSEGV, (mode, name, status, out, err)
        assert "OMP_STACKSIZE is 256K" in err, (mode, name, err)
    for home in "01":
        status, out, err = run("initial", mode, COSCHED_STAY_HOME=home)
        assert status == -signal.SIGSEGV, (mode, status, out, err)
        assert "initial thread" in err and "ulimit -s" in err, (mode, err)


def check_other_faults(mode):
    status, out, err = run("null", mode)
    assert status == -signal.SIGSEGV and "Stack" not in err, (mode, status, err)
    for name in ("own", "sent"):
        status, out, err = run(name, mode)
        assert status == 42 and "own handler" in out, (mode, name, status, err)


def check_sizes(mode):
    """From less than a page to more than there is memory."""
    for size in ("1B", "20K", "100K", "64M", "2G"):
        status, out, err = run("small", mode, OMP_STACKSIZE=size)
        assert status == 0 and out == "sum 5\n", (mode, size, status, out, err)
    status, out, err = run("small", mode, OMP_STACKSIZE="200000G")
    assert status == 1 and "Thread creation failed" in err, (mode, status, err)


def resident(pid):
    """KiB of memory that is not backed by a file."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
    return 0


def check_memory(mode, name, kept):
    """Three threads have used 4 MiB each, besides the initial one, and still
    use KEPT KiB."""
    with start(name, mode, OMP_STACKSIZE="8M") as process:
        for line in process.stdout:
            if line == "ready\n":
                break
        before = resident(process.pid)
        wait_for(f"{mode}: memory given back",
                 lambda: resident(process.pid) < before - 3 * (3900 - kept))
        print(f"{mode} {name}: {before} KiB, then {resident(process.pid)} KiB")
        out, err = process.communicate("go on\n", timeout=300)
        assert process.returncode == 0 and out == "sum 4\n", (out, err)


def main():
    need("libgomp-coop/lib-coop/libgomp.so.1", "tests/libgomp-coop/test_stack")
    for mode in MODES:
        check_overflow(mode)
        check_other_faults(mode)
        check_sizes(mode)
    for mode in ("donor", "ult"):
        check_memory(mode, "deep", 0)
        check_memory(mode, "hold", 1024)


main()
