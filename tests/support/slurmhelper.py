# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedd-slurm with a libslurm, a slurmdbd and a sacct of the test's own."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["abs_top_builddir"]
HELPER = os.path.join(BUILD, "coschedd-slurm")
FAKE = os.path.join(BUILD, "tests", "node_agent", "helpers", ".libs", "fake_slurm.so")

SACCT = """#!/bin/sh
echo "$*" >>"$FAKE_SLURM/sacct.asked"
while [ -e "$FAKE_SLURM/sacct.waits" ]; do sleep 0.02; done
cat "$FAKE_SLURM/sacct.fails" 2>/dev/null && exit 1
cat "$FAKE_SLURM/rows" 2>/dev/null
exit 0
"""
SECONDS = 240 # on a busy machine

TEXT = "cosched/1 state=final partners=1,2"
END = 1_700_000_000


class FakeSlurm:
    """A directory that says what Slurm answers: fake_slurm.c."""

    def __init__(self, programs=True):
        self.directory = tempfile.TemporaryDirectory(
            prefix="cosched-test.", ignore_cleanup_errors=True)
        bin_ = os.path.join(self.directory.name, "bin")
        os.mkdir(bin_)
        if programs:
            with open(os.path.join(bin_, "sacct"), "w", encoding="ascii") as program:
                program.write(SACCT)
            os.chmod(os.path.join(bin_, "sacct"), 0o755)
        # The sanitizer's runtime need not come first here.
        options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        self.environment = {
            **os.environ, "FAKE_SLURM": self.directory.name,
            "LD_PRELOAD": FAKE, "ASAN_OPTIONS": options,
            "PATH": bin_ + ":/usr/bin:/bin" if programs else bin_}
        self.write("config", "100\n")

    def write(self, name, text):
        """Replace file NAME in one step."""
        path = os.path.join(self.directory.name, name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def remove(self, name):
        os.unlink(self.path(name))

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def lines(self, name):
        return self.read(name).splitlines()

    def wait_until(self, what, condition):
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, f"no {what}"
            time.sleep(0.02)

    def rows(self, *rows):
        """The accounting: (raw, name, end, comment), or with the start before the end, or with
        state and nodes between end and comment, too."""
        def whole(raw, name, *rest):
            if len(rest) == 2:
                rest = (END - 100, *rest)
            if len(rest) == 3:
                rest = (*rest[:2], "COMPLETED", "n1", rest[2])
            return (raw, name, "fake", *rest)
        self.write("rows", "".join(
            "|".join(map(str, whole(*r))) + "\n" for r in rows))

    def comments(self):
        """{(name, end): comment} of the accounting."""
        return {tuple(line.split("|")[1:5:3]): line.split("|")[7] for line in self.lines("rows")}

    def changes(self):
        """{(name, end): all comments that were written there}."""
        found = {}
        for line in self.lines("modified"):
            name, end, comment = line.split(" ", 2)
            found.setdefault((name, end), set()).add(comment)
        return found


class Helper(FakeSlurm):
    """coschedd-slurm with a Slurm of its own."""
    prefix = () # of the command: what it runs under

    def __init__(self, *arguments, programs=True):
        super().__init__(programs)
        self.arguments = arguments
        self.rest = b""

    def tell(self, line):
        if not isinstance(line, (str, bytes)):
            line = json.dumps({"cmd": "comment", **line})
        if isinstance(line, str):
            line = line.encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def event(self, seconds=SECONDS):
        """The next event, or None."""
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left < 0 or not select.select([self.process.stdout], [], [],
                                             left)[0]:
                return None
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return None
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def looks(self, count=2):
        """Wait until the configuration was looked at COUNT times more."""
        want = len(self.lines("asked")) + count
        self.wait_until("look", lambda: len(self.lines("asked")) >= want)

    def complaint(self):
        assert select.select([self.process.stderr], [], [], SECONDS)[0], \
            "no complaint"
        return self.process.stderr.readline().decode(errors="replace")

    def end(self):
        """Close its input; its exit status."""
        self.process.stdin.close()
        return self.process.wait(SECONDS)

    def start(self):
        self.rest = b""
        self.process = subprocess.Popen(
            [*self.prefix, HELPER, *self.arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment, bufsize=0)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout,
                       self.process.stderr):
            stream.close()

    def __enter__(self):
        return self.start()

    def __exit__(self, *exception):
        self.kill()
        self.directory.cleanup()


class Keeper(Helper):
    """A helper that keeps records, and is told at once where they go."""
    to = "" # the accounting

    def __init__(self, *arguments, delay="0", **more):
        super().__init__("--delay", delay, *arguments, **more)
        self.arguments = ("--records", self.path("sub/records"), *self.arguments)

    def start(self):
        super().start()
        self.hand_to(self.to)
        return self

    def hand_to(self, where, **more):
        self.tell(json.dumps({"cmd": "collector", "to": where, **more}))

    def record(self, job, text=TEXT, end=END):
        self.tell(json.dumps({"cmd": "record", "job": job, "text": text, "end": end}))

    def expect(self, *events):
        """The next events are these (name, job), in any order."""
        got = []
        for _ in events:
            event = self.event()
            assert event is not None, (events, got)
            got.append((event["event"], event.get("job")))
        assert sorted(got) == sorted(events), (events, got)

    def comment(self, name, end=END):
        return self.comments()[(name, str(end))]

    def kept(self):
        """The records on disk."""
        found = {}
        for line in self.lines("sub/records"):
            entry = json.loads(line)
            found[(entry["job"], entry["end"])] = entry.get("text")
        return {key for key, text in found.items() if text}


def need_fake():
    if not os.path.exists(FAKE):
        print("SKIP: fake_slurm.so was not built")
        sys.exit(77)
