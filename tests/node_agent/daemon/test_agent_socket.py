#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the socket refuses: garbage, requests of the wrong user, a second
agent."""

import json
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (Agent, BUILD, Program, announce, cpus_of, fake,  # noqa: F401
                   need, skip, wait_for)

NOBODY = 65534

GARBAGE = [b"hello", b"{}", b"[1,2]", b'{"v":1}', b'{"v":9,"op":"ping"}',
           b'{"v":1,"op":"dance"}', b'{"v":1,"op":"ping","x":1}',
           b'{"v":1,"op":"task","job":-1,"step":0,"pid":1}',
           b'{"v":1,"op":"status","job":"1"}', b"\0" * 100, b"x" * 70000,
           b"MUNGE:AwQDAAB=:"]


def send(agent, packet, fds=()):
    """Send raw bytes; the decoded reply, and whether the agent hung up."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(60)
        sock.connect(agent.socket)
        socket.send_fds(sock, [packet], list(fds))
        reply = json.loads(sock.recv(1 << 17))
        try:
            return reply, sock.recv(10) == b""
        except ConnectionResetError:
            return reply, True


def check_garbage(agent):
    for packet in GARBAGE:
        reply, closed = send(agent, packet)
        assert not reply["ok"] and reply["errnum"] and reply["error"], reply
        assert closed, packet[:40]
    with open(os.devnull, "rb") as null:
        reply, closed = send(agent, b'{"v":1,"op":"ping"}', [null.fileno()])
        assert not reply["ok"] and closed, reply
    assert agent.log_text().count("refused a packet") == 1, agent.log_text()
    assert agent.call({"op": "ping"})["ok"]


def as_nobody(agent, request):
    """The reply to REQUEST when sent by another user."""
    code = ("import os, socket, sys\n"
            f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "s.connect(sys.argv[1]); s.send(sys.argv[2].encode())\n"
            "print(s.recv(1 << 17).decode())\n")
    text = subprocess.run(
        [sys.executable, "-c", code, agent.socket,
         json.dumps({"v": 1, **request})],
        check=True, stdout=subprocess.PIPE).stdout
    return json.loads(text)


def check_users(agent):
    reply = announce(agent, 5)
    assert reply["ok"], reply
    if os.getuid() != 0:
        return  # nobody to become
    for request in ({"op": "announce", "job": 6, "uid": NOBODY, "name": "x",
                     "cores": "0", "memory_mb": 0, "options": "",
                     "restarts": 0},
                    {"op": "task", "job": 5, "step": 0, "pid": 1},
                    {"op": "withdraw", "job": 5}):
        reply = as_nobody(agent, request)
        assert not reply["ok"] and request["op"] in reply["error"], reply
    assert agent.job(5) and not agent.job(6)
    assert as_nobody(agent, {"op": "status"})["ok"]

    # A process of another user cannot attach to the job, its owner can, but
    # not for another process.
    with Program(agent, 7, [os.path.join(BUILD, "tests/node_agent/daemon/fake_job"),
                            agent.socket, "7", f"uid={NOBODY}"],
                 ) as stranger:
        wait_for("refusal", lambda: "refused" in stranger.text())
        assert "belongs to uid" in stranger.text(), stranger.text()
        assert stranger.process.wait() == 4
    with fake(agent, 8, f"uid={NOBODY}", uid=NOBODY):
        wait_for("attach of the owner", lambda: agent.attached(8))
    reply = agent.call({"op": "attach", "job": 5, "pid": 1, "threads": 1})
    assert not reply["ok"] and "pid 1" in reply["error"], reply
    reply = agent.call({"op": "attach", "job": 99, "pid": os.getpid(),
                        "threads": 1})
    assert not reply["ok"] and "job 99" in reply["error"], reply


def check_hostile(agent):
    with fake(agent, 9, "hostile=1") as hostile, fake(agent, 10) as victim:
        wait_for("attach", lambda: agent.attached(9) and agent.attached(10))
        wait_for("refusal of the page",
                 lambda: "report page of process" in agent.log_text())
        wait_for("share of the neighbour", victim.cpus)
        sets = cpus_of(agent, hostile, victim)
        assert sets[0].isdisjoint(sets[1]), sets
        assert agent.log_text().count("report page of process") == 1


def check_second(agent):
    command = [os.path.join(BUILD, "coschedd"), "--foreground", "--no-slurm",
               "--auth", "peer", "--socket", agent.socket, "--state",
               os.path.join(agent.directory, "other.json")]
    second = subprocess.run(command, stderr=subprocess.PIPE, text=True,
                            check=False)
    assert second.returncode == 1, second
    assert "another agent listens" in second.stderr, second.stderr
    assert agent.call({"op": "ping"})["ok"]


def may_connect(uid, path):
    code = (f"import os, socket, sys; os.setgid({uid}); os.setuid({uid})\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "try: s.connect(sys.argv[1])\n"
            "except PermissionError: sys.exit(3)\n")
    done = subprocess.run([sys.executable, "-c", code, path], check=False)
    assert done.returncode in (0, 3), done
    return done.returncode == 0


def check_left(agent):
    """A crash leaves sockets behind, of jobs that nobody knows any more, too; the next agent
    replaces and removes them.  A job's belongs to its user, and nobody else may use it."""
    def sockets():
        return sorted(name for name in os.listdir(agent.directory)
                      if name.startswith(os.path.basename(agent.socket)))

    with fake(agent, 11, f"uid={NOBODY}" if os.getuid() == 0 else "uid=0",
              uid=NOBODY if os.getuid() == 0 else os.getuid()):
        wait_for("attach", lambda: agent.attached(11))
        agent.kill()
        base = os.path.basename(agent.socket)
        assert f"{base}.11" in sockets(), sockets()
        for name in ("12", "13x", ""):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
                sock.bind(f"{agent.socket}.{name}")
        agent.start()
        assert {f"{base}.11", f"{base}.13x", f"{base}."} < set(sockets()), sockets()
        assert f"{base}.12" not in sockets(), sockets()
        if os.getuid() == 0:
            assert not may_connect(NOBODY - 1, f"{agent.socket}.11")
            assert may_connect(NOBODY, f"{agent.socket}.11")
            assert os.stat(f"{agent.socket}.11").st_uid == 0
            # Slurm's numbers begin anew some day.
            assert announce(agent, 11, uid=NOBODY - 1)["ok"]
            assert may_connect(NOBODY - 1, f"{agent.socket}.11")
            assert not may_connect(NOBODY, f"{agent.socket}.11")
            assert announce(agent, 12)["ok"]
            assert not may_connect(NOBODY, f"{agent.socket}.12")
        assert agent.call({"op": "withdraw", "job": 11})["ok"]
        assert f"{base}.11" not in sockets(), sockets()
    for name in ("13x", ""):
        os.unlink(f"{agent.socket}.{name}")


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    with Agent() as agent:
        check_garbage(agent)
        check_users(agent)
        check_hostile(agent)
        check_second(agent)
        check_left(agent)
        agent.stop()
        assert agent.process.returncode == 0, agent.log_text()
        assert not os.path.exists(agent.socket)


main()
