#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Intel's MKL from PyPI, which brings libiomp5, follows: CPUs are taken and given
while it multiplies matrices and solves systems of equations, and the results
are right.  By `make check-mkl`; it installs mkl and numpy below the build tree.

usage: check_mkl.py | check_mkl.py program LIBRARY"""

import ctypes
import os
import subprocess
import sys
import threading

SIZE = 384


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def multiply(mkl, numpy):
    """Of whole numbers, so that there is one right result."""
    i, j = numpy.indices((SIZE, SIZE))
    a, b = ((i + 2 * j) % 7).astype(float), ((3 * i + j) % 11).astype(float)
    c, one = numpy.zeros((SIZE, SIZE)), ctypes.c_double(1)
    right = a.astype(int) @ b.astype(int)
    while True:
        c.fill(-1)
        mkl.cblas_dgemm(101, 111, 111, SIZE, SIZE, SIZE, one, pointer(a), SIZE,
                        pointer(b), SIZE, ctypes.c_double(0), pointer(c), SIZE)
        yield numpy.array_equal(c, right)


def solve(mkl, numpy):
    """A system whose solution is known."""
    i, j = numpy.indices((SIZE, SIZE))
    a = ((i * j) % 13).astype(float) + SIZE * 13 * (i == j)
    x = numpy.arange(SIZE, dtype=float)
    pivots = numpy.zeros(SIZE, dtype=numpy.int32)
    while True:
        matrix, y = a.copy(), (a * x).sum(axis=1)
        status = mkl.LAPACKE_dgesv(101, SIZE, 1, pointer(matrix), SIZE,
                                   pointer(pivots), pointer(y), 1)
        yield status == 0 and numpy.allclose(x, y, rtol=0, atol=1e-8)


def program(library):
    import numpy
    mkl = ctypes.CDLL(library)
    works = [multiply(mkl, numpy), solve(mkl, numpy)]
    good = all(next(work) for work in works)
    stopped = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stopped.set())).start()
    print("ready", flush=True)
    while good and not stopped.is_set():
        good = all(next(work) for work in works)
    print("PASS" if good else "FAIL")
    return 0 if good else 1


def install(directory):
    """A Python with mkl and numpy, and MKL's library."""
    python = os.path.join(directory, "bin/python")
    library = os.path.join(directory, "lib/libmkl_rt.so")
    if not os.path.exists(f"{directory}/complete"):
        subprocess.run([sys.executable, "-m", "venv", directory], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "mkl", "numpy"],
                       check=True)
        found = [name for name in os.listdir(os.path.dirname(library))
                 if name.startswith("libmkl_rt.so.")]
        if not os.path.exists(library):
            os.symlink(found[0], library)
        with open(f"{directory}/complete", "w", encoding="ascii"):
            pass
    return python, library


def main():
    build = os.environ.setdefault("abs_top_builddir", os.getcwd())
    os.environ.setdefault("abs_top_srcdir", os.path.normpath(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))
    from fake_agent import (FakeAgent, LIBGOMP_COOP, Program, directory,
                            print_us, two_cpus)
    from test_runtime_revoke import toggle
    python, library = install(os.path.join(build, "libgomp-coop/mkl"))
    cpus = two_cpus()
    with directory() as where:
        path = f"{where}/sock"
        for threads in ("2", "7"):
            with FakeAgent(path, cpus) as agent, \
                    Program(os.path.abspath(__file__), "program", library,
                            program=python, socket_path=path,
                            LD_AUDIT=f"{LIBGOMP_COOP}/coschedule-audit.so",
                            LD_LIBRARY_PATH="", MKL_NUM_THREADS=threads,
                            MKL_DYNAMIC="false",
                            OPENBLAS_NUM_THREADS="1") as running:
                revokes, grants = toggle(agent, running, "static", cpus)
                team = agent.clients[0].header_of_report()["team"]
            assert team == int(threads), team
            print_us(f"{threads} threads: revoke in effect", revokes)
            print_us(f"{threads} threads: grant in effect", grants)
    print("PASS")
    return 0


if __name__ == "__main__":
    sys.exit(program(sys.argv[2]) if len(sys.argv) > 2 else main())
