# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""One file with all that an evaluation needs, for any x86-64 Linux that has Python 3.6.

A shell script with an archive behind it.  It unpacks itself below $TMPDIR, runs coschedeval there
and leaves nothing.  Programs of the archive bring the loader and the C library that they were
built with, so that the node's own may be older; jobs of the user's own run with the node's."""

import os
import re
import shutil
import stat
import subprocess
import tempfile

from evaluation import EvaluationError

START = """#!/bin/sh
# coschedeval, packed: what co-scheduling gains on this node.  --help says more.
umask 077
dir=$(mktemp -d "${{TMPDIR:-/tmp}}/coschedeval.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
tail -n +{lines} "$0" | tar -xzf - -C "$dir" || exit 2
python3 -c 'import ctypes, json, subprocess' 2>/dev/null ||
    {{ echo "coschedeval: python3 with its standard library is missing" >&2; exit 2; }}
"$dir/lib/loader" --version >/dev/null 2>&1 ||
    {{ echo "coschedeval: $dir: programs cannot run there; set TMPDIR" >&2; exit 2; }}
COSCHEDEVAL_PACK=$dir python3 "$dir/coschedeval" "$@"
exit $?
"""

# A program with its own loader.  What is to be found first, the cooperative library, stays first.
WRAPPER = """#!/bin/sh
pack=${0%/*}/..
exec "$pack/lib/loader" --library-path "${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$pack/lib" \\
    "$pack/programs/${0##*/}" "$@"
"""


def _is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _libraries(path):
    """(loader, [shared libraries]) of the ELF file PATH; (None, []) of a static one."""
    done = subprocess.run(["ldd", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, check=False)
    missing = re.search(r"(\S+) => not found", done.stdout)
    if missing:
        raise EvaluationError(f"{path}: its library {missing.group(1)} is not found")
    libraries = re.findall(r"=> (/\S+) \(", done.stdout)
    loader = re.search(r"^\s*(/\S*ld-linux\S*) \(", done.stdout, re.M)
    return loader.group(1) if loader else None, libraries


def _add_libraries(directory, libraries):
    for library in libraries:
        shutil.copy(library, os.path.join(directory, "lib", os.path.basename(library)))


def _add_program(directory, path, room):
    """Copy PATH and its libraries; ROOM gets the script that starts it."""
    name = os.path.basename(path)
    loader, libraries = _libraries(path)
    if not loader:
        return
    shutil.copy(path, os.path.join(directory, "programs", name))
    shutil.copy(loader, os.path.join(directory, "lib", "loader"))
    _add_libraries(directory, libraries)
    start = os.path.join(directory, room, name)
    with open(start, "w", encoding="ascii") as file:
        file.write(WRAPPER)
    os.chmod(start, stat.S_IRWXU)


def _real(path):
    """The program behind libtool's script in a build tree."""
    hidden = os.path.join(os.path.dirname(path), ".libs", os.path.basename(path))
    return hidden if os.path.exists(hidden) else path


def _fill(directory, where, script):
    for room in ("bin", "jobs", "lib", "programs"):
        os.mkdir(os.path.join(directory, room))
    for name, room in (("coschedd", "sbin"), ("coschedctl", "bin"), ("coschedsim", "sim")):
        _add_program(directory, _real(os.path.join(where[room], name)), "bin")
    for name in sorted(os.listdir(where["jobs"])):
        path = os.path.join(where["jobs"], name)
        if os.path.isfile(path) and os.access(path, os.X_OK) and _is_elf(path):
            _add_program(directory, path, "jobs")
    # What the cooperative library needs must be of the loader's C library, too.
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(where["libgomp"], os.path.join(directory, "libgomp"),
                    ignore=ignore)
    for name in os.listdir(where["libgomp"]):
        path = os.path.join(where["libgomp"], name)
        if os.path.isfile(path) and _is_elf(path):
            _add_libraries(directory, _libraries(path)[1])
    shutil.copytree(os.path.join(where["modules"], "evaluation"),
                    os.path.join(directory, "evaluation"), ignore=ignore)
    for module in "progress.py", "svgchart.py":
        shutil.copy(os.path.join(where["plot"], module), directory)
    shutil.copy(script, os.path.join(directory, "coschedeval"))


def write(path, where, script):
    """Write the pack to PATH.  WHERE: paths of the parts; SCRIPT: the running coschedeval."""
    with tempfile.TemporaryDirectory(prefix="coschedeval.") as directory:
        _fill(directory, where, script)
        archive = subprocess.run(["tar", "-C", directory, "--owner=0", "--group=0",
                                  "--sort=name", "--mtime=@0", "-czf", "-", "."],
                                 stdout=subprocess.PIPE, check=False)
    if archive.returncode:
        raise EvaluationError("tar failed")
    text = START.format(lines=START.count("\n") + 1).encode("ascii")
    with open(path, "wb") as file:
        file.write(text + archive.stdout)
    os.chmod(path, 0o755)
    return len(text) + len(archive.stdout)
