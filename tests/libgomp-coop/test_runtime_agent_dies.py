#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The agent goes away in the middle of a region, by hang-up or by silence: the
program uses all that it was granted, and attaches to the next agent."""

from fake_agent import (LEASE_NS, FakeAgent, Program, directory, needs_probe,
                        two_cpus, wait_for)


def run(path, cpus, mode, name, lease_ns, go_away):
    with Program(name, socket_path=path, COSCHED_MODE=mode,
                 OMP_NUM_THREADS="4") as program:
        with FakeAgent(path, cpus, lease_ns=lease_ns) as agent:
            client = agent.client()
            program.wait_line("ready")
            client.allot([cpus[1]])
            wait_for("threads on one CPU",
                     lambda: program.on_only([cpus[1]]))
            go_away(agent)
            wait_for("all granted CPUs in use",
                     lambda: program.on_each(cpus))
        with FakeAgent(path, cpus) as agent:
            client = agent.client()
            client.allot([cpus[0]])
            wait_for("obedience to the new agent",
                     lambda: program.on_only([cpus[0]]))
            _, errors = program.stop()
    assert errors.count("attached to") >= 2 and "agent lost" in errors, errors


def fall_silent(agent):
    agent.beating = False


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as path:
        for mode in ("auto", "kthread"):
            for name in ("dynamic", "barriers"):
                run(f"{path}/sock", cpus, mode, name, LEASE_NS,
                    FakeAgent.kill)
        run(f"{path}/sock", cpus, "auto", "dynamic", 300_000_000, fall_silent)


main()
