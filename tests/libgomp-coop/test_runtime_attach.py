#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What a program says when it attaches, and what it reports of its work."""

import contextlib
import errno
import socket
import subprocess
import time

from fake_agent import (BUILD, MODES, SERIAL, FakeAgent, Program, directory,
                        needs_probe, two_cpus, wait_for)

TRIES = 20


def symbols():
    """{name: offset} of the outlined functions of the probe."""
    text = subprocess.run(["nm", f"{BUILD}/tests/libgomp-coop/probe"],
                          capture_output=True, text=True, check=True).stdout
    return {fields[2]: int(fields[0], 16)
            for fields in map(str.split, text.splitlines())
            if len(fields) == 3 and "._omp_fn." in fields[2]}


def build_id():
    text = subprocess.run(["readelf", "-n",
                           f"{BUILD}/tests/libgomp-coop/probe"],
                          capture_output=True, text=True, check=True).stdout
    return int(text.split("Build ID:")[1].split()[0][:16], 16)


def check_report(path, cpus):
    with FakeAgent(path, cpus) as agent, \
            Program("dynamic", socket_path=path) as program:
        client = agent.client()
        program.wait_line("ready")
        request = client.request
        assert request == {"v": 1, "r": 1, "op": "attach", "job": 7,
                           "pid": program.pid, "threads": request["threads"],
                           "mode": "donor", "why": ""}
        header = wait_for("region", lambda: (
            client.header_of_report()["region"] != SERIAL
            and client.header_of_report()))
        assert MODES[header["mode"]] == "donor", header
        assert header["pid"] == program.pid
        assert header["team"] == request["threads"]
        region = client.region(0)
        assert region["object_id"] == build_id()
        offsets = symbols()
        assert region["offset"] in offsets.values(), (region, offsets)
        for counter in ("iterations", "entries"):
            before = client.region(0)[counter]
            wait_for(f"progress in {counter}",
                     lambda: client.region(0)[counter] > before)
        wait_for("finished threads", lambda: client.region(0)["ults"] > 0)
        program.stop()


def check_barriers(path, cpus):
    with FakeAgent(path, cpus) as agent, \
            Program("barriers", socket_path=path) as program:
        client = agent.client()
        program.wait_line("ready")
        for _ in range(3):
            before = client.region(0)["barriers"]
            wait_for("counted barriers",
                     lambda: client.region(0)["barriers"] > before + 100)
        program.stop()


def check_idle(path, cpus):
    """Who waits for the only thread with work says so; at most all CPUs do."""
    with FakeAgent(path, cpus) as agent, \
            Program("lopsided", socket_path=path) as program:
        client = agent.client()
        program.wait_line("ready")
        wait_for("idle time", lambda: client.region(0)["idle_ns"] > 0)
        before = client.region(0)
        wait_for("more of it", lambda:
                 client.region(0)["idle_ns"] > before["idle_ns"])
        program.stop()
        assert client.region(0)["idle_ns"] \
            <= len(cpus) * client.region(0)["time_ns"], client.region(0)


def check_team(path, cpus):
    """Threads per core: two CPUs fold evenly with 1, the user may say 3."""
    for environment, per_cpu in (({}, None), ({"COSCHED_ULTS": "3"}, 3)):
        with FakeAgent(path, cpus) as agent, \
                Program("team", socket_path=path, **environment) as program:
            agent.client()
            line = program.process.stdout.readline().split()
            size, procs = int(line[1]), int(line[3])
            assert per_cpu is None or size == per_cpu * procs, line
            assert size % procs == 0, line
            program.stop()


def check_late(path, cpus):
    """An agent at work that answers late: the first region, in which programs touch their data,
    waits for what it allots.  Not for ever, so on a busy machine that may take some tries."""
    def answer(client):
        client.allot(cpus[:1])
        end = time.monotonic() + 0.03
        while time.monotonic() < end:
            pass

    for _ in range(TRIES):
        with FakeAgent(path, cpus, spoil=answer), \
                Program("phases", socket_path=path, COSCHED_MODE="donor") as program:
            first = program.process.stdout.readline().split()
            program.wait_line("ready")
            program.stop()
            if set(map(int, first)) == {cpus[0]}:
                return
    raise AssertionError(f"begun on CPUs that are not allotted, in {TRIES} runs: {first}")


def check_own_socket(path, cpus):
    """Nobody answers at the socket for all, whose queue is full: the job has its own."""
    with contextlib.ExitStack() as stack:
        everybodys = stack.enter_context(
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        everybodys.bind(path)
        everybodys.listen(0)
        full = False
        while not full:
            other = stack.enter_context(
                socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            other.setblocking(False)
            full = other.connect_ex(path) == errno.EAGAIN
        agent = stack.enter_context(FakeAgent(f"{path}.7", cpus))
        program = stack.enter_context(Program("dynamic", socket_path=path))
        assert agent.client().request["job"] == 7
        program.stop()


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as path:
        check_report(f"{path}/sock", cpus)
        check_barriers(f"{path}/sock", cpus)
        check_idle(f"{path}/sock", cpus)
        check_team(f"{path}/sock", cpus)
        check_late(f"{path}/sock", cpus)
        check_own_socket(f"{path}/full", cpus)


main()
