#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""configure finds the directory of Slurm's plugins: as told, by pkg-config, by scontrol, or where
plugins are; never outside the prefix."""

import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["abs_top_srcdir"]
CONFIGURE = """AC_INIT([x], [1])
AC_CONFIG_MACRO_DIRS([m4])
PKG_PROG_PKG_CONFIG
CC=./cc
X_AC_SLURM_PLUGINDIR
AC_OUTPUT
"""


def script(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


def found(folder, *arguments):
    done = subprocess.run(
        ["./configure", f"--prefix={folder}/usr", *arguments], check=True, cwd=folder,
        stdout=subprocess.PIPE, universal_newlines=True,
        env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}).stdout
    line = [x for x in done.splitlines() if "plugin directory" in x][0]
    return line.split("... ")[1].replace(folder, "")


def plugins(folder, path):
    os.makedirs(folder + path)
    with open(f"{folder}{path}/select_cons_tres.so", "w", encoding="ascii"):
        pass


def main():
    if not shutil.which("autoreconf"):
        print("SKIP: no autoconf")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as folder:
        os.makedirs(f"{folder}/m4")
        os.makedirs(f"{folder}/bin")
        shutil.copy(f"{SOURCE}/m4/x_ac_slurm_plugindir.m4", f"{folder}/m4")
        with open(f"{folder}/configure.ac", "w", encoding="ascii") as file:
            file.write(CONFIGURE)
        script(f"{folder}/cc", "echo x86_64-linux-gnu\n")
        script(f"{folder}/bin/pkg-config", "exit 1\n")
        script(f"{folder}/bin/scontrol", "exit 1\n")
        subprocess.run(["sh", "-c", "aclocal -I m4 && autoconf"], check=True, cwd=folder)

        assert found(folder) == "${libdir}/slurm", "nothing is there"
        plugins(folder, "/usr/lib/slurm")
        assert found(folder) == "/usr/lib/slurm"
        plugins(folder, "/usr/lib64/slurm")                         # EL
        assert found(folder) == "/usr/lib64/slurm"
        plugins(folder, "/usr/lib/x86_64-linux-gnu/slurm-wlm")      # Debian
        assert found(folder) == "/usr/lib/x86_64-linux-gnu/slurm-wlm"
        plugins(folder, "/usr/slurm/plugins")
        script(f"{folder}/bin/scontrol", f"echo 'PluginDir = {folder}/usr/slurm/plugins'\n")
        assert found(folder) == "/usr/slurm/plugins"
        plugins(folder, "/opt/slurm/lib")
        script(f"{folder}/bin/pkg-config", f"echo {folder}/opt/slurm/lib\n")
        assert found(folder) == "/usr/slurm/plugins", "outside the prefix"
        assert found(folder, "--with-slurm-plugindir=/a/b") == "/a/b"


main()
