#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Calls of the agent that fail (tests/support/failing.c) while three jobs are announced,
attach, are pinned, take turns, detach, end, and are taken over by the next agent.
Whatever fails, and with whatever errno: no process stays stopped, all get their CPUs
back, the state can be read, and the agent serves.

usage: test_agent_injected.py [--all] [--only FUNCTION] [--part I/N] [--together N] [--done FILE]
Without --all a sample of the places, for ./check; make faults runs all, several in a life: each
of those whose life ended badly has a life of its own then."""

import argparse
import errno
import json
import os
import shutil
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
TOGETHER = 24 # failures in a life with --all

# What each function may fail with; the first is the one of a sample.  Not what no kernel
# answers: that a process has gone which lives (ESRCH of a pidfd, ECHILD of a child).
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
    "waitpid": ("EINTR",), "epoll_create1": ("EMFILE",),
    "epoll_ctl": ("ENOSPC", "ENOMEM"), "epoll_wait": ("EINTR",),
    "poll": ("EINTR", "ENOMEM"), "timerfd_create": ("EMFILE",),
    "timerfd_settime": ("ENOMEM",), "sched_setaffinity": ("EPERM", "EINVAL", "ESRCH"),
    "sched_getaffinity": ("EPERM", "ESRCH"), "kill": ("EPERM",),
    "pthread_create": ("EAGAIN",), "pidfd_open": ("EMFILE", "ENFILE", "ENOMEM"),
    "pidfd_send_signal": ("EPERM",), "pidfd_getfd": ("EMFILE", "EPERM"),
    "fcntl": ("EMFILE", "EPERM"),
}


def errors_of(function, frames):
    # The event loop reads only timers, signals and the like.
    if "read" in function and frames and frames[0].startswith("libsystemd"):
        return ("EINTR",)
    name = function.removeprefix("__").removesuffix("_chk").removesuffix("_2")
    return ERRORS[name.removesuffix("64") if name != "pread64" else "pread"]


class Failing(Agent):
    """An agent with the shim before libc."""

    def __init__(self, folder, failures=()):
        super().__init__("--set", "slice=100ms", "--set", "attach_timeout=100ms",
                         "--set", "epoch=20ms", cpus=",".join(map(str, CPUS)))
        self.env = {"LD_PRELOAD": SHIM, "FAILING_PROGRAM": "coschedd",
                    "FAILING_ONCE": folder}
        if failures:
            self.env["FAILING_PLACE"] = ",".join(
                f"{place}:{getattr(errno, error)}" for place, error in failures)
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

    def __init__(self, folder, failures=()):
        self.agent = Failing(folder, failures)
        # Each failing call may end a start.
        self.starts = len(failures) + 1
        # What must come is waited for; after a failing call it may not come.
        self.patience = 1.0 if failures else 60.0
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

    def begin(self):
        for _ in range(self.starts):
            if self.agent.begin():
                return
        raise AssertionError(f"it does not start: {self.agent.log_text()[-500:]}")

    def live(self):
        """All that a job goes through.  Whatever has failed, the agent goes on."""
        a = self.agent
        self.begin()
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
        self.begin()
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


def whole_life(folder, failures=()):
    """One life.  What it reached is asserted only where no call fails."""
    with Life(folder, failures) as life:
        complete = life.live()
        known = life.restart()
        life.finish()
    assert failures or complete, "no job was parked"
    assert failures or known == {1, 2}, known


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
    """(place, errno's name) of those to fail, in a stable order."""
    found = []
    for place, (function, frames) in sorted(places.items(),
                                            key=lambda p: (p[1][0], p[0])):
        # hwloc does not look at what malloc() gives it, and dies in the agent's start,
        # when nobody has been stopped.
        if function == "malloc" and any("hwloc" in frame for frame in frames):
            continue
        if not options.only or function == options.only:
            found += [(place, error)
                      for error in errors_of(function, frames)[:None if options.all else 1]]
    if not options.all:
        found = found[::max(1, len(found) // SAMPLE)][:SAMPLE]
    # By the place, because another record may miss some.
    part, parts = map(int, options.part.split("/"))
    return [f for f in found if int(f[0], 16) % parts == part - 1]


class Campaign:
    """Lives with failures; each (place, errno) is judged once."""

    def __init__(self, folder, places, done):
        self.folder, self.places, self.done = folder, places, done
        self.lives, self.struck, self.judged, self.bad = 0, set(), set(), []
        if done and os.path.exists(done): # by a run before
            with open(done, encoding="ascii") as file:
                for line in file:
                    self.judge(tuple(line.split()[:2]), line.split()[2])

    def judge(self, failure, how):
        self.judged.add(failure)
        if how != "unreached":
            self.struck.add(failure)
        if how == "bad":
            self.bad.append(failure)

    def note(self, failure, how):
        self.judge(failure, how)
        if self.done:
            with open(self.done, "a", encoding="ascii") as file:
                print(*failure, how, file=file)

    def live(self, failures):
        """A life with FAILURES: those that came, and what was wrong or None."""
        once, wrong = f"{self.folder}/{self.lives}", None
        self.lives += 1
        os.mkdir(once)
        try:
            whole_life(once, failures)
        except (AssertionError, OSError, ValueError, KeyError,
                subprocess.TimeoutExpired) as e:
            wrong = e
        came = [f for f in failures if os.path.exists(f"{once}/{f[0]}")]
        shutil.rmtree(once)
        return came, wrong

    def split(self, group):
        """Lives of GROUP, halved while they end badly; those that did not come."""
        came, wrong = self.live(group)
        if not wrong:
            for failure in came:
                self.note(failure, "struck")
            return [f for f in group if f not in came]
        if len(group) > 1:
            middle = len(group) // 2
            return self.split(group[:middle]) + self.split(group[middle:])
        self.note(group[0], "bad")
        function, frames = self.places.get(group[0][0], ("?", []))
        print(f"{function} fails with {group[0][1]} at {group[0][0]}: {named(frames)}\n"
              f"    {wrong!r}"[:1500], flush=True)
        return []

    def run(self, chosen, together):
        """Failures that come before others keep these from being reached: they are in another
        life then, with fewer."""
        left = [f for f in chosen if f not in self.judged]
        for size in (together, together, -(-together // 4)) if together > 1 else (1,):
            groups, later = -(-len(left) // size), []
            # Of one group, from all over the list: one errno of a place, one kind of call.
            for number in range(groups):
                later += self.split(left[number::groups])
                if together > 1:
                    print(f"{len(self.judged)} of {len(chosen)} failures, {len(self.struck)} came, "
                          f"{len(self.bad)} bad, {self.lives} lives", flush=True)
            left = later
        for failure in left:
            self.note(failure, "unreached")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--place", help="this place and errno: PLACE:ERRNO")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--together", type=int, default=TOGETHER, help="failures in a life")
    parser.add_argument("--done", help="what has been judged; not again with this file")
    options = parser.parse_args()
    need("coschedd", "tests/node_agent/daemon/fake_job", "tests/support/.libs/failing.so",
         "tests/cluster/standin")
    if len(CPUS) < 2:
        skip("one CPU cannot be shared in space")
    with tempfile.TemporaryDirectory(prefix="cosched-failing.") as folder:
        places = record(folder)
        chosen = choose(places, options)
        if options.place:
            chosen = [tuple(options.place.split(":"))]
        campaign = Campaign(folder, places, options.done)
        campaign.run(chosen, options.together if options.all else 1)
    struck = len(campaign.struck)
    print(f"{len(places)} places, {len(campaign.judged)} failures in {campaign.lives} lives, "
          f"{struck} came, {len(campaign.bad)} ended badly")
    assert not campaign.bad and (struck * 2 > len(chosen) or options.place)


main()
