#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Threads that the program creates itself follow the allotment, though they
inherit a worker's CPU; children do not inherit it for good."""

import os

from fake_agent import (FakeAgent, Program, directory, need, needs_probe,
                        two_cpus, wait_for)


def check_threads(path, cpus, **environment):
    with FakeAgent(path, cpus) as agent, \
            Program("threads", program="test_foreign", socket_path=path,
                    **environment) as program:
        tids = []
        while len(tids) < 5:
            word, *rest = program.process.stdout.readline().split()
            if word == "thread":
                tids.append(int(rest[0]))
        client = agent.client()
        for allotted in (cpus, cpus[:1], cpus, cpus[1:], cpus[:1], cpus):
            client.allot(allotted)
            for tid in tids:
                wait_for(f"thread {tid} on CPUs {allotted}", lambda t=tid: (
                    os.sched_getaffinity(t) == set(allotted)))
        program.stop()


def check_children(path, cpus, **environment):
    count = len(os.sched_getaffinity(0))
    with FakeAgent(path, cpus), \
            Program("children", program="test_foreign", socket_path=path,
                    **environment) as program:
        out, err = program.process.communicate(timeout=300)
    assert program.process.returncode == 0 and "PASS" in out, (out, err)
    said = [line for line in out.splitlines() if "mask" in line]
    assert said == [f"{how}: mask {count} procs {count}" for how in (
        "fork", "exec", "exec", "exec", "fork")], (said, err)


def main():
    needs_probe()
    need("tests/libgomp-coop/test_foreign")
    cpus = two_cpus()
    with directory() as path:
        for mode in ("donor", "kthread"):
            check_threads(f"{path}/sock", cpus, COSCHED_MODE=mode)
            check_children(f"{path}/sock", cpus, COSCHED_MODE=mode)
        check_threads(f"{path}/sock", cpus, COSCHED_STAY_HOME="1")
        check_children(f"{path}/sock", cpus, COSCHED_STAY_HOME="1")


main()
