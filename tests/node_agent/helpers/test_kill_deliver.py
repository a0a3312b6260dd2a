#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The helper that keeps records, and its courier, are killed at each system call: what
was kept is delivered by the next, nothing is in the accounting but what was given, and
in the end nothing waits.

A sample of the calls; COSCHED_KILL_ALL=1: all of them."""

import contextlib
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from killpoints import ALL, need_tracing, walk
from slurmhelper import END, Keeper, need_fake

# Of the accounting: one is kept from before, two are runs of a job.
RUNS = [(5, END), (7, END), (8, END - 50), (8, END)]


def text(job, end):
    return f"cosched/1 state=final partners=1,2 run={job}.{end}"


def wanted():
    return {(str(job), str(end)): text(job, end) for job, end in RUNS}


class Life(Keeper):
    """A helper that finds a file with history, and is given the other records."""

    def __init__(self):
        super().__init__()
        self.acknowledged = set()
        self.write("age", "0") # slurmctld forgets jobs at once: each has a second look
        self.rows(*((job, job, end - 10, end, "cosched/1 state=running") for job, end in RUNS))
        os.mkdir(self.path("sub"))
        line = {"job": 5, "end": END, "text": text(5, END)}
        gone = {"job": 6, "end": END}
        self.write("sub/records", "".join(
            json.dumps(entry) + "\n" for entry in (line, {**gone, "text": "x"}, gone))
            + '{"job":9,"end":1,"te')
        os.chmod(self.path("sub/records"), 0o600)

    def start(self):
        """It may die before it has heard where records go: give() finds that."""
        with contextlib.suppress(BrokenPipeError):
            super().start()
        return self

    def give(self):
        """Give what is not acknowledged, as the agent does; False: the helper has died."""
        try:
            for job, end in RUNS:
                if (job, end) not in self.acknowledged and job != 5:
                    self.record(job, text(job, end), end)
        except BrokenPipeError:
            return False
        return True

    def listen(self):
        """Until all are delivered; False: the helper has died."""
        recorded = set()
        while len(recorded) < len(RUNS):
            event = self.event()
            if event is None:
                assert self.process.wait(60) == -signal.SIGKILL
                return False
            assert event["event"] in ("kept", "recorded", "waiting"), event
            run = (event.get("job"), event.get("end"))
            if event["event"] != "waiting":
                self.acknowledged.add(run)
            if event["event"] == "recorded":
                recorded.add(run)
        return True

    def check_file(self):
        """Lines that can be read, with all that was acknowledged and is not delivered."""
        whole = [json.loads(line) for line in self.read("sub/records").split("\n")[:-1]]
        there = {(entry["job"], entry["end"]): entry.get("text") for entry in whole}
        for run in self.acknowledged | {RUNS[0]}:
            done = self.comments()[tuple(map(str, run))] == text(*run)
            assert done or there.get(run) == text(*run), (run, there)

    def check(self):
        """In the end all is delivered, nothing else was, and nothing waits."""
        self.wait_until("delivery", lambda: self.comments() == wanted())
        for (name, end), comments in self.changes().items():
            assert comments <= {text(j, e) for j, e in RUNS
                                if str(j) == name and end in ("0", str(e))}, comments
        self.wait_until("its removal", lambda: not self.kept())


def live_helper(point):
    """Until it is killed, or has delivered all and is ended."""
    k = Life()
    k.prefix = point.command
    with k:
        if not (k.give() and k.listen() and k.end() == 0):
            k.process.wait(60)
            k.check_file()
            k.prefix = ()
            k.start()
            k.give()
            k.check()


def live_courier(point):
    """The first one is killed; the helper lives on."""
    k = Life()
    k.write("courier.under", "\n".join(point.command) + "\n")
    with k:
        assert k.give() and k.listen()
        k.check()
        assert k.end() == 0


def main():
    need_fake()
    need_tracing()
    walk("the helper", live_helper, 8, all_calls=ALL)
    walk("a courier", live_courier, 6, all_calls=ALL)


main()
