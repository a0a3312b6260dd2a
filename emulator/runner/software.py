# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""QEMU, a kernel and busybox: fetched from Debian once, and never installed.

apt reads a list of sources and writes directories of its own below the cache, and believes
that nothing is installed.  So it brings all libraries too, and QEMU runs by its own loader:
the host's release does not matter, nor what the host has.  Only its keys are the host's."""

import fcntl
import lzma
import os
import re
import shutil
import subprocess

from runner import EmulatorError

MIRROR = "http://deb.debian.org/debian"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = {"bookworm-backports": ("bookworm", "bookworm-backports"), "trixie": ("trixie",),
          "sid": ("sid",)}     # where QEMU is from, and the sources that it needs
KERNEL_SUITE = "bookworm"
LEAST_QEMU = (10, 0)
MODULES = ("virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay")


class Software:
    """Paths: qemu (argv), data, module_dir, busybox, kernel (vmlinux), modules [.ko in order]."""

    def __init__(self, cache, suite, say):
        if suite not in SUITES:
            raise EmulatorError(f"--suite {suite}: one of {', '.join(SUITES)}")
        self.cache, self.suite, self.say = cache, suite, say
        os.makedirs(cache, exist_ok=True)
        with open(os.path.join(cache, "lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)        # another run may fetch the same
            root = self.have(f"qemu-{suite}", self.fetch_qemu)
            kernel = self.have(f"kernel-{KERNEL_SUITE}", self.fetch_kernel)
        self.use_qemu(root)
        self.kernel = os.path.join(kernel, "vmlinux")
        with open(os.path.join(kernel, "order"), encoding="ascii") as order:
            self.modules = [os.path.join(kernel, name) for name in order.read().split()]

    def have(self, name, fetch):
        """The directory NAME of the cache, made by FETCH(directory) if there is none."""
        path, new = os.path.join(self.cache, name), os.path.join(self.cache, name + ".new")
        if not os.path.isdir(path):
            shutil.rmtree(new, ignore_errors=True)
            os.makedirs(new)
            fetch(new)
            os.rename(new, path)
        return path

    # ---- Debian ----------------------------------------------------------------------

    def apt(self, suites, *words):
        """apt-get or apt-cache WORDS with SUITES as the only sources; its output."""
        own = os.path.join(self.cache, "apt-" + suites[-1])
        for part in "lists/partial", "archives/partial":
            os.makedirs(os.path.join(own, part), exist_ok=True)
        with open(os.path.join(own, "sources.list"), "w", encoding="ascii") as sources:
            for suite in suites:
                sources.write(f"deb [signed-by={KEYS}] {MIRROR} {suite} main\n")
        open(os.path.join(own, "status"), "w", encoding="ascii").close()
        settings = (f"Dir::Etc::SourceList={own}/sources.list", "Dir::Etc::SourceParts=/dev/null",
                    "Dir::Etc::Preferences=/dev/null", "Dir::Etc::PreferencesParts=/dev/null",
                    f"Dir::State={own}", f"Dir::State::Lists={own}/lists",
                    f"Dir::State::Status={own}/status", f"Dir::Cache={own}",
                    f"Dir::Cache::Archives={own}/archives", "Dir::Log=/dev/null",
                    "Acquire::Languages=none", "Acquire::http::Timeout=20", "Acquire::Retries=1",
                    "APT::Get::List-Cleanup=0", "APT::Sandbox::User=", "Dpkg::Use-Pty=0",
                    "APT::Architecture=amd64", "APT::Architectures::=amd64",
                    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
                    "Binary::apt-get::APT::Keep-Downloaded-Packages=1")
        command = [words[0]] + [f"-o{s}" for s in settings] + list(words[1:])
        done = subprocess.run(command, capture_output=True, text=True, cwd=own + "/archives",
                              stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
        if done.returncode:
            lines = [li for li in done.stderr.splitlines() if li.startswith("E:")]
            raise EmulatorError(f"Debian's {suites[-1]} cannot be fetched from {MIRROR}: "
                                + (lines or ["E: no reason given"])[0][3:])
        return done.stdout

    def update(self, suites):
        for tool in "apt-get", "dpkg-deb", "tar":
            if not shutil.which(tool):
                raise EmulatorError(f"{tool} is missing, which fetches QEMU and a kernel")
        if not os.path.exists(KEYS):
            raise EmulatorError(f"{KEYS} is missing (package debian-archive-keyring)")
        # What cannot be had is an error, not a warning.
        self.apt(suites, "apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update")

    def unpack(self, suites, into, *members):
        """Unpack all archives of SUITES; of each only MEMBERS, if there are any."""
        archives = os.path.join(self.cache, "apt-" + suites[-1], "archives")
        without = [f"--exclude=./usr/share/{d}" for d in ("doc", "man", "locale", "info")]
        for name in sorted(os.listdir(archives)):
            if not name.endswith(".deb"):
                continue
            deb = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", os.path.join(archives, name)],
                                   stdout=subprocess.PIPE)
            tar = subprocess.run(["tar", "xf", "-", "-C", into, "--no-same-owner", "--wildcards",
                                  *without, *members], stdin=deb.stdout, capture_output=True,
                                 text=True)
            deb.stdout.close()
            if deb.wait() or tar.returncode:
                raise EmulatorError(f"{name} cannot be unpacked: {tar.stderr.strip()[-200:]}")
        shutil.rmtree(os.path.join(self.cache, "apt-" + suites[-1]))

    def fetch_qemu(self, into):
        suites = SUITES[self.suite]
        self.say(f"fetching QEMU of Debian's {self.suite} (40 MB)")
        self.update(suites)
        self.apt(suites, "apt-get", "-qy", "--download-only", "--no-install-recommends", "-t",
                 self.suite, "install", "qemu-system-x86", "busybox-static")
        self.unpack(suites, into)

    def fetch_kernel(self, into):
        suites = (KERNEL_SUITE,)
        self.say("fetching a kernel of Debian 12 (70 MB)")
        self.update(suites)
        names = re.findall(r"Depends: (linux-image-\S+)",
                           self.apt(suites, "apt-cache", "depends", "linux-image-amd64"))
        if not names:
            raise EmulatorError("Debian 12 has no linux-image-amd64 any more")
        self.apt(suites, "apt-get", "-q", "download", names[0])
        self.unpack(suites, into, "./boot/vmlinuz-*", "./lib/modules/*")
        plain_kernel(os.path.join(into, "boot"), os.path.join(into, "vmlinux"))
        order = keep_modules(os.path.join(into, "lib/modules"), into)
        for part in "boot", "lib":
            shutil.rmtree(os.path.join(into, part))
        with open(os.path.join(into, "order"), "w", encoding="ascii") as f:
            f.write("\n".join(order) + "\n")

    # ---- QEMU ------------------------------------------------------------------------

    def use_qemu(self, root):
        def find(*names):
            for name in names:
                if os.path.exists(os.path.join(root, name)):
                    return os.path.join(root, name)
            raise EmulatorError(f"{root} has no {names[0]}: remove it, and it is fetched again")

        loader = find("lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2",
                      "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
        libraries = ":".join(os.path.join(root, d, "x86_64-linux-gnu") for d in ("lib", "usr/lib"))
        program = find("usr/bin/qemu-system-x86_64")
        self.busybox = find("bin/busybox", "usr/bin/busybox")
        self.data = find("usr/share/qemu")
        self.firmware = find("usr/share/seabios")
        self.module_dir = os.path.join(root, "usr/lib/x86_64-linux-gnu/qemu")
        self.qemu = [loader, "--library-path", libraries, program]
        said = subprocess.run([*self.qemu, "--version"], capture_output=True, text=True)
        found = re.match(r"QEMU emulator version (\d+)\.(\d+)", said.stdout)
        if not found:
            raise EmulatorError(f"{program} does not run: {said.stderr.strip()[-200:]}")
        self.version = said.stdout.split("\n")[0].removeprefix("QEMU emulator version ")
        if (int(found[1]), int(found[2])) < LEAST_QEMU:
            raise EmulatorError(f"QEMU {found[1]}.{found[2]} of {self.suite} is too old, "
                                f"{'.'.join(map(str, LEAST_QEMU))} is needed")
        said = subprocess.run([*self.qemu, "-plugin", "help"], capture_output=True, text=True)
        if said.returncode:
            raise EmulatorError(f"QEMU {self.version} was built without plugins")


def plain_kernel(boot, to):
    """The ELF kernel inside of BOOT/vmlinuz-*, which QEMU starts directly (PVH)."""
    name = next(n for n in sorted(os.listdir(boot)) if n.startswith("vmlinuz-"))
    with open(os.path.join(boot, name), "rb") as f:
        image = f.read()
    at = image.find(b"\xfd7zXZ\x00")
    try:
        kernel = lzma.LZMADecompressor().decompress(image[at:]) if at >= 0 else b""
    except lzma.LZMAError:
        kernel = b""
    if not kernel.startswith(b"\x7fELF"):
        raise EmulatorError(f"{name}: no kernel compressed by xz is inside")
    with open(to, "wb") as f:
        f.write(kernel)


def keep_modules(tree, into):
    """Copy MODULES and what they need, plain, into INTO; their names in order of loading.
    The package has no modules.dep: each module says itself what it needs."""
    paths = {}
    for at, _, names in os.walk(tree):
        for name in names:
            if ".ko" in name:
                paths[name.partition(".ko")[0].replace("-", "_")] = os.path.join(at, name)
    order = []

    def keep(name):
        if name not in paths or name + ".ko" in order:
            return      # built in, or there
        with (lzma.open if paths[name].endswith(".xz") else open)(paths[name], "rb") as f:
            module = f.read()
        for other in re.search(rb"\0depends=([^\0]*)\0", module)[1].decode().split(","):
            keep(other.replace("-", "_"))
        with open(os.path.join(into, name + ".ko"), "wb") as f:
            f.write(module)
        order.append(name + ".ko")

    for name in MODULES:
        keep(name)
    return order
