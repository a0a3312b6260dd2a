#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The pack of coschedeval runs on old and new systems as a user without rights
(make check-pack; root, debootstrap, network).

usage: check_pack.py [--keep] DIRECTORY [SUITE...]

Makes a tree in DIRECTORY for each suite of Debian: bullseye (glibc 2.31, Python 3.9), sid; and
removes it, unless it is to be kept for the next time.  What runs in a tree has its own mounts
and processes, which end with it, whatever happens."""

import argparse
import os
import shutil
import subprocess
import sys

SOURCE, BUILD = os.environ["abs_top_srcdir"], os.environ["abs_top_builddir"]
SUITES = ("bullseye", "sid")
MIRROR = "http://deb.debian.org/debian"
OWN = """int main(void)
{
    double s = 0;
    for (int k = 0; k < 2000; k++) {
#pragma omp parallel for reduction(+ : s)
        for (int i = 0; i < 200000; i++)
            s += 1.0 / (i + k + 1);
    }
    return !(s > 1);
}
"""
PREPARE = """set -e; tree=$1; shift
mount -t proc proc "$tree/proc"; mount --rbind /sys "$tree/sys"; mount --rbind /dev "$tree/dev"
exec "$@"
"""


def make_tree(path, suite):
    tree = os.path.join(path, suite)
    if not os.path.exists(tree + "/tmp/own"):
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", "--include=python3,gcc,"
                        "libc6-dev", suite, tree, MIRROR], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["chroot", tree, "gcc", "-O2", "-fopenmp", "-x", "c", "-", "-o",
                        "/tmp/own"], check=True, text=True, input=OWN)
    return tree


def run(tree, *arguments):
    """The pack with ARGUMENTS in TREE as nobody; what it printed."""
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
         "sh", "-c", PREPARE, "sh", tree, "chroot", "--userspec=65534:65534", tree,
         "/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "/tmp/eval.run", "--time", "0.01",
         "--modes", "corun", "--policies", "corun", *arguments],
        text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    print(done.stdout + done.stderr, flush=True)
    left = sorted(os.listdir(tree + "/tmp"))
    if done.returncode not in (0, 4) or left != ["eval.run", "own"]:
        sys.exit(f"check-pack: {tree}: {arguments}: exit status {done.returncode}, "
                 f"in its /tmp {left}")
    return done.stdout


def check(tree):
    """The package's programs, and one that was built there, co-scheduled by its own loader."""
    subprocess.run([SOURCE + "/coschedeval/coschedeval", "pack", tree + "/tmp/eval.run"],
                   check=True, env={**os.environ, "COSCHED_BUILD_DIR": BUILD})
    try:
        run(tree, "--set", "node2", "--only", "lu + cg", "--seconds", "1.5")
        run(tree, "--job", "/tmp/own", "--job", "/tmp/own")
    finally:
        os.unlink(tree + "/tmp/eval.run")


def main():
    parser = argparse.ArgumentParser(prog="check_pack.py", description=__doc__)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("directory")
    parser.add_argument("suites", nargs="*")
    args = parser.parse_args()
    if os.getuid() or not shutil.which("debootstrap"):
        print("SKIP: needs root and debootstrap")
        sys.exit(77)
    os.makedirs(args.directory, exist_ok=True)
    try:
        for suite in args.suites or SUITES:
            check(make_tree(args.directory, suite))
            print(f"check-pack: {suite}: ok", flush=True)
    finally:
        if not args.keep:
            shutil.rmtree(args.directory)


main()
