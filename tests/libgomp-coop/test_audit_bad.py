#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Where ours will not do, a program says so once and runs as with its own
libgomp; so it does with any nonsense in the environment."""

import os
import socket

from audit_programs import (AUDIT, HERE, OURS, Running, build_probe, compile_c,
                            link_directory, mapped, needs_audit, run, runtimes,
                            stock_copy)
from fake_agent import SOURCE, directory

# A libgomp of the future, and programs of its time.
FUTURE = """
int omp_future(void) { return 42; }
void omp_set_num_threads(int n) { (void)n; }
"""
FUTURE_MAP = "OMP_1.0 { global: omp_set_num_threads; };\\n%s { omp_future; };\\n"
WANTS = """
#include <stdio.h>
int omp_future(void);
int main(void) { return printf("%d\\n", omp_future()) < 0; }
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def word_of(pid):
    """Why PID keeps its own libgomp, as the agent sees it."""
    mark = "memfd:coschedule-libgomp-"
    return [path.split(mark)[1].split()[0] for path in mapped(pid)
            if mark in path]


def keeps_own(program, why, word, audit=AUDIT, **more):
    """PROGRAM runs with a stock libgomp, for WHY on one line (None: no line)."""
    with Running([program, "dynamic"], audit=audit, **more) as running:
        running.wait_line("ready")
        assert OURS not in runtimes(running.pid), (why, mapped(running.pid))
        assert len(runtimes(running.pid)) == 1, (why, mapped(running.pid))
        assert word_of(running.pid) == [word], (why, mapped(running.pid))
        err = running.stop()
    if why is None:
        assert err == "", err
    else:
        assert why in err and err.count("\n") == 1, (why, err)
        assert err.endswith("runs with its own libgomp, pinned\n"), err


def uses_ours(program, says="", **more):
    with Running([program, "dynamic"], **more) as running:
        running.wait_line("ready")
        assert runtimes(running.pid) == {OURS}, (says, mapped(running.pid))
        assert word_of(running.pid) == []
        err = running.stop()
    assert says in err and len(err.split("\n")) <= 3 if says else err == "", err


def bad_libraries(good):
    """(contents, what is said) of files that are no libgomp of ours."""
    yield None, "cannot be opened"
    yield b"", "cannot be read"
    yield b"#!/bin/sh\n", "is no shared library"
    yield good[:300], "is damaged"
    yield good[:1000], "is cut short"
    yield good[:len(good) // 2], "is cut short"
    yield good[:-1], "is cut short"
    yield good[:4] + b"\1" + good[5:], "for this processor"  # 32 bits
    yield good[:18] + b"\xf3\0" + good[20:], "for this processor"  # RISC-V
    yield good[:16] + b"\2\0" + good[18:], "for this processor"  # a program
    yield good[:54] + b"\xff" + good[55:], "is damaged"  # size of a segment
    yield good[:64] + bytes(56 * 11) + good[64 + 56 * 11:], "is damaged"
    # Another library has none of what a program wants.
    with open("/proc/self/maps", encoding="utf-8") as file:
        libc = [line.split()[5] for line in file if "/libc.so.6" in line][0]
    with open(libc, "rb") as file:
        yield file.read(), "wants"


def check_libraries(path, program):
    with open(OURS, "rb") as file:
        good = file.read()
    for data, why in bad_libraries(good):
        ours = link_directory(f"{path}/bad", **{"libgomp.so.1": data})
        keeps_own(program, why, "newer" if why == "wants" else "broken",
                  audit=f"{ours}/coschedule-audit.so",
                  LD_LIBRARY_PATH=f"{ours}/before-2.35")
    # Damage within the tables we survive; that the file has some only its
    # loading shows.
    image = compile_c(f"{path}/image", f"-I{SOURCE}", f"{HERE}/audit_image.c",
                      f"{SOURCE}/libgomp-coop/audit/image.c",
                      "-fsanitize=address,undefined",
                      "-fno-sanitize-recover=all")
    done = run([image, OURS, f"{path}/damaged"], audit=None)
    assert done[0] == 0, done


def check_newer(path):
    """What a program wants of a newer libgomp, it gets from its own."""
    source = write(f"{path}/future.c", FUTURE)
    wants = write(f"{path}/wants.c", WANTS)
    for version, lacks in (("OMP_99.0", "OMP_99.0"), ("OMP_5.0", "omp_future"),
                           ("", "omp_future")):
        future = f"{path}/future{version}"
        os.makedirs(future)
        name = "libgomp.so.1" if version else "libiomp5.so"
        script = []
        if version:
            script = ["-Wl,--version-script=" + write(
                f"{future}/map", FUTURE_MAP.replace("\\n", "\n") % version)]
        compile_c(f"{future}/{name}", "-fPIC", "-shared", source,
                  f"-Wl,-soname,{name}", *script)
        for flag in ("", "-rdynamic"):
            program = compile_c(f"{path}/wants", wants, f"{future}/{name}",
                                f"-Wl,-rpath,{future}", *filter(None, [flag]))
            status, out, err = run([program])
            assert (status, out) == (0, "42\n"), (version, out, err)
            assert f"wants {lacks}, which" in err and err.count("\n") == 1, err
            assert run([program], COSCHED_LIBGOMP="stock") == (0, "42\n", "")


def check_newer_library(path):
    """The first that asks for libgomp is content with ours, a later one not."""
    future = f"{path}/future.both"
    os.makedirs(future)
    library = compile_c(f"{future}/libgomp.so.1", "-fPIC", "-shared",
                        write(f"{path}/both.c", FUTURE), "-Wl,-soname,libgomp.so.1",
                        "-Wl,--version-script=" + write(
                            f"{future}/map",
                            FUTURE_MAP.replace("\\n", "\n") % "OMP_99.0"))
    rpath = f"-Wl,-rpath,{future}"
    parts = [compile_c(f"{future}/lib{name}.so", "-fPIC", "-shared",
                       write(f"{path}/{name}.c", f"void {call}(int); void {name}"
                             f"(int n) {{ {call}(n); }}\n"), library, rpath)
             for name, call in (("old", "omp_set_num_threads"),
                                ("new", "omp_future"))]
    source = write(f"{path}/both_main.c", "void old(int), new(int);\n"
                   "int main(void) { old(1); new(1); return 7; }\n")
    for order in (parts, parts[::-1]):
        program = compile_c(f"{path}/both", source,
                            "-Wl,--no-as-needed", *order, rpath)
        status, _, err = run([program])
        assert status == 7, (status, err)
        assert "wants OMP_99.0, which" in err and err.count("\n") == 1, err


def check_environment(path, program):
    keeps_own(program, None, "refused", COSCHED_LIBGOMP="stock")
    for variables in ({"COSCHED_LIBGOMP": "coop"}, {"COSCHED_LIBGOMP": ""},
                      {"COSCHED_SOCKET": f"{path}/nowhere"},
                      {"audit": f":{AUDIT}:{AUDIT}"},
                      {"COSCHED_JOB": "7"}):
        uses_ours(program, **variables)
    for variable, value in (("COSCHED_LIBGOMP", "gnu"),
                            ("COSCHED_MODE", "\x7f"), ("COSCHED_ULTS", "x" * 9999),
                            ("COSCHED_SOCKET", "x" * 9999), ("COSCHED_JOB", "-1"),
                            ("COSCHED_JOB", "9" * 30), ("COSCHED_ULTS", "0"),
                            ("COSCHED_CPUS", "a-b")):
        uses_ours(program, says="" if variable == "COSCHED_CPUS" else variable,
                  **{variable: value})
    # A directory that is not ours by name, or too long for any path.
    for audit in ("coschedule-audit.so", "/" * 5000 + AUDIT):
        status, _, _ = run([program, "nothing"], audit=audit)
        assert status > 0, audit


def check_silent_agent(path, program):
    """An agent that accepts, and never answers, or with nonsense."""
    for answer in (None, b"", b"\0" * 100, b'{"v":1,"ok":true}', b"{" * 60000):
        name = f"{path}/silent"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(name)
            listener.listen()
            with Running([program, "dynamic"], COSCHED_SOCKET=name,
                         COSCHED_JOB="7", COSCHED_VERBOSE="1") as running:
                connection, _ = listener.accept()
                with connection:
                    if answer is not None:
                        connection.recv(65536)
                        connection.send(answer)
                    running.wait_line("ready")
                    line = running.process.stderr.readline()
                    while "is kept busy by something else" in line:
                        line = running.process.stderr.readline()
                    running.stop()
                assert f"agent at {name}" in line, (answer, line)
        os.unlink(name)


def main():
    needs_audit()
    with directory() as path:
        stock = stock_copy(f"{path}/stock")
        program = build_probe(f"{path}/rpath", "-Wl,--disable-new-dtags",
                              f"-Wl,-rpath,{stock}")
        check_libraries(path, program)
        check_newer(path)
        check_newer_library(path)
        check_environment(path, program)
        check_silent_agent(path, program)


main()
