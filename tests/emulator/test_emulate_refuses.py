#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What emulate refuses, with one sentence, before anything boots."""

import json
import os

from emulation import PLUGIN, Emulation

GOOD = {"name": "x", "llc_domains": [{"cpus": "0-1", "memory": 0}],
        "numa_nodes": [{"service_us": 0.01}]}
OFFLINE = {"http_proxy": "http://127.0.0.1:1", "no_proxy": ""}


def check_usage(e):
    e.refused("no COMMAND")
    e.refused("--dance", "--dance", "true")
    e.refused("--cpus", "--cpus", "0", "true")
    e.refused("--limit", "--limit", "-1", "true")
    e.refused("--scale", "--scale", "nan", "true")
    e.refused("no build tree", "--build", "/nowhere", "true")
    e.refused("--suite potato: one of", "--suite", "potato", "--untimed", "true")


def check_machines(e):
    def machine(name, **changes):
        return e.mine(name, json.dumps({**GOOD, **changes}))

    two = [{"cpus": "0-3", "memory": 0}, {"cpus": "4-5", "memory": 0}]
    for why, path in (
            ("--machine potato: neither a file nor one of amd-epyc", "potato"),
            ("no-such-file", "/no-such-file.json"),
            ("broken.json", e.mine("broken.json", "{")),
            ("memory", machine("memory.json", llc_domains=[{"cpus": "0", "memory": 3}])),
            ("service_us", machine("zero.json", numa_nodes=[{"service_us": 0}])),
            ("cpus", machine("order.json", llc_domains=[{"cpus": "3-0", "memory": 0}])),
            ("LLC domains differ in size", machine("uneven.json", llc_domains=two))):
        e.refused(why, "--machine", path, "true")
    e.refused("--cpus 3: ", "--machine", "amd-opteron-6380-2x4", "--cpus", "3", "true")
    e.refused("up to 8", "--machine", "amd-opteron-6380-2x4", "--cpus", "10", "true")
    if PLUGIN:
        e.refused("256 vCPUs: the plugin serves 128", "--machine", "amd-epyc-9754-2x128-nps4",
                  "true")
        e.refused("--set dance=1: NAME=NUMBER, one of mhz", "--set", "dance=1", "true")
        e.refused("--set mhz=fast", "--set", "mhz=fast", "true")


def check_software(e):
    """QEMU that cannot be had, is too old, has no plugins, is damaged."""
    def cache(name, loader):
        root = f"{name}/qemu-bookworm-backports/"
        for part in "usr/bin/qemu-system-x86_64", "bin/busybox", "usr/share/qemu/x", \
                "usr/share/seabios/x":
            e.mine(root + part, "")
        e.mine(f"{name}/kernel-bookworm/order", "")
        path = e.mine(root + "lib64/ld-linux-x86-64.so.2", "#!/bin/sh\n" + loader, 0o755)
        return path[:path.index("/qemu-")]

    def refused(why, path, **more):
        e.refused(why, "--untimed", "true", EMULATE_CACHE=path, **more)

    empty = os.path.dirname(e.mine("empty/x", ""))
    e.refused("cannot be fetched from", "--fetch", "--quiet", EMULATE_CACHE=empty, **OFFLINE)
    refused("QEMU 7.2 of bookworm-backports is too old, 10.0 is needed",
            cache("old", "echo QEMU emulator version 7.2.22"))
    refused("was built without plugins",
            cache("bare", "case $* in *-plugin*) exit 1;; esac; echo QEMU emulator version 10.0.2"))
    refused("does not run", cache("dead", "kill -SEGV $$"))
    broken = cache("broken", "")
    os.remove(broken + "/qemu-bookworm-backports/usr/bin/qemu-system-x86_64")
    refused("remove it, and it is fetched again", broken)
    os.chmod(broken, 0o755)


def check_memory(e):
    e.refused("MiB of memory are needed", "--untimed", "--memory", "10000000", "true",
              EMULATE_CACHE=good_cache(e))
    e.refused("a NUMA node needs 64", "--untimed", "--memory", "16", "true")
    e.refused("--with /nowhere: no such file", "--untimed", "--with", "/nowhere", "true",
              EMULATE_CACHE=good_cache(e))


def good_cache(e):
    """One that looks as if it had all that is needed."""
    path = os.path.join(e.path, "mine/good")
    if not os.path.exists(path):
        root = "good/qemu-bookworm-backports/"
        for part in "usr/bin/qemu-system-x86_64", "usr/share/qemu/x", "usr/share/seabios/x":
            e.mine(root + part, "")
        e.mine(root + "bin/busybox", "#!/bin/sh\n", 0o755)
        e.mine("good/kernel-bookworm/order", "")
        e.mine(root + "lib64/ld-linux-x86-64.so.2",
               "#!/bin/sh\necho QEMU emulator version 10.0.2\n", 0o755)
    return path


def main():
    e = Emulation()
    check_usage(e)
    check_machines(e)
    check_software(e)
    check_memory(e)


main()
