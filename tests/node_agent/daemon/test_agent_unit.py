#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The systemd unit: its text, as systemd reads it, and what the agent does for
it: readiness, watchdog, end, and no more rights than the unit leaves it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, BUILD, need, wait_for

UNIT = os.path.join(BUILD, "node_agent/daemon/coschedd.service")
CAPABILITIES = {"CAP_KILL": 5, "CAP_SYS_PTRACE": 19, "CAP_SYS_NICE": 23,
                "CAP_PERFMON": 38}


def check_text(folder):
    with open(UNIT, encoding="utf-8") as file:
        lines = file.read().splitlines()
    settings = dict(line.split("=", 1) for line in lines if "=" in line and
                    not line.startswith("#"))
    assert settings["ExecStart"].endswith("/coschedd --foreground"), settings
    assert settings["Restart"] == "on-failure"
    # The supervisor has to outlive a killed agent.
    assert settings["SendSIGKILL"] == "no" and settings["KillMode"] == "mixed"
    assert set(CAPABILITIES) < set(settings["CapabilityBoundingSet"].split())
    if not shutil.which("systemd-analyze"):
        return
    unit = os.path.join(folder, "coschedd.service")
    with open(unit, "w", encoding="utf-8") as file:
        for line in lines: # neither program nor manual are installed here
            if line.startswith("ExecStart="):
                line = "ExecStart=/bin/true"
            if not line.startswith("Documentation="):
                file.write(line + "\n")
    done = subprocess.run(["systemd-analyze", "verify", unit], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          check=False, timeout=300)
    assert done.returncode == 0 and not done.stderr, done


def unit_path(name):
    room = "helpers" if "likwid" in name else "names" if "names" in name else "daemon"
    return os.path.join(BUILD, "node_agent", room, name)


def unit_file(name):
    with open(unit_path(name), encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file
                    if "=" in line and not line.startswith("#"))


def check_likwid(folder):
    """The agent finds LIKWID's helper where its socket unit listens, and has
    none of its privileges."""
    if not os.path.exists(unit_path("coschedd-likwid.socket")):
        return # built without LIKWID
    agent = unit_file("coschedd.service")
    listen = unit_file("coschedd-likwid.socket")
    helper = unit_file("coschedd-likwid@.service")
    assert "coschedd-likwid.socket" in agent["After"], agent
    assert listen["Accept"] == "yes" and listen["SocketMode"] == "0600", listen
    with open(os.path.join(BUILD, "coschedctl"), "rb") as program:
        assert listen["ListenStream"].encode() + b"\0" in program.read()
    assert helper["ExecStart"].endswith("/coschedd-likwid"), helper
    rights = set(helper["CapabilityBoundingSet"].split())
    assert {"CAP_SYS_RAWIO", "CAP_SYS_ADMIN"} <= rights, rights
    assert not {"CAP_SYS_RAWIO", "CAP_SYS_ADMIN"} & set(
        agent["CapabilityBoundingSet"].split()), agent
    exposure(folder, "coschedd.service", 40)
    exposure(folder, "coschedd-likwid@.service", 40)


def check_names(folder):
    """The agent finds who tells names where the socket unit listens; what that may, it may not."""
    agent = unit_file("coschedd.service")
    listen = unit_file("coschedd-names.socket")
    helper = unit_file("coschedd-names@.service")
    assert agent["Wants"] == "coschedd-names.socket", agent
    assert listen["Accept"] == "yes" and listen["SocketMode"] == "0600", listen
    assert listen["ListenStream"].endswith("/cosched/coschedd.sock.names"), listen
    assert helper["ExecStart"].endswith("/coschedd-names"), helper
    rights = set(helper["CapabilityBoundingSet"].split())
    assert rights == {"CAP_SETUID", "CAP_SETGID", "CAP_KILL"}, rights
    assert not {"CAP_SETUID", "CAP_SETGID"} & set(agent["CapabilityBoundingSet"].split()), agent
    exposure(folder, "coschedd-names@.service", 40)


def exposure(folder, name, most):
    """systemd's own judgement, in tenths: 0 is best, 96 an unprotected one."""
    if not shutil.which("systemd-analyze"):
        return
    unit = os.path.join(folder, name.replace("@", "@1"))
    shutil.copy(unit_path(name), unit)
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager",
         f"--threshold={most}", unit], text=True, capture_output=True,
        stdin=subprocess.DEVNULL, check=False, timeout=300)
    if "unrecognized option" in done.stderr: # before systemd 250
        return
    assert done.returncode == 0, done


def capabilities(pid):
    """The effective and the bounding set of a process as masks."""
    sets = {}
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            key, _, value = line.partition(":")
            if key.startswith("Cap"):
                sets[key] = int(value, 16)
    return sets


class Notify:
    """What a service manager hears, as a list of messages."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "notify")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path)
        self.sock.settimeout(60)

    def next(self):
        return self.sock.recv(4096).decode()

    def drain(self):
        self.sock.setblocking(False)
        try:
            while True:
                self.next()
        except BlockingIOError:
            self.sock.settimeout(60)


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def check_notify():
    agent = Agent()
    notify = Notify(agent.directory)
    os.environ["NOTIFY_SOCKET"] = notify.path
    os.environ["WATCHDOG_USEC"] = "200000"
    with agent:
        assert notify.next() == "READY=1"
        # From then on it answers (start() has seen that), and says so.
        pid = agent.process.pid
        for _ in range(3):
            assert notify.next() == "WATCHDOG=1"
        # One that stands still does not, which is what ends it.
        os.kill(pid, signal.SIGSTOP)
        wait_for("stop", lambda: state(pid) == "T")
        notify.drain()
        os.kill(pid, signal.SIGCONT)
        assert notify.next() == "WATCHDOG=1"
        if os.geteuid() == 0:
            allowed = sum(1 << bit for bit in CAPABILITIES.values())
            assert capabilities(pid)["CapEff"] & ~allowed == 0
            # For helpers to have: what root may read.
            assert capabilities(pid)["CapPrm"] & ~allowed & ~(1 << 2) == 0
        agent.process.terminate()
        while (message := notify.next()) == "WATCHDOG=1":
            pass
        assert message == "STOPPING=1", message
        assert agent.process.wait(60) == 0


def main():
    need("coschedd", "node_agent/daemon/coschedd.service")
    with tempfile.TemporaryDirectory() as folder:
        check_text(folder)
        check_likwid(folder)
        check_names(folder)
    check_notify()


main()
