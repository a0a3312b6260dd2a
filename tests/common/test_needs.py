#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What is installed asks of glibc and libsystemd nothing that EL 8 has not (2.28 and 239).

A name that came later is refused, whatever this host has.  One that only got a new version
meanwhile, or that has another way where it is missing, is in the table below."""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import BUILD, need, skip  # noqa: E402

LISTED = "tests/common/installed"
OLDEST = {"GLIBC": (2, 28), "LIBSYSTEMD": (239,)}
SAME = {
    "GLIBC": {
        # Faster ones that no longer set errno, and what moved from libpthread and libdl.
        "exp", "exp2", "fmod", "log", "log2", "pow",
        "dlclose", "dlerror", "dlopen", "dlsym", "dlvsym",
        "pthread_attr_getstacksize", "pthread_attr_setaffinity_np", "pthread_attr_setstacksize",
        "pthread_create", "pthread_detach", "pthread_getaffinity_np", "pthread_join",
        "pthread_key_create", "pthread_key_delete", "pthread_kill", "pthread_mutex_trylock",
        "pthread_once", "pthread_setaffinity_np", "pthread_setname_np", "pthread_setspecific",
        "pthread_getspecific", "pthread_sigmask", "pthread_rwlock_rdlock",
        "pthread_rwlock_unlock", "pthread_rwlock_wrlock", "sem_init", "sem_post", "sem_wait",
        # Inline functions of older headers; other names of older functions.
        "__libc_start_main", "fstat", "fstatat", "lstat", "stat",
        "__isoc23_fscanf", "__isoc23_scanf", "__isoc23_sscanf", "__isoc23_strtol",
        "__isoc23_strtoll", "__isoc23_strtoul", "__isoc23_strtoull",
        # configure looks for it; else it is a system call.
        "pidfd_open",
    },
    # node_agent/daemon/event.h has them where they are missing.
    "LIBSYSTEMD": {"sd_event_add_time_relative", "sd_event_source_disable_unref",
                   "sd_event_source_set_time_relative"},
}
WANTED = re.compile(r"\((GLIBC|LIBSYSTEMD)_([\d.]+)\)\s+(\w+)$", re.M)


def elf(path):
    """The file that PATH, of libtool perhaps, stands for; None: it is no ELF file."""
    folder, name = os.path.split(path)
    for file in (os.path.join(folder, ".libs", name.replace(".la", ".so")), path):
        if os.path.exists(file):
            with open(file, "rb") as start:
                if start.read(4) == b"\x7fELF":
                    return file
    return None


def symbols(path):
    return subprocess.run(["objdump", "-T", path], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout


def newer(path):
    """What the file at PATH asks for that is too new."""
    text = symbols(path)
    if "__asan_init" in text:
        skip("sanitizers ask for more")
    for library, version, name in WANTED.findall(text):
        if tuple(map(int, version.split("."))) > OLDEST[library] and name not in SAME[library]:
            yield f"{os.path.relpath(path, BUILD)}: {name} of {library} {version}"


def main():
    if not shutil.which("objdump"):
        skip("objdump is not installed")
    need(LISTED)
    with open(os.path.join(BUILD, LISTED), encoding="utf-8") as file:
        files = [elf(os.path.join(BUILD, name)) for name in file.read().split()]
    files = [file for file in files if file]
    assert len(files) >= 5, files
    assert WANTED.search(symbols(files[0])), "objdump writes something else"
    found = [line for file in files for line in newer(file)]
    assert not found, "\n" + "\n".join(found)
    print(f"{len(files)} files ask for nothing newer than "
          f"{', '.join(name + ' ' + '.'.join(map(str, v)) for name, v in OLDEST.items())}")


main()
