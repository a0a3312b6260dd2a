#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A machine of 4 CPUs boots, runs a command, and brings back what that made."""

import os
import re

from emulation import PLUGIN, Emulation

PAGES = os.path.join(os.environ["abs_top_builddir"], "tests/libgomp-coop/pages")
COMMAND = r"""
echo out; echo err >&2
echo cpus $(nproc) nodes $(ls -d /sys/devices/system/node/node[0-9]* | wc -l)
jobs/ep --class S | sed 's/ .*//'
./coschedctl counters | sed -n '/^emulated/p'
grep -o '\[.*\]' /sys/kernel/mm/transparent_hugepage/enabled
grep -c service_us /etc/emulated-machine.json
mkdir -p "$0/deep"; head -c 3000000 /dev/zero >"$0/deep/zeros"; echo text >"$0/text"
ln -s /etc/passwd "$0/link"
export COSCHED_MODE=ult LD_LIBRARY_PATH=libgomp-coop/lib-coop
[ -e "$1" ] || exit 7
# More threads than CPUs, which spin for each other.
COSCHED_MODE=donor OMP_NUM_THREADS=4 timeout 60 taskset -c 0,1 jobs/lu --class S | sed 's/ .*//'
COSCHED_MEMORY=interleave "$1" && "$1"
unset COSCHED_MODE
export COSCHED_SOCKET=/run/coschedd.sock COSCHED_TEST=near
./coschedd --foreground --no-slurm --auth peer --socket $COSCHED_SOCKET --state /run/state \
    --machine /etc/emulated-machine.json --counters progress 2>/run/log &
until ./coschedctl ping >/dev/null 2>&1; do sleep 0.02; done
for how in follow bound; do
    ./coschedctl run --libgomp libgomp-coop/lib-coop --cpus 2-3 -- "$1" $how || cat /run/log
done
exit 7
"""


def check_pages(lines):
    """What a thread touches before its first region lies on both nodes, and later on its own.
    Interleaved pages follow the CPUs, here those of the second node; not once the program has
    another policy."""
    *lines, dealt, followed, bound, stayed = lines
    assert bound[1:] == stayed[1:] == ["3000", "0", "0", "0"], (bound, stayed)
    assert dealt == ["dealt", "1500", "1500", "0", "0"], dealt
    assert followed[0] == "followed" and int(followed[2]) >= 2850, followed
    assert [line[0] for line in lines] == ["before", "in", "after"] * 4, lines
    nodes = [sorted(map(int, line[1:])) for line in lines]
    for n, found in enumerate(nodes):
        assert found == ([0, 0, 32, 32] if n in (0, 3) else [0, 0, 0, 64]), lines


def main():
    e = Emulation()
    e.need_machine()
    output = os.path.join(e.path, "mine", "output")
    pages = ["--with", PAGES] if os.path.exists(PAGES) else []  # where there is libgomp's source
    status, out, err = e.run("--cpus", "4", "--memory", "256", "--output", output,
                             *([] if PLUGIN else ["--untimed"]), *pages,
                             "bash", "-c", COMMAND, output, PAGES)
    print(err)
    assert status == 7, (status, out)
    lines = out.splitlines()
    assert lines[:3] == ["out", "cpus 4 nodes 2", "PASS"], out
    assert lines[3].startswith("emulated: works" if PLUGIN else "emulated: no"), out
    assert lines[4] == "[never]" and int(lines[5]) == 3, out
    if pages:
        assert lines[6] == "PASS", out
        check_pages([line.split() for line in lines[7:]])
    assert "err" in err.splitlines(), err
    assert re.search(r"^emulate: .* s of this host.* to boot\)$", err, re.M), err
    if PLUGIN:
        assert re.search(r"^emulate: \d+\.\d+ virtual s, .* [1-9]\d* M instructions", err, re.M)
    assert sorted(os.listdir(output)) == ["deep", "text"]
    assert os.path.getsize(os.path.join(output, "deep/zeros")) == 3000000


main()
