#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""valgrind, AddressSanitizer and ThreadSanitizer with more tasks than CPUs.

Stock libgomp is not known to ThreadSanitizer, which reports races in any
program with OpenMP; here it must only run to the end with right results and
say nothing else than that."""

import os
import shutil
import subprocess

from fake_agent import BUILD, LIBGOMP_COOP, SOURCE, directory, need, skip

SOURCE_FILE = os.path.join(SOURCE, "tests/libgomp-coop/test_stack.c")
PLAIN = os.path.join(BUILD, "tests/libgomp-coop/test_stack")
SUM = "sum 2745\n"  # of "test_stack tasks" with 8 threads


def compiler():
    with open(os.path.join(BUILD, "libgomp-coop/settings"),
              encoding="utf-8") as settings:
        return dict(line.rstrip("\n").split("=", 1) for line in settings)["cc"]


def build(path, sanitizer):
    """The program with SANITIZER, or None where the compiler has it not."""
    program = os.path.join(path, sanitizer)
    done = subprocess.run(
        [compiler(), "-std=gnu17", "-O1", "-g", "-fopenmp",
         f"-fsanitize={sanitizer}", SOURCE_FILE, "-o", program],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"no -fsanitize={sanitizer}: {done.stderr.splitlines()[-1:]}")
        return None
    return program


def run(command, mode, **environment):
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith(("COSCHED_", "OMP_", "GOMP_"))}
    clean.update(LD_LIBRARY_PATH=LIBGOMP_COOP, COSCHED_MODE=mode,
                 OMP_NUM_THREADS="8", **environment)
    done = subprocess.run(command, env=clean, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=200,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def check_address(program):
    for mode in ("donor", "ult", "kthread"):
        # With the option, locals of the program are not on its stacks.
        for option in ("detect_stack_use_after_return=0",
                       "detect_stack_use_after_return=1"):
            status, out, err = run([program, "tasks"], mode,
                                   ASAN_OPTIONS=option)
            assert (status, out, err) == (0, SUM, ""), (mode, option, status,
                                                        out, err)
        status, out, err = run([program, "bad"], mode)
        assert status and "stack-buffer-overflow" in err, (mode, status, err)
        assert "in bad " in err, (mode, err)


def check_thread(program):
    for mode in ("donor", "ult", "kthread"):
        status, out, err = run([program, "tasks"], mode,
                               TSAN_OPTIONS="exitcode=0")
        assert (status, out) == (0, SUM), (mode, status, out, err)
        others = [line for line in err.splitlines()
                  if "ThreadSanitizer" in line
                  and not ("data race" in line or "reported" in line)]
        assert not others, (mode, others, err)


def check_valgrind():
    for mode in ("donor", "ult", "kthread"):
        status, out, err = run(["valgrind", "-q", "--error-exitcode=9",
                                "--fair-sched=yes", PLAIN, "tasks"], mode)
        assert (status, out, err) == (0, SUM, ""), (mode, status, out, err)


def main():
    need("libgomp-coop/lib-coop/libgomp.so.1", "tests/libgomp-coop/test_stack")
    checked = 0
    with directory() as path:
        for name, check in (("address", check_address),
                            ("thread", check_thread)):
            program = build(path, name)
            if program:
                check(program)
                checked += 1
    if shutil.which("valgrind") and os.path.exists(
            "/usr/include/valgrind/valgrind.h"):
        check_valgrind()
        checked += 1
    else:
        print("no valgrind, or not its header")
    if not checked:
        skip("neither sanitizers nor valgrind")


main()
