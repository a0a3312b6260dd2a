# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Trees of other releases of Debian, made by debootstrap and kept for the next time.

What runs in a tree has its own mounts and processes, which end with it, whatever happens."""

import os
import shutil
import subprocess
import sys

ENVIRONMENT = ("HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
               "CCACHE_NOHASHDIR=1",
               "PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin")
# An installed server must not start, and nobody reads manual pages there.
POLICY = "#!/bin/sh\nexit 101\n"
DPKG = "force-unsafe-io\npath-exclude=/usr/share/locale/*\n"
# The tree is a mount, or nothing in it could have mounts of its own, and has device nodes of its
# own: scripts of packages change modes of those they know.  Cgroups are the host's: tests that
# make some wait for those of other trees.
PREPARE = """set -e; tree=$1; shift
mount --bind "$tree" "$tree"
mount -t proc proc "$tree/proc"; mount --rbind /sys "$tree/sys"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$tree/dev/pts"
mount -t tmpfs tmpfs "$tree/dev/shm"; mount -t tmpfs tmpfs "$tree/run"
lock=/tmp/cosched-test.cgroup.lock; touch "$lock" "$tree$lock"; mount --bind "$lock" "$tree$lock"
echo "127.0.0.1 localhost $(uname -n)" >"$tree/etc/hosts"
exec chroot "$@"
"""


def need_debootstrap():
    """Skip where no tree can be made."""
    if os.getuid() or not shutil.which("debootstrap"):
        print("SKIP: needs root and debootstrap")
        sys.exit(77)


def mirror():
    """Where this host's own packages of Debian come from."""
    lines = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(LABEL)", "Created-By: Packages"],
        check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    for line in lines.splitlines():
        uri, _, label = line.partition(" ")
        if label == "Debian":
            return uri
    return sys.exit("debtree: no source of this host's apt has Debian (apt-get update?)")


def make_tree(folder, suite, include=()):
    """The path of the tree of SUITE in FOLDER, with the packages INCLUDE when it is new."""
    tree = os.path.join(os.path.abspath(folder), suite)
    if os.path.exists(f"{tree}/etc/dpkg/dpkg.cfg.d/tree"):
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["debootstrap", "--variant=minbase",
                    *(["--include=" + ",".join(include)] if include else []),
                    suite, tree, mirror()], check=True, stdout=subprocess.DEVNULL)
    for path, text, mode in (("usr/sbin/policy-rc.d", POLICY, 0o755),
                             # Mirrors of snapshots are older than they may be.
                             ("etc/apt/apt.conf.d/tree",
                              'Acquire::Check-Valid-Until "false";\n', 0o644),
                             ("etc/dpkg/dpkg.cfg.d/tree", DPKG, 0o644)):
        with open(f"{tree}/{path}", "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(f"{tree}/{path}", mode)
    return tree


def run_in(tree, command, user=0, check=False, **more):
    """The completed process of the shell's COMMAND, or list, in TREE."""
    words = ["sh", "-c", command] if isinstance(command, str) else command
    return subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
         "sh", "-c", PREPARE, "sh", tree, "--userspec=%d:%d" % (user, user), tree,
         "/usr/bin/env", "-i", *ENVIRONMENT, *words],
        check=check, stdin=subprocess.DEVNULL, universal_newlines=True, **more)
