#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The largest machines, and CPUs that are not there: numbers up to 1023 with
holes, 64 LLC domains, more CPUs than exist here, a cpuset that shrinks under the
program.  It goes on with what is left, says so once, and computes right."""

import contextlib
import os
import struct

from fake_agent import (FakeAgent, Program, directory, needs_probe, two_cpus,
                        wait_for)

NODES = 64
ABSENT = "is allotted, but cannot be used"


def many_nodes(client):
    """64 LLC domains of 16 CPUs each."""
    struct.pack_into("<I", client.allotment.map, 36, NODES)
    for cpu in range(1024):
        struct.pack_into("<H", client.allotment.map, 320 + 2 * cpu, cpu // 16)


def absent(count):
    """COUNT numbers of CPUs that this machine has not, spread to the end."""
    first = os.sysconf("SC_NPROCESSORS_CONF") + 1
    step = (1023 - first) // (count - 1)
    assert step >= 1, "this machine has too many CPUs for the test"
    return [1023 - step * i for i in range(count)]


def play(path, name, mode, granted, allotments):
    """Run probe NAME; it must obey each of ALLOTMENTS and end well."""
    with FakeAgent(path, granted, spoil=many_nodes) as agent, \
            Program(name, socket_path=path, COSCHED_MODE=mode,
                    OMP_NUM_THREADS="48") as program:
        program.wait_line("ready")
        client = agent.client()
        for cpus in allotments * 3:
            generation, _ = client.allot(cpus)
            wait_for(f"{mode} {name}: allotment in effect",
                     lambda: client.applied(generation))
        # Threads that come into being late say it late.
        assert any(ABSENT in line for line in program.process.stderr), (mode, name)
        _, err = program.stop()
    assert ABSENT not in err, (mode, name, err)


def shrink(path, mode, cpus):
    """Somebody else takes a CPU away from all threads, as a cpuset would."""
    with FakeAgent(path, cpus) as agent, \
            Program("barriers", socket_path=path, COSCHED_MODE=mode,
                    OMP_NUM_THREADS="6") as program:
        program.wait_line("ready")
        client = agent.client()
        for round_ in range(20):
            for tid in os.listdir(f"/proc/{program.pid}/task"):
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(int(tid), {cpus[0]})
            generation, _ = client.allot(cpus if round_ % 2 else cpus[1:])
            wait_for("allotment in effect", lambda: client.applied(generation))
        _, err = program.stop()
    assert ABSENT not in err, (mode, err)


def main():
    needs_probe()
    here = two_cpus()
    some = here + absent(6)
    everything = list(range(1024))
    with directory() as path:
        path = f"{path}/sock"
        for mode in ("donor", "ult", "kthread"):
            for name in ("dynamic", "barriers"):
                play(path, name, mode, some, [some, some[1:], here, some[2:]])
            # As many as the page has room for; one that exists, far apart.
            play(path, "dynamic", mode, everything,
                 [everything, here, everything[::17] + here])
            # Again while the team exists: its kernel threads may only come
            # into being after the first allotment has been replaced.
            play(path, "barriers", mode, everything, [here, everything])
            shrink(path, mode, here)


main()
