#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedd-slurm compiles with the headers of later versions of Slurm, as far
as they differ in what it uses: this version's headers, changed likewise."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import BUILD, SOURCE, need, skip  # noqa: E402

HEADERS = "/usr/include/slurm"
FILES = ("slurm_helper.c", "courier.c") # with libslurm


def version(text, major, minor):
    return re.sub(r"(#define SLURM_VERSION_NUMBER) \S+",
                  rf"\1 {(major << 16) + (minor << 8):#x}", text)


def hostlist_by_type(text):
    """23.11: hostlist_t is the structure, functions take pointers to it."""
    text, count = re.subn(r"typedef struct hostlist \* ?hostlist_t;",
                          "typedef struct hostlist hostlist_t;", text)
    assert count == 1, "this Slurm's hostlist_t is no pointer by name"
    return re.sub(r"\bhostlist_t (?=\w+[,)]|slurm_hostlist)", "hostlist_t *",
                  text)


def renamed(text):
    """26.05: jobs are named by step ids, slurm_free_conf()."""
    text, count = re.subn(
        r"(extern int slurm_load_job\(job_info_msg_t \*\*\w+,\s*)"
        r"uint32_t job_id", r"\1slurm_step_id_t step_id", text)
    assert count == 1, "slurm_load_job() is unknown"
    return text.replace("slurm_free_ctl_conf(", "slurm_free_conf(")


def lists_by_type(text):
    """23.11: lists are structures by name, too."""
    text, count = re.subn(r"typedef struct xlist \* ?List;",
                          "typedef struct xlist list_t;", text)
    assert count == 1, "this Slurm's List is no pointer by name"
    return re.sub(r"\bList\b(?! of| is| struct)", "list_t *", text)


def compiles(name, changes, number):
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as folder:
        shutil.copytree(HEADERS, f"{folder}/slurm")
        for file in ("slurm.h", "slurm_version.h"):
            path = f"{folder}/slurm/{file}"
            with open(path, encoding="utf-8") as header:
                text = header.read()
            for one in changes if file == "slurm.h" else [lambda t: version(t, *number)]:
                text = one(text)
            with open(path, "w", encoding="utf-8") as header:
                header.write(text)
        done = subprocess.run(
            ["cc", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Werror", "-fsyntax-only",
             "-I", folder, "-I", BUILD, "-I", SOURCE,
             *(f"{SOURCE}/node_agent/helpers/{file}" for file in FILES)],
            capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr)


def main():
    need("coschedd-slurm")
    if not os.path.exists(f"{HEADERS}/slurm_version.h") or \
            not shutil.which("cc"):
        skip("Slurm's headers are elsewhere, or no cc")
    with open(f"{HEADERS}/slurm_version.h", encoding="utf-8") as header:
        number = int(re.search(r"SLURM_VERSION_NUMBER (\S+)",
                               header.read())[1], 16)
    if number >> 8 > 0x1702:
        skip("these headers are newer than what this test changes")
    compiles("as it is", (), (22, 5))
    compiles("23.11", (hostlist_by_type,), (23, 11))
    compiles("25.11", (hostlist_by_type,), (25, 11))
    compiles("26.05", (hostlist_by_type, renamed), (26, 5))


main()
