#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Nodes hand their records over to one collector, which alone asks slurmdbd: durable on one side
or the other at any time, from root only and to root only."""

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import need, skip, wait_for  # noqa: E402
from slurmhelper import END, TEXT, FakeSlurm, Keeper  # noqa: E402

MUNGED = shutil.which("munged", path="/usr/sbin:/sbin:" + os.environ["PATH"])
NOBODY = 65534
GREETING = "cosched-records/1 "
NONCE = "0123456789abcdef" * 2


def free_port():
    """Not one that the kernel gives to others while the collector is away."""
    for port in random.sample(range(20000, 30000), 100):
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")


class Site:
    """munged, a port, and an accounting that knows jobs 1 to 999."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="cosched-test.")
        os.chmod(self.folder.name, 0o755)
        key = self.path("key")
        with open(key, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(os.urandom(128))
        self.munge = self.path("munge.sock")
        self.munged = subprocess.Popen(
            [MUNGED, "--foreground", "--force", "--key-file", key, "--socket", self.munge,
             "--pid-file", self.path("pid"), "--seed-file", self.path("seed")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("munged", lambda: subprocess.run(
            ["munge", "-S", self.munge, "-n"], check=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode == 0)
        self.port = free_port()
        self.where = f"127.0.0.1:{self.port}"
        return self

    def __exit__(self, *exception):
        self.munged.terminate()
        self.munged.wait()
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def collector(self):
        return Collector(self)

    def node(self):
        return Node(self)

    def credential(self, lines, user=0):
        text = GREETING + NONCE + "\n" + "".join(json.dumps(line) + "\n" for line in lines)
        return subprocess.run(["munge", "-S", self.munge, "-s", text, "--restrict-uid", "0"],
                              check=True, stdout=subprocess.PIPE, user=user).stdout.strip()

    def send(self, data, reserved=True):
        """What the collector answers to DATA."""
        with socket.socket() as sock:
            sock.settimeout(60)
            for port in range(1023, 512, -1) if reserved else (0,):
                try:
                    sock.bind(("127.0.0.1", port))
                    break
                except OSError:
                    continue
            sock.connect(("127.0.0.1", self.port))
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                return sock.recv(100)
            except OSError: # it has hung up
                return b""


class Collector(Keeper):
    def __init__(self, site):
        super().__init__("--collect", str(site.port), "--munge-socket", site.munge)
        self.site = site

    def __enter__(self):
        self.rows(*((job, job, END, "cosched/1 state=running") for job in range(1, 1000)))
        return self.start()

    def start(self):
        # A courier that the killed one was starting has the socket until it is a program.
        wait_for("its port", self.is_free)
        super().start()
        wait_for("collector", self.listens)
        return self

    def is_free(self):
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                sock.bind(("", self.site.port))
                return True
        return False

    def hand_to(self, where, **more):
        """No agent tells it."""

    def listens(self):
        with socket.socket() as sock:
            assert self.process.poll() is None, self.process.stderr.read()
            return sock.connect_ex(("127.0.0.1", self.site.port)) == 0

    def has(self, jobs):
        """Wait until the accounting has the records of JOBS."""
        def there():
            found = self.comments()
            return all(found[(str(job), str(END))] == TEXT for job in jobs)
        self.wait_until("records in the accounting", there)


class Node(Keeper):
    """It reaches no accounting."""
    hesitates = 0 # until its agent says so

    def __init__(self, site):
        super().__init__()
        self.site = site
        self.to = site.where

    def hand_to(self, where, **more):
        time.sleep(self.hesitates)
        super().hand_to(where, munge=self.site.munge, **more)

    def done(self, jobs):
        self.expect(*((word, job) for job in jobs for word in ("kept", "recorded")))
        self.wait_until("an empty queue", lambda: not self.kept())

    def asked_nothing(self):
        """Nothing for its records: the settings it does ask for, seldom ("asked")."""
        for name in ("sacct.asked", "connections", "known.asked", "statistics.asked"):
            assert not self.lines(name), (name, self.lines(name)[:3])


def check_delivery(site):
    """Records of two nodes, more than a batch, with one place that asks Slurm."""
    with site.collector() as c, site.node() as a, site.node() as b:
        for job in range(1, 700):
            (a if job % 2 else b).record(job)
        a.done(range(1, 700, 2))
        b.done(range(2, 700, 2))
        c.has(range(1, 700))
        a.asked_nothing()
        b.asked_nothing()
        assert len(c.lines("sacct.asked")) < 60, len(c.lines("sacct.asked"))
        # The longest records that there are, as many as go at once, of which nothing can be
        # compressed.
        text = "cosched/1 state=final " + os.urandom(2000).hex()
        for job in range(1, 513):
            a.record(job, text[job:job + 1000].rjust(1000, "x"))
        a.done(range(1, 513))


def check_absence(site):
    """Without collector nodes keep their records; a killed one, or node, has lost none."""
    with site.node() as a:
        a.record(1)
        events = [a.event(), a.event()]
        assert events[0] == {"event": "kept", "job": 1, "end": END}, events
        assert events[1]["event"] == "waiting" and site.where in events[1]["error"], events
        a.kill()
        a.hesitates = 0.3
        a.start()
        assert a.kept() == {(1, END)}
        a.event()
        with site.collector() as c:
            c.write("sacct.fails", "no slurmdbd\n")
            a.expect(("recorded", 1))
            a.wait_until("an empty queue", lambda: not a.kept())
            assert c.kept() == {(1, END)}
            c.kill()
            c.start()
            a.record(2)
            a.done([2])
            assert c.kept() == {(1, END), (2, END)}
            c.remove("sacct.fails")
            c.has([1, 2])
        a.asked_nothing()


def check_disk(site):
    """What the collector cannot put on disk stays with the node."""
    with site.collector() as c, site.node() as a:
        shutil.rmtree(c.path("sub"))
        c.write("sub", "a file in the place of the directory")
        c.kill()
        c.start()
        a.record(1)
        assert a.event()["event"] == "kept"
        assert "did not take them" in a.event()["error"]
        assert a.kept() == {(1, END)}
        c.kill()
        c.remove("sub")
        c.start()
        a.expect(("recorded", 1))
        c.has([1])


def check_users(site):
    """Users write no records, and their connections take no places."""
    record = {"job": 1, "end": END, "text": TEXT + " forged"}
    with site.collector() as c, site.node() as a:
        roots = site.credential([record])
        assert site.send(roots, reserved=False) == b""
        assert site.send(site.credential([record], user=NOBODY)) == b""
        assert site.send(b"MUNGE:garbage:") == b"" and site.send(b"") == b""
        held = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(200)]
        a.record(2)
        a.done([2])
        for sock in held:
            sock.close()
        c.has([2])
        assert (1, END) not in c.kept() and len(c.changes()) == 1, c.changes()
        # root's is good, once; what is no record does not come again either.
        assert site.send(roots) == NONCE.encode()
        assert site.send(roots) == b""
        assert site.send(site.credential(
            [{"job": 3}, {"job": -1, "end": END, "text": "x"}, {**record, "job": 4}])
        ) == NONCE.encode()
        c.wait_until("both", lambda: {job for job, _ in c.changes()} == {"1", "2", "4"})


def check_impostor(site):
    """Who listens in the collector's place cannot open what comes, nor answer."""
    seen = []

    def serve(server):
        sock, _ = server.accept()
        with sock:
            data = b"".join(iter(lambda: sock.recv(65536), b""))
            seen.append(data)
            sock.sendall(NONCE.encode())

    with socket.create_server(("127.0.0.1", site.port)) as server, site.node() as a:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        a.record(1)
        a.expect(("kept", 1), ("waiting", None))
        assert a.kept() == {(1, END)}
        thread.join()
    opened = subprocess.run(["unmunge", "-S", site.munge], input=seen[0], user=NOBODY,
                            check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert opened.returncode and TEXT.encode() not in opened.stdout, opened.stdout
    assert TEXT.encode() not in seen[0]


def check_change(site):
    """A node is told of another collector, or of none, while records wait."""
    with site.node() as a:
        a.rows((1, 1, END, "x"), (2, 2, END, "x"))
        a.record(1)
        a.expect(("kept", 1), ("waiting", None))
        a.hand_to("")
        a.expect(("recorded", 1))
        assert a.comment("1") == TEXT
        with site.collector() as c:
            a.hand_to(f"[::ffff:127.0.0.1]:{site.port}")
            a.record(2)
            a.expect(("kept", 2), ("recorded", 2))
            c.has([2])
        a.hand_to("--deliver")
        assert "refused" in a.complaint()


def main():
    if os.getuid() or not MUNGED:
        skip("needs root and munged")
    need("coschedd-slurm")
    assert FakeSlurm
    for check in (check_delivery, check_absence, check_disk, check_users, check_impostor,
                  check_change):
        begin = time.monotonic()
        with Site() as site:
            check(site)
        print(f"{check.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


main()
