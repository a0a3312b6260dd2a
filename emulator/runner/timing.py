# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Virtual time and memory: what the plugin is told, and what it counts.

plugin/settings.h says what is in the file of settings, protocol/emulated_counters.h in the page."""

import os
import re
import struct
import tempfile

from runner import EmulatorError, name_of

# Of cores as the descriptions have them, before they are slowed down.  A miss takes some 80 ns
# to local memory and half as long over a link, and about ten are under way at a time.
MISS_NS, LINK_NS = 8, 4
SCALE = 12.5        # a described core of 2.5 GHz is one of 200 MHz here
BYTES, CPUS, NODES, LINKS = 65536, 128, 16, 128
MAGIC, VERSION = 0x746e756f63756d65, 1
HEAD, CPU, FIRST_CPU = "<Q6I4Q", 320, 128 + 16 * (NODES + LINKS)
SETTABLE = ("mhz", "quantum_ns", "pause_cycles", "private_kib", "llc_kib", "sample", "overlap")


class Plugin:
    """Of one run: settings and page, which are open files without names."""

    KERNEL = ("tsc=reliable tsc_early_khz=1000000 idle=halt norandmaps init_on_alloc=0 "
              "cryptomgr.notests nokaslr")
    MODEL = "max,vendor=GenuineIntel,-avx,-avx2,-fma,-la57,-rdrand,-rdseed,-erms,-fsrm"

    def __init__(self, path, description, topology, seed=1, exact=False, settings=()):
        if not os.path.exists(path):
            raise EmulatorError(f"{path} is missing: make -C BUILD emulator/plugin.la")
        for what, has, most in (("vCPUs", topology.cpus, CPUS),
                                ("NUMA nodes", len(topology.nodes), NODES),
                                ("links", len(description.json.get("links", [])), LINKS)):
            if has > most:
                raise EmulatorError(f"{has} {what}: the plugin serves {most}")
        self.path = path
        self.page = os.fdopen(os.memfd_create("emulated-counters"), "r+b")
        self.page.truncate(BYTES)
        self.settings = tempfile.TemporaryFile("w+", encoding="ascii")
        self.settings.write("\n".join(self.lines(description, topology, seed, exact, settings))
                            + "\n")
        self.settings.flush()

    def lines(self, description, topology, seed, exact, settings):
        yield f"seed {seed}\nparallel {int(exact)}\npage {name_of(self.page.fileno())}"
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in SETTABLE or not re.fullmatch(r"\d+(\.\d+)?", value):
                raise EmulatorError(f"--set {setting}: NAME=NUMBER, one of {', '.join(SETTABLE)}")
            yield f"{name} {value}"
        d, slower = description.json, description.slower
        for mib, node in zip(topology.mib, d["numa_nodes"]):
            yield f"node {mib} {MISS_NS * slower:g} {times(node)}"
        for domain in d["llc_domains"]:
            yield f"domain {domain['cpus']} {domain.get('memory', 0)}"
        for link in d.get("links", []):
            yield f"link {LINK_NS * slower:g} {times(link)}"
        given = {(r["llc_domain"], r["memory"]): r["links"] for r in d.get("routes", [])}
        for number, domain in enumerate(d["llc_domains"]):
            ways = description.routes(domain.get("memory", 0), len(topology.nodes))
            for node, way in enumerate(ways):
                links = given.get((number, node), way)
                if links:
                    yield " ".join(map(str, ["route", number, node, *links]))

    def options(self):
        return ["-plugin", f"{self.path},settings={name_of(self.settings.fileno())}",
                "-cpu", self.MODEL, "-seed", "1", "-rtc", "base=2025-01-01,clock=vm", "-object",
                "memory-backend-file,id=page,share=on,"
                f"mem-path={name_of(self.page.fileno())},size={BYTES}",
                "-device", "ivshmem-plain,memdev=page"]

    def fds(self):
        return [self.page.fileno(), self.settings.fileno()]

    def environment(self):
        return {"LD_PRELOAD": self.path}

    def read(self):
        """(virtual ns, instructions) since power-on; None before the plugin has begun."""
        for _ in range(1000):
            data = os.pread(self.page.fileno(), BYTES, 0)
            magic, version, cpus, _, _, _, _, sequence, virtual, _, _ = \
                struct.unpack_from(HEAD, data)
            if magic != MAGIC:
                return None
            if version != VERSION:
                raise EmulatorError(f"{self.path} writes version {version} of the page, not "
                                    f"{VERSION}")
            again = struct.unpack_from("<Q", os.pread(self.page.fileno(), 8, 32))[0]
            if sequence % 2 == 0 and sequence == again:
                return virtual, sum(struct.unpack_from("<Q", data, FIRST_CPU + CPU * i + 16)[0]
                                    for i in range(min(cpus, CPUS)))
        return None


def times(station):
    """Service times of a read and a write in microseconds."""
    service = station["service_us"]
    if isinstance(service, dict):
        return f"{service['read']:.9g} {service['write']:.9g}"
    return f"{service:.9g} {service:.9g}"
