#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The agent needs no system call that its unit denies: it lives the life of jobs
under that filter, by which here a denied call ends whoever makes it.  And what no
unit of ours needs is denied."""

import ctypes
import os
import shutil
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (Agent, BUILD, allowed_cpus, fake, need, pinned, skip, supervisor,
                   wait_for)

SOURCE = os.environ["abs_top_srcdir"]
# Other processes' memory and descriptors, and files by number.
NEVER = {"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp",
         "open_by_handle_at", "bpf", "mount", "init_module", "keyctl"}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
KILL, ALLOW = 0x80000000, 0x7fff0000


def groups():
    """{@name: system calls}, as systemd has them."""
    text = subprocess.run(["systemd-analyze", "syscall-filter"], check=True,
                          capture_output=True, text=True).stdout
    known, name = {}, None
    for line in text.splitlines():
        if line.startswith("@"):
            name = line.strip()
            known[name] = set()
        elif name and line.startswith("    ") and not line.strip().startswith("#"):
            known[name].add(line.strip())
        elif not line.startswith(" "):
            name = None
    return known


def expand(words, known):
    """The system calls that WORDS, names and groups, stand for."""
    calls = set()
    for word in words:
        calls |= expand(known[word], known) if word.startswith("@") else {word}
    return calls


def denied(unit, known):
    """What the filter of UNIT denies."""
    with open(unit, encoding="utf-8") as file:
        lists = [line.strip().partition("=")[2] for line in file
                 if line.startswith("SystemCallFilter=")]
    everything = expand(known, known)
    no = set() if lists[0].startswith("~") else set(everything)
    for words in lists:
        calls = expand(words.lstrip("~").split(), known)
        no = no | calls if words.startswith("~") else no - calls
    return no


def numbers():
    """{name: number} of this machine's system calls."""
    text = subprocess.run(["gcc", "-E", "-dM", "-x", "c", "-include", "sys/syscall.h",
                           "/dev/null"], check=True, capture_output=True,
                          text=True).stdout
    return {words[1][5:]: int(words[2]) for words in map(str.split, text.splitlines())
            if len(words) == 3 and words[1].startswith("__NR_") and words[2].isdigit()}


def forbid(calls):
    """From now on each of CALLS (numbers) ends this process, and its children."""
    program = [struct.pack("HBBI", 0x20, 0, 0, 0)]      # load the number
    for number in sorted(calls):
        program += [struct.pack("HBBI", 0x15, 0, 1, number),
                    struct.pack("HBBI", 0x06, 0, 0, KILL)]
    program.append(struct.pack("HBBI", 0x06, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(program))
    head = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                      (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head)):
        if libc.prctl(*arguments) < 0:
            raise OSError(ctypes.get_errno(), "prctl")


def ctl(agent, *arguments):
    """coschedctl's output."""
    return subprocess.run([f"{BUILD}/coschedctl", "--socket", agent.socket, *arguments],
                          check=True, capture_output=True, text=True).stdout


def live(agent):
    """Turns of a cooperative job and a pinned one, with all that is asked of the
    agent, which is killed once."""
    programs = []
    try:
        programs += [fake(agent, 1), pinned(agent, 2)]
        seen = set()

        def turns():
            seen.update(p.job for p in programs if p.state() == "T")
            return seen == {1, 2}

        ctl(agent, "record", f"{agent.directory}/recorded")
        wait_for("turn of each job", turns)
        ctl(agent, "record", "--stop")
        for command in (["status"], ["explain"], ["config"], ["why", "2"],
                        ["trace", "-o", f"{agent.directory}/trace"]):
            assert ctl(agent, *command) or command[0] == "trace", command
        agent.kill()
        wait_for("continuing by the supervisor",
                 lambda: all(p.state() != "T" for p in programs))
        agent.start()
        seen.clear()
        wait_for("turns of the next agent", turns)
        os.kill(supervisor(agent), 0)
        ctl(agent, "drain")
        wait_for("all to run", lambda: all(p.state() != "T" for p in programs))
        ctl(agent, "resume")
        assert agent.call({"op": "withdraw", "job": 1})["ok"]
        # What its helper does to be of use: asks Slurm, be it in vain.
        done = subprocess.run([f"{BUILD}/coschedd-slurm", "--help"], check=False,
                              capture_output=True)
        assert done.returncode != -signal.SIGSYS, done
    finally:
        for program in programs:
            program.__exit__(*sys.exc_info())


def main():
    need("coschedd", "coschedctl", "tests/node_agent/daemon/fake_job")
    if not shutil.which("systemd-analyze") or not shutil.which("gcc"):
        skip("no systemd-analyze")
    known = groups()
    agent_unit = f"{SOURCE}/node_agent/daemon/coschedd.service.in"
    for unit in (agent_unit, f"{SOURCE}/node_agent/helpers/coschedd-likwid@.service.in",
                 f"{SOURCE}/node_agent/names/coschedd-names@.service.in",
                 f"{SOURCE}/slurm_conf/coschedhistory.service"):
        assert NEVER <= denied(unit, known), (unit, NEVER - denied(unit, known))
    ours = numbers()
    # LeakSanitizer stops a process by ptrace(), and waits for ever if it may not.
    os.environ["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"
    forbid({ours[call] for call in denied(agent_unit, known) if call in ours})
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).ptrace(0, 0, 0, 0)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGSYS
    with Agent("--set", "slice=200ms", cpus=str(allowed_cpus()[0])) as agent:
        live(agent)
        agent.process.terminate()
        assert agent.process.wait(60) == 0, "a denied call ended the agent"


main()
