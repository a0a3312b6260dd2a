# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""One run of a guest: QEMU, what it says, and its end.

Everything comes through pipes: output and errors of the command (passed on as they come), its
begin, end and status, its files, the kernel's console.  What a guest has written may not have
left it when it ends, so it marks the end of each stream, and is ended by us when all marks have
come.  QEMU dies with this process, whatever ends it.  Files have no names (QEMU opens
/proc/self/fd/N), so nothing can be left behind."""

import ctypes
import os
import secrets
import selectors
import shlex
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time

from runner import EmulatorError, initrd, name_of

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITED, FAILED = 124, 125      # exit statuses
PORTS = ("out", "err", "status", "files")
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TERM")
CONSOLE_KEPT = 65536
BESIDE_RAM_MIB = 400            # QEMU itself, its translated code, the initrd
PR_SET_PDEATHSIG = 1

# No huge pages: emulated data are a thousandth of real ones, and an array of 2 MB would lie on
# one NUMA node whoever touches it.
KERNEL = ("console=ttyS0 panic=-1 mitigations=off nowatchdog numa_balancing=disable "
          "transparent_hugepage=never rcupdate.rcu_cpu_stall_suppress=1 random.trust_bootloader=on")
# Without our clock the guest's TSC is the host's, but on a busy host its rate is measured
# wrongly, by up to 30 times, and with it goes every clock: take QEMU's HPET.  For the same
# reason timer interrupts that come late are no broken timer.
HOST_TIME = "tsc=unstable clocksource=hpet lpj=10000000 no_timer_check"


class Guest:
    """What runs in which machine."""

    def __init__(self, software, topology, command, root="host", cgroup="v2", chdir=None,
                 output=None, plugin=None):
        self.software, self.topology, self.command = software, topology, command
        self.root, self.cgroup, self.chdir = root, cgroup, chdir or os.getcwd()
        self.output, self.plugin = output, plugin
        self.archive = initrd.Archive()
        self.mark = "emulate:" + secrets.token_hex(16)

    def script(self):
        lines = ["#!/bin/bash"]
        for name in PASSED_ON:
            if os.environ.get(name):
                lines.append(f"export {name}={shlex.quote(os.environ[name])}")
        lines += ["export HOME=/root", 'echo "begin ${EPOCHREALTIME/,/.}" >&3',
                  f"(cd {shlex.quote(self.chdir)} && exec {shlex.join(self.command)}) 3>&- 4>&-",
                  "status=$?", 'echo "end ${EPOCHREALTIME/,/.} $status" >&3']
        if self.output:
            lines.append(f"/run/busybox tar cf - -C {shlex.quote(self.output)} . >&4")
        lines += [f"for fd in 1 2 3 4; do printf %s {self.mark} >&$fd; done",
                  "while :; do /run/busybox sleep 1000; done"]
        return "\n".join(lines) + "\n"

    def pack(self, to):
        """Write the initrd; what the caller has put into the archive already counts first."""
        a = self.archive
        modules = [m for m in self.software.modules
                   if self.root == "host" or not os.path.basename(m).startswith(
                       ("9p", "overlay", "netfs", "fscache"))]
        with open(os.path.join(HERE, "init"), encoding="ascii") as f:
            a.text("/init", f.read(), 0o755)
        a.text("/boot/settings", f"root={self.root}\ncgroup={self.cgroup}\n"
               f"modules='{' '.join(map(os.path.basename, modules))}'\n")
        a.text("/boot/command", self.script())
        for name, source in [("busybox", self.software.busybox)] + [
                (os.path.basename(m), m) for m in modules]:
            with open(source, "rb") as f:
                a.put("/boot/" + name, stat.S_IFREG | 0o755, f.read())
        if self.root == "own":
            for directory in self.chdir, self.output:
                if directory:
                    a.directory(directory)
        a.save(to)

    def argv(self, fds):
        """QEMU's command line; FDS: of each port, of the console and of the initrd."""
        s, t = self.software, self.topology
        argv = [*s.qemu, "-L", s.data, "-L", s.firmware, "-nodefaults", "-no-user-config",
                "-display", "none", "-monitor", "none", "-nic", "none", "-no-reboot",
                "-machine", "q35,hpet=on", "-accel", "tcg,thread=multi,tb-size=512",
                *t.options(), "-kernel", s.kernel, "-initrd", name_of(fds["initrd"]),
                "-device", "virtio-serial-pci"]
        for number, name in enumerate((*PORTS, "console"), 1):
            argv += ["-add-fd", f"fd={fds[name]},set={number}",
                     "-chardev", f"file,id={name},path=/dev/fdset/{number},append=on"]
            argv += (["-serial", "chardev:console"] if name == "console" else
                     ["-device", f"virtserialport,chardev={name},name={name}"])
        if self.root == "host":
            argv += ["-fsdev", "local,id=root,path=/,security_model=none,readonly=on,"
                     "multidevs=remap", "-device", "virtio-9p-pci,fsdev=root,mount_tag=root"]
        if self.plugin:
            return argv + self.plugin.options() + ["-append", f"{KERNEL} {self.plugin.KERNEL}"]
        return argv + ["-cpu", "max,vendor=GenuineIntel", "-append", f"{KERNEL} {HOST_TIME}"]


class Run:
    """Boots GUEST and runs its command; LIMIT in seconds of the host.  WATCH(run) is called
    several times a second, at begin and at end of the command."""

    def __init__(self, guest, limit, watch=lambda run: None):
        self.guest, self.limit, self.watch = guest, limit, watch
        self.status = self.begin = self.end = None      # of the command; guest's seconds
        self.console = self.complaint = b""
        self.started = self.host_begin = self.host_end = time.monotonic()
        self.lines = b""

    def run(self):
        """The command's exit status."""
        enough_memory(self.guest.topology)
        with tempfile.TemporaryFile() as image, tempfile.TemporaryFile() as self.files:
            self.guest.pack(image)
            self.boot(image)
            if self.status is not None and self.guest.output:
                self.bring_back()
        if self.status is None:
            raise EmulatorError(self.why())
        return self.status

    def boot(self, image):
        mark = self.guest.mark.encode()
        self.marked = [Marked(mark, take) for take in (
            lambda data: write_all(1, data), lambda data: write_all(2, data),
            self.take_status, self.files.write)]
        takers = {**dict(zip(PORTS, self.marked)),
                  "console": self.take_console, "qemu": self.take_complaint}
        ends = {name: os.pipe() for name in takers}
        writers = {name: w for name, (_, w) in ends.items()}
        plugin = self.guest.plugin
        keep = [*writers.values(), image.fileno(), *(plugin.fds() if plugin else ())]
        try:
            self.qemu = subprocess.Popen(
                self.guest.argv({**writers, "initrd": image.fileno()}), cwd="/",
                stdin=subprocess.DEVNULL, stdout=writers["qemu"], stderr=writers["qemu"],
                pass_fds=keep,
                env={**os.environ, "QEMU_MODULE_DIR": self.guest.software.module_dir,
                     **(plugin.environment() if plugin else {})},
                start_new_session=True, preexec_fn=die_with_parent(os.getpid()))
            for fd in writers.values():
                os.close(fd)
            self.pump({r: takers[name] for name, (r, _) in ends.items()})
        finally:
            if hasattr(self, "qemu"):
                self.qemu.kill()
                self.qemu.wait()
            for r, _ in ends.values():
                os.close(r)

    def pump(self, takers):
        """Take what comes until all marks have, or QEMU has ended."""
        with selectors.DefaultSelector() as selector:
            for fd in takers:
                selector.register(fd, selectors.EVENT_READ)
            while selector.get_map() and not all(stream.ended for stream in self.marked):
                for key, _ in selector.select(0.25):
                    data = os.read(key.fd, 65536)
                    if data:
                        takers[key.fd](data)
                    else:
                        selector.unregister(key.fd)
                self.watch(self)
                if time.monotonic() - self.started > self.limit:
                    raise Limit(f"the limit of {self.limit:g} s was reached"
                                + ("" if self.begin else " before the command began"),
                                self.last_lines())
            if not selector.get_map():
                self.qemu.wait()

    def take_status(self, data):
        self.lines += data
        while b"\n" in self.lines:
            line, _, self.lines = self.lines.partition(b"\n")
            word, seconds, *rest = line.decode().split()
            if word == "begin":
                self.begin, self.host_begin = float(seconds), time.monotonic()
            else:
                self.end, self.host_end = float(seconds), time.monotonic()
                self.status = int(rest[0])
            self.watch(self)

    def take_console(self, data):
        self.console = (self.console + data)[-CONSOLE_KEPT:]

    def take_complaint(self, data):
        self.complaint = (self.complaint + data)[-CONSOLE_KEPT:]

    def last_lines(self, count=12):
        text = self.console.decode(errors="replace").replace("\r", "")
        return "\n".join(text.splitlines()[-count:])

    def why(self):
        """Why there is no status, and the last that was heard."""
        said = self.complaint.decode(errors="replace").strip()
        if not self.console and said:
            ours = [line for line in said.splitlines() if line.startswith("emulator: ")]
            return f"QEMU did not start: {(ours or said.splitlines())[-1]}"
        if b"Kernel panic" in self.console:
            what = "the guest's kernel panicked"
        elif self.qemu.returncode < 0:
            what = f"QEMU was ended by signal {-self.qemu.returncode}"
        else:
            what = f"the guest ended without a status (QEMU: {self.qemu.returncode})"
        return "\n".join(p for p in (what, self.last_lines(), said) if p)

    def bring_back(self):
        """Plain files and directories below the output directory, nothing else."""
        self.files.seek(0)
        os.makedirs(self.guest.output, exist_ok=True)
        try:
            with tarfile.open(fileobj=self.files) as tar:
                for member in tar:
                    parts = member.name.split("/")
                    if (member.isfile() or member.isdir()) and ".." not in parts and parts[0]:
                        member.uid, member.gid = os.getuid(), os.getgid()
                        member.uname = member.gname = ""
                        member.mode = member.mode & 0o755 | 0o600
                        tar.extract(member, self.guest.output, set_attrs=not member.isdir())
        except (tarfile.TarError, OSError) as e:
            raise EmulatorError(f"--output {self.guest.output}: {e}") from e


class Marked:
    """Passes a stream on to TAKE up to MARK."""

    def __init__(self, mark, take):
        self.mark, self.take, self.kept, self.ended = mark, take, b"", False

    def __call__(self, data):
        if self.ended:
            return
        data = self.kept + data
        at = data.find(self.mark)
        self.ended = at >= 0
        if not self.ended:      # what may be the mark's beginning waits
            at = next(at for at in range(max(0, len(data) - len(self.mark) + 1), len(data) + 1)
                      if self.mark.startswith(data[at:]))
        self.kept = data[at:]
        self.take(data[:at])


class Limit(EmulatorError):
    def __init__(self, what, lines):
        super().__init__("\n".join((what, lines)).strip())


def enough_memory(topology):
    with open("/proc/meminfo", encoding="ascii") as f:
        free = next(int(line.split()[1]) for line in f if line.startswith("MemAvailable")) // 1024
    wanted = sum(topology.mib) + BESIDE_RAM_MIB
    if wanted > free:
        raise EmulatorError(f"{wanted} MiB of memory are needed, {free} are available: "
                            "--memory takes less")


def write_all(fd, data):
    (sys.stdout if fd == 1 else sys.stderr).flush()
    while data:
        data = data[os.write(fd, data):]


def die_with_parent(parent):
    """For the child: end when PARENT does, even if it is killed."""
    prctl = ctypes.CDLL(None).prctl

    def prepare():
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    return prepare
