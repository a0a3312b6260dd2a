#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A call of the helper that keeps records fails, one in each life: all that it writes is JSON,
and all records are delivered, by it or, if it ends, by the next.

A sample of the places; COSCHED_KILL_ALL=1: all of them."""

import errno
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import BUILD, need
from slurmhelper import END, SECONDS, Keeper, need_fake

SHIM = os.path.join(BUILD, "tests", "support", ".libs", "failing.so")
ALL = "COSCHED_KILL_ALL" in os.environ
SAMPLE = 16
EARLY = (5, 6) # given to an earlier helper
JOBS = (*EARLY, 7, 8)
ERRORS = {"malloc": "ENOMEM", "write": "ENOSPC", "fsync": "EIO", "fdatasync": "EIO",
          "memfd_create": "EMFILE", "open": "EMFILE", "fopen": "EMFILE", "rename": "ENOSPC",
          "unlink": "EACCES", "mkdir": "ENOSPC", "pipe2": "EMFILE", "poll": "EINTR",
          "read": "EINTR", "fcntl": "EMFILE", "waitpid": "EINTR", "kill": "EPERM"}


def text(job):
    return f"cosched/1 state=final partners=1,2 number={job}"


class Life(Keeper):
    """A helper finds records and is given others; what it has not kept is given to one that is
    started after it."""

    def __init__(self, folder, place=None, number=0):
        super().__init__()
        self.recorded, self.kept_said = set(), set()
        self.write("config", "1\n")
        self.write("age", "0")
        self.rows(*((job, job, END - 100, END, "cosched/1 state=running") for job in JOBS))
        self.whole = dict(self.environment)
        self.environment |= {
            "LD_PRELOAD": f"{SHIM} {self.environment['LD_PRELOAD']}",
            "FAILING_PROGRAM": "coschedd-slurm", "FAILING_ONCE": folder}
        if place:
            self.environment["FAILING_PLACE"] = f"{place}:{number}"
        else:
            self.environment["FAILING_PLACES"] = f"{folder}/places"

    def serve(self):
        """Give what is not kept, until all is delivered; False: the helper has ended."""
        try:
            for job in set(JOBS) - self.kept_said:
                self.record(job, text(job))
        except BrokenPipeError:
            return False
        while self.recorded != set(JOBS):
            event = self.event() # json.loads() of a line
            if event is None:
                return False
            if event["event"] in ("kept", "recorded"):
                self.kept_said.add(event["job"])
            if event["event"] == "recorded":
                self.recorded.add(event["job"])
        return True

    def live(self):
        self.write("sacct.fails", "away\n")
        failing, self.environment = self.environment, self.whole
        with self:
            for job in EARLY:
                self.record(job, text(job))
            while self.kept_said != set(EARLY):
                event = self.event()
                if event["event"] == "kept":
                    self.kept_said.add(event["job"])
            self.kill()
            self.remove("sacct.fails")
            self.environment = failing
            self.start()
            for _ in range(3):
                if self.serve():
                    break
                assert self.process.wait(SECONDS) == 1, self.process.returncode
                self.environment = self.whole
                self.start()
            assert self.recorded == set(JOBS), self.recorded
            self.wait_until("an empty queue", lambda: not self.kept()) # json.loads() of lines
            for line in self.lines("courier.input"):
                assert json.loads(line)["text"].startswith("cosched/1 state=final"), line
            assert {self.comment(str(job)) for job in JOBS} == set(map(text, JOBS))


def errno_of(function):
    name = function.removeprefix("__").removesuffix("_chk").removesuffix("_2").removesuffix("64")
    return getattr(errno, ERRORS[name])


def unpacks(frames):
    """A line is unpacked, or an event packed, just below main(): what fails there lost a record."""
    own = [frame.startswith("coschedd-slurm+") for frame in frames[1:] if "libjansson" not in frame]
    return "libjansson" in frames[1] and own[:4] == [True, True, True, False]


def main():
    need_fake()
    need("tests/support/.libs/failing.so")
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as folder:
        Life(folder).live()
        with open(f"{folder}/places", encoding="ascii") as file:
            places = [line.split() for line in file]
    total = len(places)
    chosen = places if ALL else [places[(2 * i + 1) * total // (2 * SAMPLE)]
                                 for i in range(SAMPLE)] + [p for p in places if unpacks(p[2:])]
    struck = 0
    for place, function, *_ in chosen:
        with tempfile.TemporaryDirectory(prefix="cosched-test.") as folder:
            try:
                Life(folder, place, errno_of(function)).live()
            except BaseException:
                print(f"---- {function} at {place} fails ----", flush=True)
                raise
            struck += os.path.exists(f"{folder}/{place}")
    print(f"{total} places, {len(chosen)} lives, {struck} struck")
    assert 2 * struck > len(chosen), struck


main()
