#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""`make deb` and `make rpm` say first of all what there is to install."""

import os
import shutil
import subprocess
import tempfile

SOURCE = os.environ.get("abs_top_srcdir", os.getcwd())
UNMET = ("dpkg-checkbuilddeps: error: Unmet build dependencies: "
         "debhelper-compat (= 13) libgsl-dev")


def check(folder, program, *arguments):
    """Status and errors of PROGRAM, to which there is nothing but FOLDER's."""
    done = subprocess.run(
        [shutil.which("bash"), f"{SOURCE}/packaging/{program}", *arguments],
        env={"PATH": folder}, capture_output=True, text=True, check=False)
    assert not done.stdout, done
    return done.returncode, done.stderr.strip()


def add(folder, name, script):
    with open(f"{folder}/{name}", "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n{script}\n")
    os.chmod(f"{folder}/{name}", 0o755)


def check_rpm(folder, archive):
    """With RPM's tools: what the specification asks for, unless that is not to be asked."""
    add(folder, "rpmspec", 'echo "$*" >>"$0.asked"; printf "gcc\\nslurm-devel\\n"')
    add(folder, "rpm", f'test "$*" = "-q --whatprovides gcc" -o -e {folder}/all')
    for arguments in (["--check"], archive):
        status, said = check(folder, "make-rpm", *arguments)
        assert status == 1 and said.startswith("make-rpm: install slurm-devel ("), said
        assert "--nodeps" in said, said
    assert check(folder, "make-rpm", "--check", "--nodeps") == (0, "")
    add(folder, "all", "")
    assert check(folder, "make-rpm", "--check", "--with", "likwid") == (0, "")
    with open(f"{folder}/rpmspec.asked", encoding="ascii") as asked:
        assert asked.read().split("\n")[-2].startswith("-q --buildrequires --with likwid /")


def main():
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as folder:
        for tool in ("dirname", "realpath"):
            os.symlink(shutil.which(tool), f"{folder}/{tool}")
        # The same of one that is to build; the archive stands for any file.
        archive = [f"{SOURCE}/configure.ac", f"{folder}/none"]
        for arguments in (["--check"], archive):
            assert check(folder, "make-deb", *arguments) == (
                1, "make-deb: install dpkg-dev")
            status, said = check(folder, "make-rpm", *arguments)
            assert status == 1 and said.startswith("make-rpm: install rpmbuild"), said
        add(folder, "dpkg-buildpackage", "exit 1")
        add(folder, "dpkg-checkbuilddeps", f"echo '{UNMET}' >&2; exit 1")
        for arguments in (["--check"], archive):
            assert check(folder, "make-deb", *arguments) == (
                1, "make-deb: install debhelper-compat (= 13) libgsl-dev")
        add(folder, "dpkg-checkbuilddeps", "exit 0")
        add(folder, "rpmbuild", "exit 1")
        assert check(folder, "make-deb", "--check") == (0, "")
        assert check(folder, "make-rpm", "--check")[0] == 1 # still no rpmspec
        check_rpm(folder, archive)
    with open(f"{SOURCE}/packaging/local.mk", encoding="utf-8") as file:
        rules = file.read()
    for name in ("deb", "rpm"):
        recipe = rules.split(f"\n{name}:\n")[1].split("\n\n")[0]
        assert recipe.index("--check") < recipe.index("$(MAKE) dist"), recipe


main()
