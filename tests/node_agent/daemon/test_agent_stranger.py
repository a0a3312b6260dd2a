#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Who may attach: a process of the job and of its user, and no other that has got its
number, whoever holds the connection.  One in namespaces of its own may, by its own number."""

import json
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (Agent, FAKE_JOB, Program, allowed_cpus, announce, fake, need, skip,
                   wait_for)

NOBODY = 65534
ALL = set(allowed_cpus())

# A task of the user's.  It starts a process that connects and ends, keeps the connection,
# and attaches over it when told to, as the process with the number of the dead one.
HANDS_ON = f"""
import json, os, socket, sys
os.setgid({NOBODY}); os.setuid({NOBODY})
ours, theirs = socket.socketpair()
pid = os.fork()
if pid == 0:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    socket.send_fds(theirs, [b"x"], [s.fileno()])
    os._exit(0)
s = socket.socket(fileno=socket.recv_fds(ours, 1, 1)[1][0])
os.waitpid(pid, 0)
print(pid, flush=True)
sys.stdin.readline()
s.settimeout(60)
s.send(json.dumps({{"v": 1, "op": "attach", "job": 1, "pid": pid,
                    "threads": 1}}).encode())
print(s.recv(1 << 17).decode(), flush=True)
sys.stdin.readline()
"""

# Becomes the user, perhaps as root of a user namespace, connects, and attaches as itself to
# the job that is named.
LONER = f"""
import ctypes, json, os, socket, sys
os.setgid({NOBODY}); os.setuid({NOBODY})
if len(sys.argv) > 3:
    ctypes.CDLL(None).prctl(4, 1) # dumpable again: the next files are its own
    if ctypes.CDLL(None).unshare(0x10000000):
        sys.exit()
    with open("/proc/self/uid_map", "w") as file:
        file.write("0 {NOBODY} 1")
    assert os.getuid() == 0
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(60)
s.connect(sys.argv[1])
s.send(json.dumps({{"v": 1, "op": "attach", "job": int(sys.argv[2]), "pid": os.getpid(),
                    "threads": 1}}).encode())
print(s.recv(1 << 17).decode(), flush=True)
sys.stdin.readline()
"""


# In a PID namespace, which ends with its first process.
OWN_NUMBERS = ["unshare", "--pid", "--fork", "--kill-child"]


def python(text, *arguments):
    return subprocess.Popen([sys.executable, "-c", text, *arguments], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def end(process):
    process.kill()
    process.wait()


# Takes the number, as clone3(2) lets root choose it, and writes that it has it.
TAKE = """
import ctypes, os, signal, struct, sys
wanted = int(sys.argv[1])
number = ctypes.c_int(wanted)
arguments = bytearray(88)
struct.pack_into("QQQQQ", arguments, 0, 0, 0, 0, 0, signal.SIGCHLD)
struct.pack_into("QQ", arguments, 64, ctypes.addressof(number), 1)
buffer = (ctypes.c_char * 88).from_buffer(arguments)
libc = ctypes.CDLL(None, use_errno=True)
pid = libc.syscall(435, buffer, 88)
if pid == 0:
    os.write(1, b"here\\n")
    signal.pause()
    os._exit(0)
if pid < 0:
    os.write(1, os.strerror(ctypes.get_errno()).encode() + b"\\n")
else:
    sys.stdin.readline()
    os.kill(pid, signal.SIGKILL)
"""


def take_number(pid):
    """A process of root's with number PID.  End it by a line."""
    taker = python(TAKE, str(pid))
    answer = taker.stdout.readline().strip()
    if answer == "Operation not permitted":
        skip("numbers of processes cannot be chosen here")
    assert answer == "here", answer
    return taker


def check_number_again(agent):
    """A child connects, hands the connection on and ends; its number comes round again as
    root's process, which must stay as it is."""
    task = python(HANDS_ON, agent.socket)
    pid = int(task.stdout.readline())
    assert agent.call({"op": "task", "job": 1, "step": 0, "pid": task.pid})["ok"]
    taker = take_number(pid)
    try:
        task.stdin.write("\n")
        task.stdin.flush()
        reply = json.loads(task.stdout.readline())
        assert not reply["ok"], reply
        assert f"pid {pid}: it has ended since it connected" in reply["error"], reply
        assert not agent.attached(1)
        assert os.sched_getaffinity(pid) == ALL
    finally:
        taker.communicate("\n")
        end(task)


def ask(process):
    return json.loads(process.stdout.readline())


def check_not_of_the_job(agent):
    """A process of the job's user that the job has not started."""
    with fake(agent, 2, f"uid={NOBODY}", uid=NOBODY):
        wait_for("attach", lambda: agent.attached(2))
        loner = python(LONER, agent.socket, "2")
        try:
            reply = ask(loner)
            assert not reply["ok"], reply
            assert f"process {loner.pid} (python" in reply["error"], reply
            assert "is not of this job" in reply["error"], reply
            assert agent.job(2)["attached"] == 1
        finally:
            end(loner)
    assert agent.log_text().count(f"process {loner.pid} (python") == 1


def check_descendants(agent):
    """Processes that the task's children start, however far; and who is orphaned in a session
    that the job began."""
    for number, command in (
            (3, '( ( "$@"; : ); : ); :'),
            (4, 'setsid sh -c \'{ sleep 1; exec "$@"; } & sleep 0.5\' sh "$@"; sleep 1000')):
        with Program(agent, number, [*OWN_NUMBERS, "sh", "-c", command, "sh", FAKE_JOB,
                                     agent.socket, str(number)]) as job:
            wait_for(f"attach of a descendant of {number}",
                     lambda n=number: agent.attached(n), 60)
            assert "refused" not in job.text()


def check_other_user(agent):
    """A process of the job that has become another user, as a setuid program does."""
    with Program(agent, 5, [FAKE_JOB, agent.socket, "5", f"uid={NOBODY}"]) as job:
        wait_for("refusal", lambda: "refused" in job.text())
        assert f"belongs to uid {os.getuid()}" in job.text(), job.text()


def check_namespaces(agent):
    """Programs that have numbers of their own, and a user namespace of the user's own."""
    attach = [sys.executable, "-c", LONER, agent.socket]
    for number, spaces in ((6, OWN_NUMBERS), (7, [*OWN_NUMBERS, "--mount-proc"])):
        with Program(agent, number, [*spaces, *attach, str(number)], uid=NOBODY) as job:
            wait_for(f"answer to {number}", job.text)
            reply = json.loads(job.text())
            assert reply["ok"], reply
    # Root of the namespace is the user outside.
    with Program(agent, 8, [*attach, "8", "user"], uid=NOBODY) as job:
        wait_for("answer", lambda: job.text() or job.process.poll() is not None)
        if job.text(): # else users may make none here
            reply = json.loads(job.text())
            assert reply["ok"], reply


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    if os.getuid() != 0:
        skip("only root can become another user")
    with Agent() as agent:
        assert announce(agent, 1, uid=NOBODY)["ok"]
        check_not_of_the_job(agent)
        check_descendants(agent)
        check_other_user(agent)
        check_namespaces(agent)
        check_number_again(agent)


main()
