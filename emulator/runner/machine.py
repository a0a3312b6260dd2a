# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The machine that a guest sees: its CPUs, NUMA nodes and their distances.

From a description of machines/, which the queueing model reads, too.  The guest numbers its
CPUs from 0 on in the order of the description's LLC domains, each of which is a socket."""

import json
import os
import re
import subprocess

from runner import EmulatorError

LOCAL, HOP = 10, 6          # of ACPI's distances: 10, 16 over one link, 22 over two
LEAST_MIB = 64              # the kernel leaves out smaller nodes


class Topology:
    """nodes: the CPUs of each NUMA node, some with none; sockets of equal size."""

    def __init__(self, sockets, cores, nodes, mib, distances):
        self.sockets, self.cores, self.nodes = sockets, cores, nodes
        self.mib, self.distances = mib, distances
        self.cpus = sockets * cores
        for value in mib:
            if value < LEAST_MIB:
                raise EmulatorError(f"{value} MiB: a NUMA node needs {LEAST_MIB}")
        for row in distances:
            if len(row) != len(nodes) or min(row) < LOCAL or max(row) > 254:
                raise EmulatorError(f"distances {row}: {len(nodes)} of {LOCAL} to 254 are needed")

    def options(self):
        """What QEMU is told."""
        options = ["-smp", f"{self.cpus},sockets={self.sockets},cores={self.cores},threads=1",
                   "-m", str(sum(self.mib))]
        for node, (cpus, mib) in enumerate(zip(self.nodes, self.mib)):
            where = f"node,nodeid={node},memdev=ram{node}"
            where += "".join(f",cpus={cpu}" for cpu in cpus)
            options += ["-object", f"memory-backend-ram,id=ram{node},size={mib}M", "-numa", where]
        for a, row in enumerate(self.distances):
            for b, distance in enumerate(row):
                options += ["-numa", f"dist,src={a},dst={b},val={distance}"]
        return options


def cpu_list(text):
    """The CPUs of "0-3,8"."""
    cpus = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


class Description:
    """A file of machines/, or another; NAME as the user gave it.  CPUS: of all that it has
    only so many, the same number of each LLC domain."""

    def __init__(self, name, machines, checker, cpus=None):
        path = name
        if not os.path.exists(path) and "/" not in name:
            path = os.path.join(machines, name.removesuffix(".json") + ".json")
        if not os.path.isfile(path):
            raise EmulatorError(f"--machine {name}: neither a file nor one of "
                                f"{', '.join(names(machines))}")
        said = subprocess.run([checker, "machine", "check", path], capture_output=True, text=True)
        if said.returncode:
            text = re.sub(r"^coschedmodel: (machine: )?", "", said.stderr.strip())
            raise EmulatorError(f"--machine {text[-300:]}")
        with open(path, encoding="utf-8") as f:
            self.json = json.load(f)
        self.shrink(name, cpus)
        self.domains = [cpu_list(d["cpus"]) for d in self.json["llc_domains"]]

    def shrink(self, name, cpus):
        domains = self.json["llc_domains"]
        sizes = {len(cpu_list(d["cpus"])) for d in domains}
        if len(sizes) > 1:
            raise EmulatorError(f"--machine {name}: its LLC domains differ in size, QEMU's "
                                "sockets cannot")
        size = sizes.pop()
        if cpus is not None:
            if cpus % len(domains) or cpus < 1 or cpus > size * len(domains):
                raise EmulatorError(
                    f"--cpus {cpus}: {name} has {len(domains)} LLC domains of {size} CPUs, so it "
                    f"takes a multiple of {len(domains)} up to {size * len(domains)}")
            size = cpus // len(domains)
        for i, domain in enumerate(domains):
            domain["cpus"] = f"{i * size}-{(i + 1) * size - 1}" if size > 1 else str(i)

    def topology(self, mib):
        domains, count = self.json["llc_domains"], len(self.json["numa_nodes"])
        nodes = [[] for _ in range(count)]
        for domain, cpus in zip(domains, self.domains):
            nodes[domain.get("memory", 0)] += cpus
        return Topology(len(domains), len(self.domains[0]), nodes, [mib] * count,
                        self.distances(count))

    def distances(self, count):
        """By the links on the way; without any, memory costs the same everywhere."""
        if not self.json.get("links"):  # ACPI: another node is never as near as the own one
            return [[LOCAL + (a != b) for b in range(count)] for a in range(count)]
        return [[LOCAL + HOP * (len(route) if route else count * (a != b))
                 for b, route in enumerate(self.routes(a, count))] for a in range(count)]

    def routes(self, start, count):
        """The links on the way from NUMA node START to each: the fewest; of several such ways
        that whose first link comes first.  None where there is no way."""
        routes, edge = {start: []}, [start]
        while edge:
            at = edge.pop(0)
            for number, link in enumerate(self.json.get("links", [])):
                ways = [(link["from"], link["to"]), (link["to"], link["from"])]
                for a, b in ways[:1] if link.get("one_way") else ways:
                    if a == at and b not in routes:
                        routes[b] = routes[at] + [number]
                        edge.append(b)
        return [routes.get(node) for node in range(count)]

    def slow_down(self, factor):
        """All service times take FACTOR times as long."""
        self.slower = factor
        for station in self.json["numa_nodes"] + self.json.get("links", []):
            times = station["service_us"]
            station["service_us"] = ({kind: times[kind] * factor for kind in times}
                                     if isinstance(times, dict) else times * factor)

    def text(self):
        """As the emulated machine is, so the agent takes the service times for measured."""
        made = {"date": "2025-01-01T00:00:00Z", "host": "numavm", "kernel": "emulated",
                "counters": "emulated"}
        return json.dumps({**self.json, "calibration": made}, indent=1) + "\n"


def names(machines):
    return sorted(n.removesuffix(".json") for n in os.listdir(machines) if n.endswith(".json"))
