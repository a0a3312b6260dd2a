#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Whatever way a program looks for libgomp, it finds the cooperative one, and
follows its allotment; programs without OpenMP do not notice."""

import os
import shutil
import subprocess
import sys

from audit_programs import (AUDIT, HERE, OURS, RENAMED, Running, build_probe,
                            compile_c, follows, mapped, needs_audit,
                            python_calls, run, runtimes, stock_copy)
from coschedtest import LIBGOMP_COOP, LIBGOMP_STOCK
from fake_agent import FakeAgent, directory, two_cpus

# Calls a parallel region of another library than its own, and of its own.
TWO = """
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
int main(int count, char **names)
{
    void *module = dlopen(names[count - 1], RTLD_NOW | RTLD_LOCAL);
    int (*theirs)(void) = module ? (int (*)(void)) dlsym(module, "team") : 0;
    int mine = 0;

    if (!theirs)
        return puts(dlerror()), 1;
    omp_set_num_threads(3);
#pragma omp parallel reduction(+ : mine)
    mine++;
    printf("%d %d\\n", mine, theirs());
    fflush(stdout);
    return getchar() < 0;
}
"""
TEAM = """
int team(void)
{
    int size = 0;
#pragma omp parallel reduction(+ : size)
    size++;
    return size;
}
"""
# Another copy of a library, in another namespace.
SPACE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names)
{
    void *module = dlmopen(LM_ID_NEWLM, names[count - 1], RTLD_NOW);
    int (*theirs)(void) = module ? (int (*)(void)) dlsym(module, "team") : 0;

    return !theirs || printf("%d\\n", theirs()) < 0;
}
"""
# A library with more thread-local storage than fits where the loader has been
# told of audit libraries, and a program with it.
STORAGE = """
static __thread volatile char much[100000] __attribute__((tls_model("initial-exec")));
int storage(void) { return much[5000] = 2; }
"""
STORED = """
#include <stdio.h>
#include <stdlib.h>
int storage(void);
int main(int count, char **names)
{
    return printf("%d %d %s %s\\n", storage(), count, names[1],
                  getenv("LD_AUDIT")) < 0;
}
"""
# A library that the user preloads: it puts itself before one of the C library's.
PRELOAD = """
#include <unistd.h>
int puts(const char *line) { return write(1, "mine\\n", 5) + (line == 0); }
"""
# An audit library of the user's.
OTHER_AUDIT = """
#define _GNU_SOURCE
#include <link.h>
#include <unistd.h>
unsigned la_version(unsigned v) { return v; }
unsigned la_objopen(struct link_map *m, Lmid_t l, uintptr_t *c)
{
    (void)m, (void)l, (void)c;
    return write(2, "seen\\n", 5) < 0;
}
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def llvm():
    """The directory of clang's libomp, or None."""
    if not shutil.which("clang"):
        return None
    found = os.path.realpath(subprocess.run(
        ["clang", "-print-file-name=libomp.so.5"], capture_output=True, text=True,
        check=True).stdout.strip())
    return os.path.dirname(found) if os.path.exists(found) else None


def by_clang(target, *arguments):
    subprocess.run(["clang", "-O1", "-w", "-fopenmp", *arguments, "-o", target],
                   check=True, stdin=subprocess.DEVNULL)
    return target


def shapes(path):
    """(what, command, environment) of programs that would not find ours."""
    stock = stock_copy(f"{path}/stock")
    renamed = stock_copy(f"{path}/wheel.libs", RENAMED)
    old = "-Wl,--disable-new-dtags"
    rpath = build_probe(f"{path}/rpath", old, f"-Wl,-rpath,{stock}")
    yield "DT_RPATH", [rpath, "dynamic"], {}
    yield "DT_RUNPATH", [build_probe(f"{path}/runpath", f"-Wl,-rpath,{stock}",
                                     "-Wl,--enable-new-dtags"), "dynamic"], {}
    os.makedirs(f"{path}/conda/bin")
    stock_copy(f"{path}/conda/lib")
    conda = build_probe(f"{path}/conda/bin/probe", old,
                        "-Wl,-rpath,$ORIGIN/../lib")
    yield "a conda tree", [conda, "dynamic"], {}
    yield "a renamed libgomp", [build_probe(
        f"{path}/renamed", f"-L{renamed}", f"-Wl,-rpath,{renamed}"),
        "dynamic"], {}
    plain = build_probe(f"{path}/plain")
    yield "a module's libgomp", [plain, "dynamic"], {"LD_LIBRARY_PATH": stock}
    yield "a preloaded libgomp", [plain, "dynamic"], {
        "LD_PRELOAD": f"{stock}/libgomp.so.1"}
    yield "no libgomp of its own", [plain, "dynamic"], {}
    library = build_probe(f"{path}/module.so", "-fPIC", "-shared",
                          "-Dmain=probe_main", f"-L{renamed}",
                          f"-Wl,-rpath,{renamed}")
    yield "a library opened by Python", python_calls(library), {}
    if llvm():
        yield "libomp by DT_RPATH", [by_clang(
            f"{path}/by-clang", old, f"-Wl,-rpath,{llvm()}", f"{HERE}/probe.c"),
            "dynamic"], {}


def check_shapes(path, cpus):
    for what, command, more in shapes(path):
        socket = f"{path}/sock"
        with FakeAgent(socket, cpus) as agent, \
                Running(command, COSCHED_SOCKET=socket, COSCHED_JOB="7",
                        **more) as program:
            follows(agent, 0, cpus, program, what)


def check_two(path):
    """A program and a plugin, each with a libgomp of its own: they share one.  So do
    those of two compilers."""
    stock, renamed = f"{path}/stock", f"{path}/wheel.libs"
    source = write(f"{path}/two.c", TWO)
    team = write(f"{path}/team.c", TEAM)
    program = compile_c(f"{path}/two", "-fopenmp", source,
                        "-Wl,--disable-new-dtags", f"-Wl,-rpath,{stock}")
    module = compile_c(f"{path}/team.so", "-fopenmp", "-fPIC", "-shared", team,
                       f"-L{renamed}", f"-Wl,-rpath,{renamed}")
    pairs = [(program, module)]
    if llvm():
        rpath = ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{llvm()}"]
        pairs += [(by_clang(f"{path}/two-clang", source, *rpath), module),
                  (program, by_clang(f"{path}/team-clang.so", "-fPIC", "-shared",
                                     team, *rpath))]
    for pair in pairs:
        with Running(pair) as running:
            running.wait_line("3 3")
            assert runtimes(running.pid) == {OURS}, (pair, mapped(running.pid))
            assert running.process.communicate("x\n") == ("", ""), pair
            assert running.process.returncode == 0, pair
    # By path, as threadpoolctl looks for what is loaded: the same one.
    known = (f"import ctypes, os; ctypes.CDLL({module!r}); "
             f"a = ctypes.CDLL({renamed + '/' + RENAMED!r}, os.RTLD_NOLOAD); "
             "a.omp_set_num_threads(5); "
             f"print(ctypes.CDLL({OURS!r}).omp_get_max_threads())")
    assert run([sys.executable, "-c", known]) == (0, "5\n", "")
    # Another namespace has a libgomp of its own, as without us.
    space = compile_c(f"{path}/space", write(f"{path}/space.c", SPACE))
    assert run([space, module], OMP_NUM_THREADS="4") == (0, "4\n", "")


def check_others(path):
    """Programs without OpenMP do as without us."""
    hello = write(f"{path}/hello.c", '#include <stdio.h>\n'
                  'int main(void) { puts("hello"); return 3; }\n')
    static = compile_c(f"{path}/static", "-static", hello)
    lazy = compile_c(f"{path}/lazy", "-Wl,-z,lazy", hello)
    for command, ending in (
            (["/bin/bash", "-c", "type -t cd; echo $LD_AUDIT; exit 4"],
             (4, f"builtin\n{AUDIT}\n", "")),
            ([sys.executable, "-c", "import json, ctypes; print(json.dumps(1))"],
             (0, "1\n", "")),
            ([static], (3, "hello\n", "")), ([lazy], (3, "hello\n", ""))):
        assert run(command) == ending, command
    # One that cannot be audited is started again, with all its arguments.
    storage = compile_c(f"{path}/libstorage.so", "-fPIC", "-shared",
                        write(f"{path}/storage.c", STORAGE))
    stored = compile_c(f"{path}/stored", write(f"{path}/stored.c", STORED),
                       storage)
    assert run([stored, "a b"]) == (0, "2 2 a b (null)\n", "")
    # With a library that the user preloads.
    mine = compile_c(f"{path}/mine.so", "-fPIC", "-shared", "-w",
                     write(f"{path}/mine.c", PRELOAD))
    assert run([lazy], LD_PRELOAD=mine) == (3, "mine\n", "")
    with Running([f"{path}/rpath", "dynamic"], LD_PRELOAD=mine) as running:
        running.wait_line("mine")
        assert runtimes(running.pid) == {OURS}, mapped(running.pid)
        running.process.communicate("stop\n")
        assert running.process.returncode == 0
    # With an audit library of the user's, before ours and behind it.
    other = compile_c(f"{path}/other.so", "-fPIC", "-shared",
                      write(f"{path}/other.c", OTHER_AUDIT))
    program = f"{path}/rpath"
    for audit in (f"{other}:{AUDIT}", f"{AUDIT}:{other}"):
        with Running([program, "dynamic"], audit=audit) as running:
            running.wait_line("ready")
            assert runtimes(running.pid) == {OURS}, mapped(running.pid)
            assert "seen" in running.stop()


def check_privileged(path):
    """The loader itself ignores us where a program gains privileges."""
    if os.getuid():
        return print("not root: no program that gains privileges")
    program = f"{path}/privileged"
    shutil.copy(f"{path}/rpath", program)
    os.chmod(path, 0o755)
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    with Running([program, "dynamic"]) as running:
        running.wait_line("ready")
        assert AUDIT not in mapped(running.pid)
        assert OURS not in runtimes(running.pid)
        running.stop()


def check_tools(path):
    """gdb, valgrind and sanitizers see the program that they would see."""
    source = f"{HERE}/test_stack.c"
    rpath = ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{LIBGOMP_STOCK}"]
    plain = compile_c(f"{path}/tasks", "-g", "-fopenmp", source, *rpath)
    good, more = "sum 2745\n", {"OMP_NUM_THREADS": "8", "COSCHED_MODE": "donor"}
    done = run(["gdb", "-batch", "-ex", f"set environment LD_AUDIT {AUDIT}",
                "-ex", "break main", "-ex", "run", "-ex",
                "info sharedlibrary", "-ex", "continue", "--args", plain,
                "tasks"], audit=None, DEBUGINFOD_URLS="", **more)
    assert f"{LIBGOMP_COOP}/libgomp.so.1" in done[1] and good.strip() in done[1], done
    done = run(["valgrind", "-q", "--error-exitcode=9", "--fair-sched=yes",
                plain, "tasks"],
               VALGRIND_OPTS="--run-libc-freeres=no", **more)
    assert done == (0, good, ""), done
    for sanitizer, options in (("address", {}),
                               ("thread", {"TSAN_OPTIONS": "exitcode=0"})):
        program = compile_c(f"{path}/{sanitizer}", "-g", "-fopenmp", source,
                            f"-fsanitize={sanitizer}", *rpath)
        done = run([program, "tasks"], **more, **options)
        assert done[:2] == (0, good), (sanitizer, done)


def main():
    needs_audit()
    cpus = two_cpus()
    with directory() as path:
        check_shapes(path, cpus)
        check_two(path)
        check_others(path)
        check_privileged(path)
        check_tools(path)
    assert subprocess.run(["readelf", "-d", AUDIT], capture_output=True,
                          text=True, check=True).stdout.count("NEEDED") == 0


main()
