#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Calls of the agent that fail, one in each life (tests/support/failing.c): three jobs
are announced, attach, are pinned, take turns, detach, end, and are taken over by the
next agent.  Whatever fails, and with whatever errno: no process stays stopped, all get
their CPUs back, the state can be read, and the agent serves.

usage: test_agent_injected.py [--all] [--only FUNCTION] [--part I/N]
Without --all a sample of the places, for ./check; make faults runs all."""

import argparse
import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import (BUILD, FAKE_JOB, GATE, Agent, affinities, allowed_cpus, need, skip,
                   supervisor, wait_for)

SHIM = f"{BUILD}/tests/support/.libs/failing.so"
STANDIN = f"{BUILD}/tests/cluster/standin"
CPUS = allowed_cpus()[:2]
EVERYTHING = set(allowed_cpus())
SAMPLE = 6 # lives in ./check

# What each function may fail with; the first is the one of a sample.  Not what no kernel
# answers: that a process has gone which lives (ESRCH of a pidfd).
ERRORS = {
    "malloc": ("ENOMEM",), "open": ("EMFILE", "ENFILE", "EACCES", "ENOENT", "ENOMEM"),
    "fopen": ("EMFILE", "EACCES", "ENOMEM"), "opendir": ("EMFILE", "EACCES"),
    "fdopendir": ("ENOMEM",), "socket": ("EMFILE", "ENOBUFS"),
    "socketpair": ("EMFILE", "ENFILE"), "accept4": ("EMFILE", "ECONNABORTED", "ENOMEM"),
    "bind": ("EADDRINUSE", "ENOSPC"), "listen": ("EADDRINUSE",),
    "connect": ("EAGAIN", "ECONNREFUSED"), "getsockopt": ("ENOBUFS",),
    "sendmsg": ("EAGAIN", "EPIPE", "ENOBUFS", "ETOOMANYREFS", "EINTR"),
    "send": ("EAGAIN", "EPIPE"), "recvmsg": ("EAGAIN", "ECONNRESET", "ENOMEM", "EINTR"),
    "recv": ("EAGAIN", "ECONNRESET"), "memfd_create": ("EMFILE", "ENOMEM"),
    "mmap": ("ENOMEM", "EAGAIN"), "read": ("EIO", "ESRCH", "EINTR"),
    "pread": ("EIO", "ESRCH"), "write": ("ENOSPC", "EIO", "EINTR", "EAGAIN"),
    "fsync": ("EIO", "ENOSPC"), "fdatasync": ("EIO",), "ftruncate": ("ENOSPC", "EINTR"),
    "fchmod": ("EPERM",), "mkdir": ("ENOSPC", "EACCES"), "rename": ("ENOSPC", "EACCES"),
    "unlink": ("EACCES",), "pipe2": ("EMFILE",), "fork": ("EAGAIN", "ENOMEM"),
    "waitpid": ("ECHILD", "EINTR"), "epoll_create1": ("EMFILE",),
    "epoll_ctl": ("ENOSPC", "ENOMEM"), "epoll_wait": ("EINTR",),
    "poll": ("EINTR", "ENOMEM"), "timerfd_create": ("EMFILE",),
    "timerfd_settime": ("ENOMEM",), "sched_setaffinity": ("EPERM", "EINVAL", "ESRCH"),
    "sched_getaffinity": ("EPERM", "ESRCH"), "kill": ("EPERM",),
    "pthread_create": ("EAGAIN",), "pidfd_open": ("EMFILE", "ENFILE", "ENOMEM"),
    "pidfd_send_signal": ("EPERM",), "pidfd_getfd": ("EMFILE", "EPERM"),
    "fcntl": ("EMFILE", "EPERM"),
}


def errors_of(function):
    name = function.removeprefix("__").removesuffix("_chk").removesuffix("_2")
    return ERRORS[name.removesuffix("64") if name != "pread64" else "pread"]


class Failing(Agent):
    """An agent with the shim before libc."""

    def __init__(self, folder, place=None, number=0):
        super().__init__("--set", "slice=100ms", "--set", "attach_timeout=100ms",
                         "--set", "epoch=20ms", cpus=",".join(map(str, CPUS)))
        self.env = {"LD_PRELOAD": SHIM, "FAILING_PROGRAM": "coschedd",
                    "FAILING_ONCE": folder}
        if place:
            self.env |= {"FAILING_PLACE": place, "FAILING_ERRNO": str(number)}
        else:
            self.env["FAILING_PLACES"] = f"{folder}/places"

    def begin(self, failing=True):
        """Start it; False if it ended by itself in its start."""
        self.environment = self.env if failing else {}
        try:
            self.start()
            return True
        except AssertionError:
            assert self.process.returncode == 1, self.died()
            return False

    def alive(self):
        try:
            return super().alive()
        except (json.JSONDecodeError, KeyError): # no whole reply: a call has failed
            return False

    def died(self):
        return f"the agent ended with {self.process.returncode}: {self.log_text()[-800:]}"

    def ask(self, request, tries=20):
        """The reply, as somebody gets it who asks again when the agent did not take
        the request."""
        for _ in range(tries):
            assert self.process.poll() is None, self.died()
            try:
                reply = self.call(request)
            except (OSError, json.JSONDecodeError):
                reply = None
            # Refused for good: unknown job, process that has gone.
            if reply and (reply.get("ok") or reply.get("errnum") in (errno.ENOENT,
                                                                 errno.ESRCH)):
                return reply
            time.sleep(0.01)
        raise AssertionError(f"{request} is not served: {reply}")


def announce(agent, job):
    agent.ask({"op": "announce", "job": job, "uid": os.getuid(), "name": f"job {job}",
               "memory_mb": 0, "options": "", "restarts": 0,
               "cores": f"0-{os.cpu_count() - 1}"})


class Life:
    """Three jobs of one agent after another."""

    def __init__(self, folder, place=None, number=0):
        self.agent = Failing(folder, place, number)
        # What must come is waited for; after a failing call it may not come.
        self.patience = 1.0 if place else 60.0
        self.programs = {}

    def program(self, job, *command):
        announce(self.agent, job)
        # A group of its own, as a task of Slurm has.
        self.programs[job] = subprocess.Popen(
            [*GATE, *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        self.agent.ask({"op": "task", "job": job, "step": 0,
                        "pid": self.programs[job].pid})
        with self.programs[job].stdin as gate:
            gate.write(b"go\n")

    def soon(self, condition, seconds=None):
        """Wait for what is so unless a call has failed."""
        end = time.monotonic() + (seconds or self.patience)
        while time.monotonic() < end:
            assert self.agent.process.poll() is None, self.agent.died()
            try:
                if condition():
                    return True
            except (OSError, json.JSONDecodeError, AssertionError, KeyError):
                pass # its reply says that a call has failed, or is not whole
            time.sleep(0.005)
        return False

    def states(self):
        return {job: p.pid and state(p.pid) for job, p in self.programs.items()}

    def attached(self, job):
        entry = self.agent.job(job)
        return entry and entry["attached"]

    def live(self):
        """All that a job goes through.  Whatever has failed, the agent goes on."""
        a = self.agent
        if not a.begin() and not a.begin():
            raise AssertionError(f"it does not start: {a.log_text()[-500:]}")
        self.program(1, FAKE_JOB, a.socket, "1")
        self.program(2, STANDIN, "pool", "2")
        self.soon(lambda: self.attached(1))
        self.soon(lambda: any(c != EVERYTHING for c in affinities(self.programs[2].pid)))
        self.program(3, FAKE_JOB, a.socket, "3")
        parked = self.soon(lambda: "T" in self.states().values())
        turns = self.soon(lambda: self.states()[1] == "T") and \
            self.soon(lambda: self.states()[1] != "T")
        for op in ("ping", "config", "counters", "status", "explain", "trace"):
            a.ask({"op": op})
        a.ask({"op": "why", "job": 2})
        a.ask({"op": "drain", "reason": "x"})
        a.ask({"op": "resume"})
        self.end(3)
        a.ask({"op": "withdraw", "job": 3})
        self.soon(lambda: "T" not in self.states().values())
        return parked and turns

    def end(self, job):
        program = self.programs.pop(job)
        program.kill()
        program.wait()

    def supervised(self):
        """After a crash the supervisor undoes all, unless it has never been."""
        try:
            supervisor(self.agent)
        except (AssertionError, OSError):
            return
        self.agent.kill()
        self.undone("supervisor")

    def undone(self, who):
        """WHO, which has gone, has left nothing stopped or pinned."""
        try:
            wait_for(f"end of all stops and pins by the {who}", self.free, 20)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.states()}, affinity of job 2 "
                                 f"{affinities(self.programs[2].pid)}") from None

    def free(self):
        # Threads of who attached follow by themselves when the agent has gone.
        return "T" not in self.states().values() and all(
            set(c) == EVERYTHING for c in affinities(self.programs[2].pid))

    def restart(self):
        """A crash, then an agent that knows the jobs, or says that it cannot read."""
        self.supervised()
        self.agent.kill()
        a = self.agent
        for _ in range(3):
            if a.begin():
                break
        known = {job["job"] for job in a.ask({"op": "status"})["jobs"]}
        announce(a, 4)
        a.ask({"op": "withdraw", "job": 4})
        self.soon(lambda: self.attached(1))
        self.soon(lambda: "T" in self.states().values(), 0.3)
        return known

    def finish(self):
        """A clean stop gives everything back, and the state is one."""
        a = self.agent
        a.process.terminate()
        a.process.wait(60)
        assert a.process.returncode in (0, 1), a.died()
        self.undone("agent")
        path = f"{a.directory}/state.json"
        with open(path, encoding="utf-8") as file:
            json.load(file)
        # And there is an agent afterwards, which serves.
        assert a.begin(failing=False), a.died()
        a.ask({"op": "ping"})
        announce(a, 5)
        a.ask({"op": "withdraw", "job": 5})
        a.stop()
        assert self.free()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for job in list(self.programs):
            try:
                os.kill(self.programs[job].pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
            self.end(job)
        self.agent.__exit__(*exception)


def state(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def whole_life(folder, place=None, number=0):
    """One life.  What it reached is asserted only where no call fails."""
    with Life(folder, place, number) as life:
        complete = life.live()
        known = life.restart()
        life.finish()
    assert place or complete, "no job was parked"
    assert place or known == {1, 2}, known


def record(folder):
    """The places that a life without failures comes by: {place: (function, frames)}."""
    whole_life(folder)
    places = {}
    with open(f"{folder}/places", encoding="ascii") as file:
        for line in file:
            place, function, *frames = line.split()
            places.setdefault(place, (function, frames))
    return places


def named(frames):
    """The functions of FRAMES that are ours."""
    ours = [frame.split("+")[1] for frame in frames if frame.startswith("coschedd+")]
    names = subprocess.run(["addr2line", "-fse", f"{BUILD}/coschedd", *ours],
                           capture_output=True, text=True, check=False).stdout.split()
    return " < ".join(f"{f} ({at})" for f, at in zip(names[::2], names[1::2]))


def choose(places, options):
    """(place, function, errno's name, frames) of those to fail, in a stable order."""
    found = []
    for place, (function, frames) in sorted(places.items(),
                                            key=lambda p: (p[1][0], p[0])):
        for error in errors_of(function)[:None if options.all else 1]:
            if not options.only or function == options.only:
                found.append((place, function, error, frames))
    # hwloc does not look at what malloc() gives it, and dies in the agent's start,
    # when nobody has been stopped.
    found = [f for f in found if f[1] != "malloc" or
             not any("hwloc" in frame for frame in f[3])]
    if not options.all:
        found = found[::max(1, len(found) // SAMPLE)][:SAMPLE]
    # By the place, because another record may miss some.
    part, parts = map(int, options.part.split("/"))
    return [f for f in found if int(f[0], 16) % parts == part - 1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--place", help="this place and errno: PLACE:ERRNO")
    parser.add_argument("--part", default="1/1")
    options = parser.parse_args()
    need("coschedd", "tests/node_agent/daemon/fake_job", "tests/support/.libs/failing.so",
         "tests/cluster/standin")
    if len(CPUS) < 2:
        skip("one CPU cannot be shared in space")
    bad, struck = [], 0
    with tempfile.TemporaryDirectory(prefix="cosched-failing.") as folder:
        places = record(folder)
        chosen = choose(places, options)
        if options.place:
            place, error = options.place.split(":")
            chosen = [(place, *places.get(place, ("?", []))[:1], error,
                       places.get(place, ("?", []))[1])]
        for number, (place, function, error, frames) in enumerate(chosen):
            once = f"{folder}/{number}"
            os.mkdir(once)
            try:
                whole_life(once, place, getattr(errno, error))
            except (AssertionError, OSError, ValueError, KeyError,
                    subprocess.TimeoutExpired) as e:
                bad.append(place)
                print(f"{function} fails with {error} at {place}: {named(frames)}\n"
                      f"    {e!r}"[:1500], flush=True)
            struck += os.path.exists(f"{once}/struck")
            if options.all and number % 100 == 99:
                print(f"{number + 1} of {len(chosen)} lives, {struck} with a failure, "
                      f"{len(bad)} bad", flush=True)
    print(f"{len(places)} places, {len(chosen)} lives, a call failed in {struck}, "
          f"{len(bad)} ended badly")
    assert not bad and (struck * 2 > len(chosen) or options.place)


main()
