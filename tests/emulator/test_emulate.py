#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A machine of 4 CPUs boots, runs a command, and brings back what that made."""

import os
import re

from emulation import PLUGIN, Emulation

COMMAND = r"""
echo out; echo err >&2
echo cpus $(nproc) nodes $(ls -d /sys/devices/system/node/node[0-9]* | wc -l)
jobs/ep --class S | sed 's/ .*//'
./coschedctl counters | sed -n '/^emulated/p'
grep -o '\[.*\]' /sys/kernel/mm/transparent_hugepage/enabled
grep -c service_us /etc/emulated-machine.json
mkdir -p "$0/deep"; head -c 3000000 /dev/zero >"$0/deep/zeros"; echo text >"$0/text"
ln -s /etc/passwd "$0/link"
exit 7
"""


def main():
    e = Emulation()
    e.need_machine()
    output = os.path.join(e.path, "mine", "output")
    status, out, err = e.run("--cpus", "4", "--memory", "256", "--output", output,
                             *([] if PLUGIN else ["--untimed"]), "bash", "-c", COMMAND, output)
    print(err)
    assert status == 7, (status, out)
    lines = out.splitlines()
    assert lines[:3] == ["out", "cpus 4 nodes 2", "PASS"], out
    assert lines[3].startswith("emulated: works" if PLUGIN else "emulated: no"), out
    assert lines[4] == "[never]" and int(lines[5]) == 3, out
    assert "err" in err.splitlines(), err
    assert re.search(r"^emulate: .* s of this host.* to boot\)$", err, re.M), err
    if PLUGIN:
        assert re.search(r"^emulate: \d+\.\d+ virtual s, .* [1-9]\d* M instructions", err, re.M)
    assert sorted(os.listdir(output)) == ["deep", "text"]
    assert os.path.getsize(os.path.join(output, "deep/zeros")) == 3000000


main()
