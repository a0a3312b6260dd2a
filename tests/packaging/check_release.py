#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The release's archive has the same bytes wherever it is made (make check-release).

usage: check_release.py ARCHIVE RELEASE

ARCHIVE is made once more, from what is in it, in another directory, with other permissions,
language and time zone; RELEASE is what make-release made of it."""

import hashlib
import os
import subprocess
import sys
import tempfile


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def again(archive, folder):
    """The archive that the tree of ARCHIVE makes."""
    subprocess.run(["tar", "-C", folder, "-xJf", archive], check=True)
    name = os.path.basename(archive)[:-len(".tar.xz")]
    source = os.path.join(folder, name)     # its files have the archive's times
    build = os.path.join(folder, "elsewhere")
    os.mkdir(build)
    environment = {**os.environ, "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "TAR_OPTIONS": ""}
    for variable in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
        environment.pop(variable, None)
    for command in ([f"{source}/configure", "--without-gcc-source", "--without-likwid"],
                    ["make", "dist"]):
        with open(f"{folder}/log", "w", encoding="utf-8") as log:
            done = subprocess.run(command, cwd=build, env=environment, check=False, umask=0o077,
                                  stdout=log, stderr=subprocess.STDOUT)
        if done.returncode:
            with open(f"{folder}/log", encoding="utf-8", errors="replace") as log:
                sys.exit("check-release: " + " ".join(command) + "\n" + log.read()[-2000:])
    return os.path.join(build, os.path.basename(archive))


def main():
    archive, release = map(os.path.abspath, sys.argv[1:])
    first = digest(archive)
    with tempfile.TemporaryDirectory(prefix="cosched-release.") as folder:
        second = digest(again(archive, folder))
    assert first == second, f"{first} and {second}"
    name = os.path.basename(archive)
    for file in (*(path for path in os.listdir(release) if path.endswith(".eb")), "package.py",
                 "SHA256SUMS"):
        with open(os.path.join(release, file), encoding="utf-8") as text:
            assert first in text.read(), file
    with open(os.path.join(release, "NOTES.md"), encoding="utf-8") as text:
        assert "### Added" in text.read()
    print(f"{name}: {first}, twice")


main()
