# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""An agent in the hands of a test, and programs that attach to it.

FakeAgent answers "attach" with two pages and lets the test write allotments
and read reports (protocol/layout.h, protocol/message.h).  Program runs one of
the programs of probe.c with the cooperative libgomp.
"""

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import selectors
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from coschedtest import (BUILD, LIBGOMP_COOP, SOURCE, allowed_cpus, need, skip,
                         wait_for)

ALLOTMENT_MAGIC = 0x31416F43
REPORT_MAGIC = 0x31526F43
VERSION = 1
ALLOTMENT_SIZE = 2368
HOMES_OFFSET, HOMES_MAGIC, MAX_HOMES, HOME_ANY = 4096, 0x31486F43, 2048, 0xFFFF
HOMES_SIZE = 16 + 16 * MAX_HOMES
REPORT_SIZE = 128 + 64 * 256
SERIAL = 0xFFFFFFFF
MODES = {0: "none", 1: "donor", 2: "ult", 3: "kthread"}
SYS_FUTEX, FUTEX_WAKE = 202, 1
LIBC = ctypes.CDLL(None, use_errno=True)

# The lease is long: tests that want it to expire say so.
LEASE_NS = 60_000_000_000


def cpu_bits(cpus):
    """The 128 bytes of a struct cosched_cpuset."""
    return sum(1 << cpu for cpu in cpus).to_bytes(128, "little")


class Page:
    """A memfd that is mapped here and handed to the other side."""

    def __init__(self, name, size, seal=True):
        self.fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)
        if seal:
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS,
                        fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)

    def close(self):
        self.map.close()
        os.close(self.fd)


class Client:
    """One attached process: its allotment and its report."""

    def __init__(self, connection, request, granted, lease_ns, spoil):
        self.connection = connection
        self.request = request
        self.generation = 0
        self.lease_ns = lease_ns
        self.granted = sorted(granted)
        self.cpus = list(self.granted)
        self.allotment = Page("allotment", HOMES_OFFSET + HOMES_SIZE)
        self.report = Page("report", REPORT_SIZE)
        # Stored as a whole, which struct.pack_into does not promise.
        self.word = ctypes.c_uint32.from_buffer(self.allotment.map, 12)
        self.beat = ctypes.c_uint64.from_buffer(self.allotment.map, 16)
        self.header()
        self.allot(self.granted)
        if spoil:
            spoil(self)

    def header(self):
        struct.pack_into("<III", self.allotment.map, 0, ALLOTMENT_MAGIC,
                         VERSION, ALLOTMENT_SIZE)
        struct.pack_into("<QII", self.allotment.map, 24, self.lease_ns, 0, 1)
        self.allotment.map[192:320] = cpu_bits(self.granted)

    def heartbeat(self):
        self.beat.value = time.monotonic_ns()

    def allot(self, cpus, flags=0):
        """Publish CPUS as the allotment; returns (generation, time in ns)."""
        self.cpus = sorted(cpus)
        self.word.value = self.generation + 1
        self.heartbeat()
        struct.pack_into("<I", self.allotment.map, 32, flags)
        self.allotment.map[64:192] = cpu_bits(cpus)
        self.generation += 2
        now = time.monotonic_ns()
        self.word.value = self.generation
        LIBC.syscall(SYS_FUTEX, ctypes.byref(self.word), FUTEX_WAKE,
                     2147483647, None, None, 0)
        return self.generation, now

    def put_domains(self, domain_of):
        """Each CPU of DOMAIN_OF is in that LLC domain, the others in 0; from
        the next allotment on."""
        struct.pack_into("<I", self.allotment.map, 36, 2)
        for cpu, domain in domain_of.items():
            struct.pack_into("<H", self.allotment.map, 320 + 2 * cpu, domain)

    def put_grows(self, grows):
        """Whether more CPUs come in a moment."""
        struct.pack_into("<I", self.allotment.map, 52, grows)

    def put_homes(self, homes, count=None):
        """HOMES are (stack, region, domain); says how many, unless COUNT; from
        the next allotment on."""
        struct.pack_into("<IIII", self.allotment.map, HOMES_OFFSET, HOMES_MAGIC,
                         VERSION, HOMES_SIZE,
                         len(homes) if count is None else count)
        for i, home in enumerate(homes):
            struct.pack_into("<QHHI", self.allotment.map,
                             HOMES_OFFSET + 16 + 16 * i, *home, 0)

    def header_of_report(self):
        names = ("magic", "version", "size", "pid", "mode", "team", "region",
                 "regions_used", "region_begin_ns", "applied_generation",
                 "workers", "applied_ns", "extra_workers", "steals", "preempted")
        return dict(zip(names, struct.unpack_from("<8IQIIQQQQ",
                                                  self.report.map, 0)))

    def region(self, index):
        names = ("object_id", "offset", "entries", "time_ns", "barriers",
                 "iterations", "ults", "idle_ns")
        return dict(zip(names, struct.unpack_from("<8Q", self.report.map,
                                                  128 + 64 * index)))

    def applied(self, generation):
        return self.header_of_report()["applied_generation"] == generation

    def close(self):
        self.connection.close()
        self.word = self.beat = None
        self.allotment.close()
        self.report.close()


class FakeAgent:
    """Serves attach requests in a thread and renews the leases.

    refuse   answer without descriptors
    spoil    called with each new Client before the reply is sent
    """

    def __init__(self, path, granted, lease_ns=LEASE_NS, refuse=False,
                 spoil=None):
        self.path = path
        self.granted, self.lease_ns = granted, lease_ns
        self.refuse, self.spoil = refuse, spoil
        self.clients = []
        self.refused = 0
        self.beating = True
        self.stopping = False
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        selector = selectors.DefaultSelector()
        selector.register(self.listener, selectors.EVENT_READ)
        while not self.stopping:
            if selector.select(0.02):
                connection, _ = self.listener.accept()
                connection.settimeout(60)
                # A program gives up after a second, and comes again.
                with contextlib.suppress(OSError, EOFError):
                    self.attach(connection)
            if self.beating:
                for client in self.clients:
                    client.heartbeat()

    def attach(self, connection):
        text = connection.recv(65536)
        if not text:
            raise EOFError
        request = json.loads(text)
        assert request["v"] == 1 and request["op"] == "attach", request
        if self.refuse:
            self.refused += 1
            connection.send(b'{"v":1,"ok":false,"errnum":1,"error":"no"}')
            connection.close()
            return
        client = Client(connection, request, self.granted, self.lease_ns,
                        self.spoil)
        socket.send_fds(connection, [b'{"v":1,"ok":true}'],
                        [client.allotment.fd, client.report.fd])
        self.clients.append(client)

    def client(self, number=0):
        """The client that attached as NUMBER, once it has a report."""
        wait_for(f"attached process {number}",
                 lambda: len(self.clients) > number)
        client = self.clients[number]
        wait_for("report", lambda: client.header_of_report()["magic"]
                 == REPORT_MAGIC and client.applied(client.generation))
        return client

    def kill(self):
        """Hang up on everybody, as the end of the process does."""
        self.stopping = True
        self.thread.join()
        self.listener.close()
        for client in self.clients:
            client.close()
        self.clients = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.stopping:
            self.kill()


class Started:
    """A process with standard input and output as probe.c has them."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def wait_line(self, text):
        """Read stdout up to the line TEXT."""
        for line in self.process.stdout:
            if line.strip() == text:
                return
        raise AssertionError(f"no line '{text}': "
                             + self.process.stderr.read())

    def stop(self):
        """Tell the program to end its region, check that it is satisfied."""
        out, err = self.process.communicate("stop\n", timeout=300)
        assert self.process.returncode == 0 and "PASS" in out, (
            self.process.returncode, out, err)
        return out, err

    def end_under(self, agent, sets, pause=0.005):
        """Wait for its end, while AGENT gives it one of SETS of CPUs after the
        other, or the only one once; its output, errors and how many."""
        changes = 0
        while self.process.poll() is None:
            if agent.clients and (changes == 0 or len(sets) > 1):
                agent.clients[0].allot(sets[changes % len(sets)])
                changes += 1
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(pause)
        return (*self.process.communicate(), changes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Program(Started):
    """A program of probe.c, under the cooperative libgomp.  PROGRAM is below
    tests/libgomp-coop of the build, unless its path is absolute."""

    def __init__(self, *arguments, socket_path=None, program="probe",
                 **environment):
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith(("COSCHED_", "OMP_", "GOMP_"))}
        clean["LD_LIBRARY_PATH"] = LIBGOMP_COOP
        if socket_path:
            clean.update(COSCHED_SOCKET=socket_path, COSCHED_JOB="7",
                         COSCHED_VERBOSE="1")
        clean.update(environment)
        super().__init__([os.path.join(BUILD, "tests/libgomp-coop", program),
                          *arguments], clean)

    def runnable(self):
        """{thread id: CPUs it may use} of threads that run or want to."""
        found = {}
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(OSError):
                with open(f"/proc/{self.pid}/task/{tid}/stat") as f:
                    state = f.read().rpartition(")")[2].split()[0]
                if state == "R":
                    found[int(tid)] = os.sched_getaffinity(int(tid))
        return found

    def on_only(self, cpus):
        """Does it run, and nowhere but on CPUS?"""
        threads = self.runnable()
        return threads and all(mask <= set(cpus) for mask in threads.values())

    def runs_nothing(self, tid):
        """The runtime's monitor and parked donors block all signals, threads of
        the programs here none."""
        with contextlib.suppress(OSError), \
                open(f"/proc/{self.pid}/task/{tid}/status") as f:
            blocked = f.read().partition("SigBlk:")[2].split()[0]
            return int(blocked, 16) >> signal.SIGTERM - 1 & 1 == 1
        return True

    def on_each(self, cpus):
        """Has each of CPUS a thread, and no thread others? Kernel threads that had
        to wait for their CPU may use any of CPUS: a thread for each must run."""
        masks = [mask for tid, mask in self.runnable().items()
                 if not self.runs_nothing(tid)]
        return (len(masks) >= len(cpus)
                and set().union(*masks) == set(cpus))


@contextlib.contextmanager
def directory():
    path = tempfile.mkdtemp(prefix="coop-test.")
    try:
        yield path
    finally:
        shutil.rmtree(path)


def two_cpus():
    """Two CPUs of this machine, or the test is skipped."""
    cpus = allowed_cpus()
    if len(cpus) < 2:
        skip("needs two CPUs")
    return cpus[:2]


def needs_probe():
    need("libgomp-coop/lib-coop/libgomp.so.1", "tests/libgomp-coop/probe")


def print_us(what, ns):
    print(f"{what}: median {statistics.median(ns) / 1000:.0f} us, "
          f"max {max(ns) / 1000:.0f} us, n={len(ns)}")
