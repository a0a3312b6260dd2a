#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Pages that are not what they should be, or none at all: the program says so,
runs on all its CPUs, and its result is right. A silent agent is told of unasked,
in one line; a healthy one is not."""

import contextlib
import os
import socket
import struct

from fake_agent import (FakeAgent, Page, Program, directory, needs_probe,
                        two_cpus, wait_for)


def poke(offset, format_, value):
    return lambda client: struct.pack_into(format_, client.allotment.map,
                                           offset, value)


def replace(name, **arguments):
    def spoil(client):
        setattr(client, name, Page(name, **arguments))
    return spoil


def noise(client):
    """Everything random but the generation, which stays even."""
    client.allotment.map[0:12] = os.urandom(12)
    client.allotment.map[16:2368] = os.urandom(2352)


BAD_PAGES = {
    "magic": (poke(0, "<I", 1), "invalid allotment"),
    "version": (poke(4, "<I", 2), "invalid allotment"),
    "size": (poke(8, "<I", 2000), "invalid allotment"),
    "lease zero": (poke(24, "<Q", 0), "agent lost"),
    "no LLC domain": (poke(36, "<I", 0), "invalid allotment"),
    "too many LLC domains": (poke(36, "<I", 5000), "invalid allotment"),
    "LLC domain out of range": (poke(320, "<H", 9), "invalid allotment"),
    "nothing granted": (lambda c: c.allotment.map.__setitem__(
        slice(192, 320), bytes(128)), "invalid allotment"),
    "noise": (noise, "agent lost"),
    "short allotment": (replace("allotment", size=100), "no valid allotment"),
    "unsealed allotment": (replace("allotment", size=2368, seal=False),
                           "no valid allotment"),
    "short report": (replace("report", size=4096), "no valid report"),
    "unsealed report": (replace("report", size=20000, seal=False),
                        "no valid report"),
}


def check(path, cpus, what, complaint, **agent_arguments):
    with FakeAgent(path, cpus, **agent_arguments) as agent, \
            Program("barriers", socket_path=path,
                    OMP_NUM_THREADS="2") as program:
        program.wait_line("ready")
        wait_for("a first request", lambda: agent.clients or agent.refused)
        line = program.process.stderr.readline()
        while line and complaint not in line:
            line = program.process.stderr.readline()
        assert line, f"{what}: no '{complaint}' on stderr"
        program.stop()


def check_silence(path, cpus):
    """Connections are accepted, and nothing more: no reply, no hang-up. The job's
    start has not told of it, or it has."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, \
            contextlib.ExitStack() as stack:
        listener.bind(path)
        listener.listen(8)
        told, untold = (stack.enter_context(Program(
            "barriers", socket_path=path, OMP_NUM_THREADS="2",
            COSCHED_VERBOSE="0", COSCHED_WARNED=job)) for job in ("8", "7"))
        asked = {told.pid: 0, untold.pid: 0}
        while min(asked.values()) < 4:
            connection, _ = listener.accept()
            stack.enter_context(connection)
            asked[struct.unpack("3i", connection.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]] += 1
        _, err = told.stop()
        assert err == (f"libgomp: cosched: the agent at {path} does not answer: "
                       "the program runs on all CPUs of its job\n"), err
        assert untold.stop()[1] == "", "a second complaint"
    with FakeAgent(path, cpus) as agent, \
            Program("barriers", socket_path=path, OMP_NUM_THREADS="2",
                    COSCHED_VERBOSE="0") as program:
        agent.client()
        assert program.stop()[1] == "", "a healthy agent is told of"


def main():
    needs_probe()
    cpus = two_cpus()
    with directory() as path:
        path = f"{path}/sock"
        check_silence(path, cpus)
        check(path, cpus, "no descriptors", "refused", refuse=True)
        for what, (spoil, complaint) in BAD_PAGES.items():
            check(path, cpus, what, complaint, spoil=spoil)


main()
