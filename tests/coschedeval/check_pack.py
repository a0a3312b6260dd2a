#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The pack of coschedeval runs on old and new systems as a user without rights
(make check-pack; root, debootstrap, network).

usage: check_pack.py DIRECTORY [SUITE...]

DIRECTORY keeps a tree per suite of Debian: bullseye (glibc 2.31, Python 3.9), sid."""

import os
import subprocess
import sys

SOURCE, BUILD = os.environ["abs_top_srcdir"], os.environ["abs_top_builddir"]
SUITES = ("bullseye", "sid")
MIRROR = "http://deb.debian.org/debian"


def make_tree(path, suite):
    tree = os.path.join(path, suite)
    if not os.path.exists(tree + "/usr/bin/python3"):
        subprocess.run(["debootstrap", "--variant=minbase", "--include=python3-minimal,gcc,"
                        "libc6-dev", suite, tree, MIRROR], check=True)
    return tree


def check(tree):
    """The package's programs, and one that is built there."""
    for folder in ("/proc", "/sys", "/dev"):
        subprocess.run(["mount", "--rbind", folder, tree + folder], check=True)
    try:
        subprocess.run(["chroot", tree, "gcc", "-O2", "-fopenmp", "-x", "c", "-", "-o",
                        "/tmp/own"], check=True, text=True,
                       input="int main(void) { double s = 0;\n"
                             "for (int k = 0; k < 2000; k++) {\n"
                             "_Pragma(\"omp parallel for reduction(+ : s)\")\n"
                             "for (int i = 0; i < 200000; i++) s += 1.0 / (i + k + 1); }\n"
                             "return !(s > 1); }\n")
        for arguments in (["--set", "node2", "--only", "lu + cg", "--seconds", "3"],
                          ["--job", "/tmp/own", "--job", "/tmp/own"]):
            subprocess.run(["chroot", "--userspec=65534:65534", tree, "/usr/bin/env", "-i",
                            "PATH=/usr/bin:/bin", "/tmp/eval.run", "--time", "0.5", *arguments],
                           check=True)
    finally:
        for folder in ("/dev", "/sys", "/proc"):
            subprocess.run(["umount", "-R", "-l", tree + folder], check=True)


def main():
    if len(sys.argv) < 2 or os.getuid():
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    for suite in sys.argv[2:] or SUITES:
        tree = make_tree(sys.argv[1], suite)
        subprocess.run([SOURCE + "/coschedeval/coschedeval", "pack", tree + "/tmp/eval.run"],
                       check=True, env={**os.environ, "COSCHED_BUILD_DIR": BUILD})
        check(tree)
        print(f"check-pack: {suite}: ok", flush=True)


main()
