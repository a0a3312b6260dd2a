#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Starting coschedd: its command line, and what becomes of a failed start."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import BUILD, need, wait_for

COSCHEDD = os.path.join(BUILD, "coschedd")
MACHINES = os.path.join(os.environ["abs_top_srcdir"], "machines")

REFUSED = [
    (["--bogus"], "--bogus: no such option"),
    (["--socket"], "--socket: needs an argument"),
    (["extra"], "extra: unexpected argument"),
    (["--policy", "fair"], "fair"),
    (["--set", "epoch=1ns"], "cosched_epoch=1ns"),
    (["--set", "epoch"], "--set epoch: not KEY=VALUE"),
    (["--set", "colour=red"], "colour"),
    (["--cpus", "1-"], "--cpus 1-"),
    (["--auth", "trust"], "--auth trust: neither munge nor peer"),
    (["--log-level", "loud"], "--log-level loud"),
    (["--socket", "x" * 600], "--socket"),
]


def run(*arguments):
    return subprocess.run([COSCHEDD, *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=300)


def check_command_line():
    for arguments, message in REFUSED:
        done = run("--foreground", *arguments)
        assert done.returncode == 2, (arguments, done)
        assert done.stderr.startswith("coschedd: error: "), done
        assert message in done.stderr, (arguments, done.stderr)
    shown = run("--help")
    assert shown.returncode == 0 and "--munge-socket" in shown.stdout
    assert "cosched_epoch" in shown.stdout
    assert run("--version").stdout.startswith("coschedd "), "version"


def is_listening(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        return sock.connect_ex(path) == 0


def common(folder):
    return ["--no-slurm", "--auth", "peer", "--socket", f"{folder}/sock",
            "--state", f"{folder}/state.json"]


def check_daemon(folder):
    # The parent returns once the daemon serves, and tells why it does not.
    pidfile = f"{folder}/pid"
    try:
        done = run(*common(folder), "--pidfile", pidfile)
        assert done.returncode == 0, done
        assert is_listening(f"{folder}/sock")
        second = run(*common(folder))
        assert second.returncode == 1, second
        assert "another agent listens" in second.stderr, second
    finally:
        with open(pidfile, encoding="ascii") as text:
            os.kill(int(text.read()), signal.SIGTERM)
    wait_for("end of the daemon", lambda: not os.path.exists(pidfile))
    assert not os.path.exists(f"{folder}/sock")


def check_heir(folder):
    """A child of a killed agent that has not executed its program yet."""
    heir = ("import os, socket, sys\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "s.bind(sys.argv[1]); s.listen()\n"
            "if os.fork() == 0: sys.stdin.read()\n")
    with subprocess.Popen([sys.executable, "-c", heir, f"{folder}/sock"],
                          stdin=subprocess.PIPE) as parent:
        assert parent.wait() == 0
        assert is_listening(f"{folder}/sock")
        check_daemon(folder)
        parent.stdin.close()


def check_failures(folder):
    for name, arguments, message in (
            ("socket", ["--socket", f"{folder}/no/where/sock"], "no/where"),
            ("long", ["--socket", f"{folder}/{'x' * 120}"], "too long"),
            ("file", ["--socket", f"{folder}/file"], "is no socket"),
            ("pidfile", ["--pidfile", f"{folder}/no/pid"], "--pidfile"),
            ("weights", ["--weights", f"{folder}/file"], f"--weights: {folder}/file"),
            ("machine", ["--weights", f"{folder}/other.json"],
             "other.json: machine: is another one: 64 cores, 8 NUMA nodes, this machine has"),
            ("cpus", ["--cpus", "1000"], "--cpus 1000")):
        with open(f"{folder}/file", "w", encoding="ascii"):
            pass
        with open(f"{folder}/other.json", "w", encoding="ascii") as weights, \
                open(f"{MACHINES}/amd-opteron-6380-8x8.json", encoding="ascii") as machine:
            json.dump({"machine": json.load(machine)}, weights)
        for foreground in ([], ["--foreground"]):
            done = run(*common(folder), *arguments, *foreground)
            assert done.returncode == 1, (name, done)
            assert message in done.stderr, (name, done.stderr)
            assert os.path.exists(f"{folder}/file"), name
    # A state that cannot be understood is set aside, and the agent starts.
    with open(f"{folder}/state.json", "w", encoding="ascii") as state:
        state.write("nonsense")
    with subprocess.Popen([COSCHEDD, *common(folder), "--foreground"],
                          stderr=subprocess.PIPE, text=True) as agent:
        try:
            wait_for("agent", lambda: is_listening(f"{folder}/sock"))
            # It listens first, which keeps a second agent away from the state.
            wait_for("state set aside", lambda: os.path.exists(f"{folder}/state.json.bad"))
        finally:
            agent.terminate()
        assert "set aside" in agent.stderr.read()


def check_journal(folder):
    """Where standard error is the journal, each line has its priority."""
    with open(f"{folder}/journal", "w+", encoding="utf-8") as journal:
        status = os.fstat(journal.fileno())
        for stream, prefix in ((f"{status.st_dev}:{status.st_ino}", "<"),
                               ("1:2", "coschedd: "), ("x", "coschedd: ")):
            journal.truncate(0)
            journal.seek(0)
            with subprocess.Popen(
                    [COSCHEDD, *common(folder), "--foreground"],
                    stderr=journal,
                    env={**os.environ, "JOURNAL_STREAM": stream}) as agent:
                try:
                    wait_for("agent",
                             lambda: is_listening(f"{folder}/sock"))
                finally:
                    agent.terminate()
            journal.seek(0)
            lines = journal.read().splitlines()
            assert lines and all(line.startswith(prefix) for line in lines), \
                (stream, lines)
            if prefix == "<":
                assert any(line.startswith("<5>coschedd ") for line in lines), \
                    lines


def main():
    need("coschedd")
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as folder:
        check_command_line()
        check_daemon(folder)
        check_heir(folder)
        check_failures(folder)
        check_journal(folder)


main()
