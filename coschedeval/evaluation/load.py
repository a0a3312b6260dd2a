# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What else ran on our CPUs: a run during which others computed is no measurement."""

import os
import time

TICK = os.sysconf("SC_CLK_TCK")


def cpus_busy(cpus):
    """(seconds of CPU time used, seconds stolen by the hypervisor) of CPUS since boot."""
    used = stolen = 0
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            name, *fields = line.split()
            if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cpus:
                values = [int(field) for field in fields]
                # user, nice, system, idle, iowait, irq, softirq, steal
                used += sum(values[:3]) + sum(values[5:7])
                stolen += values[7] if len(values) > 7 else 0
    return used / TICK, stolen / TICK


def pressure():
    """Seconds that some process has waited for a CPU since boot; None without PSI."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as file:
            return int(file.readline().rpartition("total=")[2]) * 1e-6
    except (OSError, ValueError):
        return None


def process_seconds(pid):
    """CPU time of process PID so far, without its children; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK
    except (OSError, IndexError, ValueError):
        return 0.0


class Watch:
    """The share of CPUS' time that others took between start and end()."""

    def __init__(self, cpus):
        self.cpus = cpus
        self.busy, self.stolen = cpus_busy(cpus)
        self.waited, self.since = pressure(), time.monotonic()

    def end(self, own):
        """OWN: CPU seconds of what we ran.  {foreign, stolen, waited} as shares of the time."""
        busy, stolen = cpus_busy(self.cpus)
        waited = pressure()
        length = max(time.monotonic() - self.since, 1e-3)
        capacity = length * len(self.cpus)
        return {"foreign": max(0.0, busy - self.busy - own) / capacity,
                "stolen": (stolen - self.stolen) / capacity,
                "waited": None if None in (waited, self.waited)
                else (waited - self.waited) / length}


def memory_by_node(pids):
    """Pages of processes PIDS by NUMA node, {node: pages}; empty where the kernel does not say."""
    pages = {}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/numa_maps", encoding="ascii", errors="replace") as file:
                words = file.read().split()
        except OSError:
            continue
        for word in words:
            name, _, count = word.partition("=")
            if name[:1] == "N" and name[1:].isdigit() and count.isdigit():
                pages[int(name[1:])] = pages.get(int(name[1:]), 0) + int(count)
    return pages


def numa_nodes():
    try:
        return sum(1 for name in os.listdir("/sys/devices/system/node")
                   if name[:4] == "node" and name[4:].isdigit())
    except OSError:
        return 1
