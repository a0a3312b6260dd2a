#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""gdb's commands of gdb/coschedule.py show tasks that no kernel thread shows,
in a stopped program and in a core file."""

import os
import re
import shutil
import struct
import subprocess

from fake_agent import (BUILD, LIBGOMP_COOP, SOURCE, FakeAgent, allowed_cpus,
                        directory, need, skip)

PROGRAM = os.path.join(BUILD, "tests/libgomp-coop/test_stack")
SCRIPT = os.path.join(SOURCE, "libgomp-coop/gdb/coschedule.py")
SHOW = ("cosched tasks", "cosched bt all", "cosched bt 3 full",
        "print 6 * 7", "cosched bt 99")


def gdb(*arguments):
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith(("COSCHED_", "OMP_", "GOMP_"))}
    done = subprocess.run(
        ["gdb", "--batch", "-nx", "-ex", "set debuginfod enabled off",
         "-ex", "set width 0", *arguments], env=clean, text=True, timeout=300,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    return done.stdout


def commands(words):
    return [argument for word in words for argument in ("-ex", word)]


def prepare(mode):
    """To where all five threads have begun."""
    return (f"set environment LD_LIBRARY_PATH {LIBGOMP_COOP}",
            f"set environment COSCHED_MODE {mode}",
            "set environment OMP_NUM_THREADS 5", "break wait_for_stdin",
            "run gdb", f"source {SCRIPT}")


def check(text, mode):
    """Threads 1 to 4 are in wait_here with a number each, 0 is at its
    breakpoint.  One may be on the second worker, waiting for the barrier."""
    waiting = re.findall(r"thread [1-4]  +suspended in wait_here at "
                         r".*test_stack\.c:\d+\n", text)
    assert len(waiting) >= 3, (mode, text)
    for number in range(1, 5):
        assert re.search(rf"^ +\d+ +thread {number}  +(suspended in|runs on)",
                         text, re.M), (mode, number, text)
        assert re.search(rf"#\d+ +\w+ in wait_here \(mine=(mine@entry=)?"
                         rf"{number}\)", text), (mode, number, text)
    assert re.search(r"initial thread +runs on worker \d+, CPU \d+", text), text
    assert re.search(r"#\d+ .* in stop_in_region._omp_fn.0 \(\)", text), text
    assert "number = 103" in text, (mode, text)
    assert "= 42\n" in text, (mode, text)
    assert "no task 99" in text, (mode, text)


def domains(client):
    """CPU n is in LLC domain n + 3."""
    for cpu in client.granted:
        struct.pack_into("<H", client.allotment.map, 320 + 2 * cpu, cpu + 3)
    struct.pack_into("<I", client.allotment.map, 36, max(client.granted) + 4)


def check_domains():
    """The agent says where the CPUs are that the program had from the start."""
    with directory() as path:
        agent = os.path.join(path, "agent")
        with FakeAgent(agent, allowed_cpus()[:2], spoil=domains):
            text = gdb(*commands((
                f"set environment LD_LIBRARY_PATH {LIBGOMP_COOP}",
                f"set environment COSCHED_SOCKET {agent}",
                "set environment OMP_NUM_THREADS 5", "break wait_for_stdin",
                "run gdb", f"source {SCRIPT}", "cosched tasks")), PROGRAM)
    found = re.search(r"initial thread +runs on worker \d+, CPU (\d+), "
                      r"LLC domain (\d+),", text)
    assert found and int(found[2]) == int(found[1]) + 3, text


def main():
    need("libgomp-coop/lib-coop/libgomp.so.1", "tests/libgomp-coop/test_stack")
    os.sched_setaffinity(0, allowed_cpus()[:2])  # so many workers
    if not shutil.which("gdb"):
        skip("no gdb")
    if "has Python" not in gdb("-ex", "python print('has Python')"):
        skip("this gdb has no Python")
    for mode in ("donor", "ult"):
        with directory() as path:
            core = os.path.join(path, "core")
            text = gdb(*commands(prepare(mode)),
                       *commands((f"generate-core-file {core}",) + SHOW[:-1]),
                       *commands(SHOW[-1:]), PROGRAM)
            if "ptrace" in text or "Couldn't get registers" in text:
                skip("gdb may not trace programs here")
            check(text, mode)
            text = gdb(*commands((f"set solib-search-path {LIBGOMP_COOP}",)),
                       *commands((f"core-file {core}", f"source {SCRIPT}")),
                       *commands(SHOW), PROGRAM)
            check(text, mode + " core")
    check_domains()
    text = gdb(*commands(prepare("kthread") + ("cosched tasks", "print 6 * 7")),
               PROGRAM)
    # gdb itself shows kernel threads.
    assert "thread 4" not in text and "= 42\n" in text, text
    text = gdb("-ex", f"source {SCRIPT}", "-ex", "cosched tasks", PROGRAM)
    assert "is not loaded" in text, text


main()
