#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Privileged requests with --auth munge: only a credential of root or of the
agent's user will do, and it is good for one time.  While munged is down or hangs
they are refused, and nothing else waits for it."""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, BUILD, announce, need, skip, wait_for

GIVEN_UP = 300 # requests
MUNGED = shutil.which("munged", path="/usr/sbin:/sbin:" + os.environ["PATH"])
ANNOUNCE = {"v": 1, "op": "announce", "job": 5, "uid": os.getuid(),
            "name": "x", "cores": f"0-{os.cpu_count() - 1}", "memory_mb": 0,
            "options": "", "restarts": 0}


class Munged:
    """A munged of the test's own."""

    def __init__(self, folder):
        self.socket = os.path.join(folder, "munge.sock")
        self.folder = folder
        key = os.path.join(folder, "munge.key")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o600)
        self.start()

    def start(self):
        folder = self.folder
        self.process = subprocess.Popen(
            [MUNGED, "--foreground", "--force",
             "--key-file", os.path.join(folder, "munge.key"),
             "--socket", self.socket,
             "--pid-file", os.path.join(folder, "munge.pid"),
             "--seed-file", os.path.join(folder, "munge.seed")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def works(self):
        assert self.process.poll() is None, "munged ended"
        return subprocess.run(["munge", "-S", self.socket, "-n"], check=False,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def credential(self, request, user=None):
        """REQUEST signed by USER (default: who runs the test)."""
        return subprocess.run(
            ["munge", "-S", self.socket, "-s", json.dumps(request)],
            check=True, stdout=subprocess.PIPE, user=user).stdout.strip()

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait()


# Sends as another user what is given on its standard input.
SEND = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
    sock.settimeout(60)
    sock.connect(sys.argv[1])
    sock.send(sys.stdin.buffer.read())
    print(sock.recv(1 << 17).decode())
"""


def send_as_nobody(agent, packet):
    return json.loads(subprocess.run(
        [sys.executable, "-c", SEND, agent.socket], input=packet, check=True,
        stdout=subprocess.PIPE).stdout)


def send(agent, packet):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(60)
        sock.connect(agent.socket)
        sock.send(packet)
        return json.loads(sock.recv(1 << 17))


class Asking:
    """A connection that has sent PACKET."""

    def __init__(self, agent, packet):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(60)
        self.sock.connect(agent.socket)
        self.sock.send(packet)

    def answered(self):
        return bool(select.select([self.sock], [], [], 0)[0])

    def reply(self):
        return json.loads(self.sock.recv(1 << 17))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.sock.close()


def announced(agent, munged, job):
    """True once a job could be announced, which may take several credentials
    after munged was away."""
    return send(agent, munged.credential({**ANNOUNCE, "job": job}))["ok"]


def kept_kb(agent):
    """What the agent has of memory."""
    with open(f"/proc/{agent.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmData:"))


def check_hung(agent, munged):
    signed = [munged.credential({**ANNOUNCE, "job": 20 + i}) for i in range(20)]
    munged.process.send_signal(signal.SIGSTOP)

    def others_do_not_wait():
        with Asking(agent, signed.pop()) as asking:
            assert agent.call({"op": "ping"})["ok"]
            if asking.answered(): # the limit was over before the ping
                return False
            reply = asking.reply()
            return not reply["ok"] and "munged does not answer" in reply["error"]
    wait_for("answers while munged hangs", others_do_not_wait, 60)
    assert agent.log_text().count("requests of Slurm are refused") == 1

    # Who has given up is not served later, nor is what he has sent kept.
    again, before = signed.pop(), kept_kb(agent)
    for _ in range(GIVEN_UP):
        with Asking(agent, again):
            pass
    assert agent.call({"op": "ping"})["ok"]
    assert kept_kb(agent) - before < GIVEN_UP * 8, (kept_kb(agent), before)
    munged.process.send_signal(signal.SIGCONT)
    wait_for("service", lambda: announced(agent, munged, 7), 60)
    assert [job["job"] for job in agent.status()["jobs"]] == [7]

    # Nor does the end of the agent wait.
    munged.process.send_signal(signal.SIGSTOP)
    with Asking(agent, signed.pop()):
        assert agent.call({"op": "ping"})["ok"]
        agent.process.terminate()
        assert agent.process.wait(60) == 0
    munged.process.send_signal(signal.SIGCONT)
    agent.start()


def check_down(agent, munged):
    signed = munged.credential({**ANNOUNCE, "job": 8})
    munged.stop()
    reply = send(agent, signed)
    assert not reply["ok"] and reply["error"].startswith("munge: "), reply
    assert agent.call({"op": "ping"})["ok"] and agent.job(8) is None
    munged.start()
    wait_for("munged", munged.works)
    wait_for("service", lambda: announced(agent, munged, 8), 60)


def check(agent, munged):
    reply = announce(agent, 5)
    assert not reply["ok"] and "munge credential" in reply["error"], reply
    if os.getuid() == 0:
        reply = send(agent, munged.credential(ANNOUNCE, user=65534))
        assert not reply["ok"] and "only root" in reply["error"], reply
        # Root's credential in the hands of another user, who cannot use it up.
        signed = munged.credential(ANNOUNCE)
        reply = send_as_nobody(agent, signed)
        assert not reply["ok"] and "only root" in reply["error"], reply
        assert "refused a packet from uid 65534" in agent.log_text()
    else:
        signed = munged.credential(ANNOUNCE)
    assert agent.job(5) is None
    reply = send(agent, signed)
    assert reply["ok"] and reply["cpus"], reply
    reply = send(agent, signed)
    assert not reply["ok"], "a replayed credential was taken"
    assert "eplay" in reply["error"], reply
    if os.getuid() == 0:
        reply = send_as_nobody(agent, signed)
        assert not reply["ok"], "another user's replay was taken"
        assert agent.log_text().count("from uid 65534") == 1
    reply = send(agent, signed[:-9] + b"AAAAAAAA:")
    assert not reply["ok"], "a forged credential was taken"
    withdraw = {"v": 1, "op": "withdraw", "job": 5}
    assert send(agent, munged.credential(withdraw))["ok"]
    assert agent.job(5) is None


def check_run(agent, munged):
    """`coschedctl run` signs its requests when the agent asks for that."""
    command = [os.path.join(BUILD, "coschedctl"), "--socket", agent.socket,
               "run", "--options", "libgomp=stock", "--job", "6", "--munge"]
    show = ["--", "sh", "-c", "echo job=$COSCHED_JOB"]
    run = subprocess.run([*command, munged.socket, *show], check=True,
                         capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("job=6\n", ""), run
    run = subprocess.run([*command, "/nowhere/munge", *show], check=True,
                         capture_output=True, text=True)
    assert run.stdout == "job=\n", run
    assert "/nowhere/munge" in run.stderr, run
    assert "the program runs without co-scheduling" in run.stderr, run


def check_operation(agent, munged):
    """So do `drain`, `resume` and `record`."""
    ctl = [os.path.join(BUILD, "coschedctl"), "--socket", agent.socket]
    folder = os.path.join(agent.directory, "recorded")
    for command in (["drain", "--reason", "x"], ["resume"], ["record", folder],
                    ["record", "--stop"]):
        done = subprocess.run([*ctl, *command, "--munge", "/nowhere/munge"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "/nowhere/munge" in done.stderr, done
        subprocess.run([*ctl, *command, "--munge", munged.socket], check=True,
                       capture_output=True, text=True)
        drained = subprocess.run([*ctl, "health"], capture_output=True, text=True,
                                 check=False).stdout
        assert ("sharing is drained: x" in drained) == (command[0] == "drain"), drained


def main():
    need("coschedd", "coschedctl")
    if not MUNGED or not shutil.which("munge"):
        skip("munge is not installed")
    agent = Agent()
    os.chmod(agent.directory, 0o755)
    munged = Munged(agent.directory)
    agent.arguments += ["--auth", "munge", "--munge-socket", munged.socket]
    try:
        wait_for("munged", munged.works)
        with agent:
            check(agent, munged)
            check_run(agent, munged)
            check_operation(agent, munged)
            check_hung(agent, munged)
            check_down(agent, munged)
    finally:
        munged.stop()
        shutil.rmtree(agent.directory, ignore_errors=True)


main()
