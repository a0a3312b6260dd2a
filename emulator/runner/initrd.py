# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The file system that a guest starts with, in the format of the kernel (cpio, newc).

All paths are the host's, so a command of the host is the same command inside."""

import os
import stat
import subprocess

# Of the host, where it has them; busybox is the rest.
TOOLS = ("bash", "env", "sh", "sleep", "taskset", "numactl", "mawk", "timeout", "setsid", "lscpu")
LIBRARIES = ("/lib/x86_64-linux-gnu/libgcc_s.so.1", "/lib/x86_64-linux-gnu/libgomp.so.1",
             "/usr/lib/x86_64-linux-gnu/libgomp.so.1")
PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


class Archive:
    """Members are added once; the first of a name counts."""

    def __init__(self):
        self.parts, self.members = [], {}

    def put(self, path, mode, data=b""):
        name = path.strip("/").encode()
        if name in self.members or not name:
            return
        self.members[name] = True
        self.write(name, mode, data)

    def write(self, name, mode, data):
        fields = (len(self.members), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + name + b"\0"
        for part in head, data:
            part += b"\0" * (-len(part) % 4)
            self.parts.append(part)

    def directory(self, path, mode=0o755):
        for at in range(1, len(path.rstrip("/")) + 1):
            if at == len(path.rstrip("/")) or path[at] == "/":
                self.put(path[:at], stat.S_IFDIR | mode)

    def text(self, path, text, mode=0o644):
        self.directory(os.path.dirname(path))
        self.put(path, stat.S_IFREG | mode, text.encode())

    def link(self, path, to):
        self.directory(os.path.dirname(path))
        self.put(path, stat.S_IFLNK | 0o777, to.encode())

    def copy(self, path):
        """The host's PATH, a file or a tree, with the links on the way to it."""
        if path.strip("/").encode() in self.members and not os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        if parent not in ("/", ""):
            self.way(parent)
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            to = os.readlink(path)
            self.put(path, info.st_mode, to.encode())
            target = os.path.normpath(os.path.join(os.path.realpath(parent), to))
            if os.path.exists(target):
                self.copy(target)
        elif stat.S_ISDIR(info.st_mode):
            self.put(path, info.st_mode & 0o40755)
            for name in sorted(os.listdir(path)):
                self.copy(os.path.join(path, name))
        elif stat.S_ISREG(info.st_mode):
            with open(path, "rb") as f:
                self.put(path, info.st_mode, f.read())

    def way(self, path):
        """The directories of PATH, some of which are links (/lib to usr/lib)."""
        if path == "/" or path.strip("/").encode() in self.members:
            return
        self.way(os.path.dirname(path))
        if os.path.islink(path):
            self.put(path, stat.S_IFLNK | 0o777, os.readlink(path).encode())
            self.way(os.path.realpath(path))
        else:
            self.put(path, stat.S_IFDIR | 0o755)

    def save(self, to):
        self.write(b"TRAILER!!!", 0, b"")
        to.writelines(self.parts)
        to.flush()


def is_elf(path):
    try:
        with open(path, "rb") as f:
            return f.read(4) == b"\x7fELF"
    except OSError:
        return False


def tools():
    """Those of TOOLS that the host has."""
    for name in TOOLS:
        for directory in PATH:
            if os.access(os.path.join(directory, name), os.X_OK):
                yield os.path.join(directory, name)
                break


def built(build):
    """Programs and libraries of the build tree, but those of tests."""
    for at, directories, names in os.walk(build):
        skip = ("tests",) if at == build else ("parts", "software")
        directories[:] = [d for d in directories if d not in skip]
        for name in names:
            path = os.path.join(at, name)
            if not name.endswith(".o") and (os.access(path, os.X_OK) or ".so" in name) and \
                    is_elf(path):
                yield path


def needed(programs):
    """The libraries of PROGRAMS, by the loader."""
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True).stdout
    for line in said.splitlines():
        words = line.split()
        path = words[2] if "=>" in words and len(words) > 3 else words[0] if words else ""
        if path.startswith("/") and not path.endswith(":") and os.path.exists(path):
            yield path


def own_root(archive, software, build, files):
    """A root file system in RAM: the build tree, FILES of the host, and what they need."""
    every = list(tools()) + sorted(built(build))
    for path in files:
        every.append(path)
        for at, _, names in os.walk(path) if os.path.isdir(path) else ():
            every += [os.path.join(at, n) for n in names]
    elf = [p for p in every if is_elf(p)]
    for path in every + list(LIBRARIES) + sorted(set(needed(elf))):
        if os.path.lexists(path):
            archive.copy(path)
    for path in ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/tmp", "/root", "/var/lib", "/etc"):
        archive.way(path)
    said = subprocess.run([software.busybox, "--list-full"], capture_output=True, text=True)
    for name in said.stdout.split():
        archive.link("/" + name, "/boot/busybox")
    archive.text("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"
                 "nobody:x:65534:65534:nobody:/:/bin/sh\n")
    archive.text("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
