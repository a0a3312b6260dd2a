#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Which programs get kernel threads by themselves: those that import, or
whose OpenMP libraries import, what donors cannot give; and no others."""

import os
import shutil
import subprocess

from fake_agent import (BUILD, MODES, FakeAgent, Program, directory,
                        needs_probe, two_cpus)
from coschedtest import SOURCE, allowed_cpus

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
extern void library(void);
int main(int argc, char **argv)
{
    pthread_mutexattr_t ma;
    pthread_attr_t a;
    cpu_set_t cpus;
    struct sched_param param = {0};
    int total = 0;

    pthread_mutexattr_init(&ma);
    pthread_attr_init(&a);
    sched_getaffinity(0, sizeof cpus, &cpus);
    if (argc < 0) {
        %s;
    }
    %s;
#pragma omp parallel reduction(+ : total)
    total++;
    puts(total ? "ready" : "none");
    fflush(stdout);
    getchar();
    printf("team %%d of %%d\n", omp_get_max_threads(), omp_get_num_procs());
    puts("PASS");
    return (int)sizeof param - (int)sizeof param + (argv == 0);
}
"""

# A library, with a parallel region or without, that imports something.
LIBRARY = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
extern void library(void);
__thread int of_each_thread;
void library(void)
{
    static volatile int never;
    cpu_set_t cpus;
    int total = 0;
    if (never) {
        CPU_ZERO(&cpus);
        %s;
    }
#ifdef _OPENMP
#pragma omp parallel reduction(+ : total)
#endif
    total++;
    of_each_thread = total;
}
"""

# What kernel threads are for: a contended mutex with priority inheritance and
# signals from each thread to the next.
USE = r"""
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static _Thread_local volatile int signals;
static void count(int number)
{
    signals += number == SIGUSR1;
}
int main(void)
{
    static pthread_t ids[64];
    pthread_mutexattr_t attr;
    pthread_mutex_t mutex;
    int sum = 0, got = 0, n = 5;

    signal(SIGUSR1, count);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &attr);
#pragma omp parallel num_threads(n) reduction(+ : got)
    {
        int me = omp_get_thread_num();

        ids[me] = pthread_self();
        for (int i = 0; i < 200; i++) {
            pthread_mutex_lock(&mutex);
            sum++;
            if (i % 20 == 0)
                usleep(100);
            pthread_mutex_unlock(&mutex);
        }
#pragma omp barrier
        pthread_kill(ids[(me + 1) % n], SIGUSR1);
        while (!signals)
            usleep(100);
        got += signals;
    }
    puts("ready");
    fflush(stdout);
    getchar();
    puts(sum == 200 * n && got == n ? "PASS" : "FAIL");
    return sum != 200 * n || got != n;
}
"""

KERNEL = {  # what is called -> what the runtime says
    "pthread_mutexattr_setprotocol(&ma, PTHREAD_PRIO_INHERIT)":
        "pthread_mutexattr_setprotocol",
    "pthread_kill(pthread_self(), 0)": "pthread_kill",
    "pthread_sigqueue(pthread_self(), 0, (union sigval){0})":
        "pthread_sigqueue",
    "pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus)":
        "pthread_setaffinity_np",
    "pthread_attr_setaffinity_np(&a, sizeof cpus, &cpus)":
        "pthread_attr_setaffinity_np",
    "sched_setaffinity(0, sizeof cpus, &cpus)": "sched_setaffinity",
    "pthread_setschedparam(pthread_self(), 0, &param)":
        "pthread_setschedparam",
    "sched_setscheduler(0, 0, &param)": "sched_setscheduler",
    "timer_t t; timer_create(CLOCK_MONOTONIC, 0, &t)": "timer_create",
    "clockid_t c; pthread_getcpuclockid(pthread_self(), &c)":
        "pthread_getcpuclockid",
    "syscall(SYS_perf_event_open, 0, 0, -1, -1, 0)": "perf_event_open",
    "syscall(SYS_tgkill, 0, 0, 0)": "tgkill",
}

HARMLESS = (
    "raise(0)",
    "syscall(SYS_gettid)",
    "sched_getcpu()",
    "pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus)",
    "kill(getpid(), 0)",
    "pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_RECURSIVE)",
)

# Forms in which a linker may record the same import.
LINKS = (["-no-pie"], ["-pie", "-fPIE"], ["-fno-plt", "-Wl,-z,now"],
         ["-Wl,-z,lazy"], ["-Wl,--hash-style=sysv"],
         ["-pie", "-fPIE", "-Wl,-z,pack-relative-relocs"])


class Bench:
    """Compiles programs in a directory and tells their modes."""

    def __init__(self, path, cpus):
        self.path, self.cpus = path, cpus
        with open(os.path.join(BUILD, "libgomp-coop/settings"),
                  encoding="utf-8") as file:
            settings = dict(line.rstrip("\n").split("=", 1) for line in file)
        self.cc = settings["cc"].split()

    def compile(self, name, source, *options):
        path = os.path.join(self.path, name)
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(source)
        command = [*self.cc, "-std=gnu17", "-O1", "-o", path, path + ".c",
                   *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.stderr}")
        return path

    def library(self, name, call, *options):
        return self.compile(name, LIBRARY % call, "-shared", "-fPIC",
                            *options)

    def run(self, program, **environment):
        """(mode, what it says on stderr) of PROGRAM."""
        sock = os.path.join(self.path, "sock")
        with FakeAgent(sock, self.cpus) as agent, \
                Program(program=program, socket_path=sock,
                        **environment) as running:
            running.wait_line("ready")
            mode = MODES[agent.client().header_of_report()["mode"]]
            out, said = running.stop()
        return mode, said, out

    def expect(self, what, expected, program, reason="", **environment):
        mode, said, out = self.run(program, **environment)
        assert mode == expected, (what, mode, said)
        assert ("kernel-thread mode" in said) == (expected == "kthread"), said
        assert reason in said, (what, reason, said)
        print(f"{what}: {mode}", flush=True)
        return out


def check_program(bench):
    for call, reason in KERNEL.items():
        program = bench.compile("p", PROGRAM % (call, ""), "-fopenmp")
        out = bench.expect(call, "kthread", program, f"uses {reason}")
        cpus = len(os.sched_getaffinity(0))
        assert f"team {cpus} of {cpus}" in out, out  # one thread per CPU
    for call in HARMLESS:
        program = bench.compile("p", PROGRAM % (call, ""), "-fopenmp")
        bench.expect(call, "donor", program)


def check_use(bench):
    bench.expect("use", "kthread", bench.compile("p", USE, "-fopenmp"))


def check_links(bench):
    for options in LINKS:
        for call, mode in (("pthread_kill(0, 0)", "kthread"),
                           ("raise(0)", "donor")):
            try:
                program = bench.compile("p", PROGRAM % (call, ""), "-fopenmp",
                                        *options)
            except AssertionError as error:
                if "pack-relative-relocs" not in str(error):
                    raise
                continue  # an older linker
            bench.expect(f"{' '.join(options)} {call}", mode, program)


def check_libraries(bench):
    """Only libraries with parallel regions count, and measuring ones."""
    find = [f"-L{bench.path}", f"-Wl,-rpath,{bench.path}"]
    for regions, mode in ((["-fopenmp"], "kthread"), ([], "donor")):
        bench.library("libother.so", "pthread_kill(0, 0); "
                      "sched_setaffinity(0, sizeof cpus, &cpus)", *regions)
        program = bench.compile("p", PROGRAM % ("", "library()"), "-fopenmp",
                                *find, "-lother")
        bench.expect(f"library {regions}", mode, program)
        # Loaded by the program itself before it first needs the runtime.
        load = f'dlopen("{bench.path}/libother.so", RTLD_NOW)'
        program = bench.compile("p", PROGRAM % ("", load), "-fopenmp")
        bench.expect(f"dlopen {regions}", mode, program)
    bench.library("libpapi.so.7", "")
    os.symlink("libpapi.so.7", os.path.join(bench.path, "libpapi.so"))
    program = bench.compile("p", PROGRAM % ("", "library()"), "-fopenmp",
                            *find, "-lpapi")
    bench.expect("libpapi", "kthread", program, "uses libpapi.so")


def check_numa(bench):
    """libnuma has thread-local storage and binds threads, if asked."""
    try:
        program = bench.compile("p", "extern int numa_available(void);\n"
                                + PROGRAM % ("", "numa_available()"),
                                "-fopenmp", "-l:libnuma.so.1")
    except AssertionError:
        print("libnuma: not here")
        return
    bench.expect("libnuma", "donor", program)


# The port's own modules, without the rest, for another C library.
UNIT = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include "coop.h"
#include "host.h"
#include "needs.h"
#include "settings.h"
struct coop_settings coop_settings;
bool coop_donor_leave_rseq(void) { return true; }
bool coop_setxid_wrap(void) { return true; }
int main(int argc, char **argv)
{
    struct coop_needs needs;
    const char *lacks = coop_host_lacks();

    if (argc > 9)
        pthread_kill(pthread_self(), argv == 0);
    coop_needs_look(&needs);
    printf("%s, %s\n", needs.kernel_threads ? needs.kernel_threads : "",
           lacks ? lacks : "nothing");
    return 0;
}
"""


def check_libc(bench):
    """Imports are seen, and donors not relied on, with musl as well."""
    port = os.path.join(SOURCE, "libgomp-coop/config/coop")
    for compiler, lacks in (("gcc", "nothing"), ("musl-gcc", "the C library")):
        if not shutil.which(compiler):
            print(f"{compiler}: not here")
            continue
        bench.cc, saved = [compiler], bench.cc
        program = bench.compile("unit", UNIT, "-Wall", "-Wextra", "-Werror",
                                f"-I{SOURCE}", f"-I{port}",
                                f"{port}/needs.c", f"{port}/host.c")
        bench.cc = saved
        said = subprocess.run([program], capture_output=True, text=True).stdout
        assert said.startswith(f"pthread_kill, {lacks}"), (compiler, said)
        print(f"{compiler}: {said.strip()}")


def check_host(bench):
    """Without what donors rely on; whatever was asked for."""
    program = bench.compile("p", PROGRAM % ("", ""), "-fopenmp")
    for word, reason in (("no_glibc", "C library"),
                         ("no_rseq", "restartable"),
                         ("no_setxid", "signal 33")):
        bench.expect(word, "kthread", program, reason, COSCHED_TEST=word)
        bench.expect(word, "kthread", program, reason, COSCHED_TEST=word,
                     COSCHED_MODE="donor")
    _, said, _ = bench.run(program, COSCHED_TEST="nonsense")
    assert "COSCHED_TEST: nonsense" in said, said


def check_realtime(bench):
    """Started with a real-time policy: as with stock libgomp."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK,
                              os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        return
    program = bench.compile("p", PROGRAM % ("", ""), "-fopenmp")
    for mode in ("", "donor", "kthread"):
        sock = os.path.join(bench.path, "sock")
        with FakeAgent(sock, bench.cpus) as agent, \
                Program("--rr", "1", program, program=shutil.which("chrt"),
                        socket_path=sock, COSCHED_MODE=mode) as running:
            running.wait_line("ready")
            out, said = running.stop()
        assert not agent.clients, mode
        assert "real-time scheduling policy: not co-scheduled" in said, said
        cpus = len(allowed_cpus())
        assert f"team {cpus} of {cpus}" in out, out


def main():
    needs_probe()
    with directory() as path:
        bench = Bench(path, two_cpus())
        check_program(bench)
        check_use(bench)
        check_links(bench)
        check_libraries(bench)
        check_numa(bench)
        check_host(bench)
        check_libc(bench)
        check_realtime(bench)


main()
