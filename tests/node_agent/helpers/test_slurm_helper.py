#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedd-slurm with a libslurm, a sacctmgr and a sacct of the test's own."""

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

# Note the arguments; then do as told.
SACCTMGR = """#!/bin/sh
for a; do printf '%s\\t' "$a"; done >>"$FAKE_SLURM/sacctmgr.asked"
echo >>"$FAKE_SLURM/sacctmgr.asked"
while [ -e "$FAKE_SLURM/sacctmgr.waits" ]; do sleep 0.02; done
cat "$FAKE_SLURM/sacctmgr.says" 2>/dev/null || exit 0
exit 1
"""
SACCT = """#!/bin/sh
case $* in
    *jobidraw*) cat "$FAKE_SLURM/sacct.names" 2>/dev/null || echo "$5|$5"
                exit ;;
esac
# Before it is noted that it was asked: then it may be told otherwise.
says=$(cat "$FAKE_SLURM/sacct.says")
echo "$*" >>"$FAKE_SLURM/sacct.asked"
[ -z "$says" ] || printf '%s\n' "$says"
"""
SECONDS = 90


class Helper:
    """coschedd-slurm in a directory that says what Slurm answers."""

    def __init__(self, *arguments, programs=True):
        self.directory = tempfile.TemporaryDirectory(prefix="cosched-test.")
        self.arguments = arguments
        self.rest = b""
        bin_ = os.path.join(self.directory.name, "bin")
        os.mkdir(bin_)
        for name, text in (("sacctmgr", SACCTMGR), ("sacct", SACCT)):
            if programs:
                with open(os.path.join(bin_, name), "w",
                          encoding="ascii") as program:
                    program.write(text)
                os.chmod(os.path.join(bin_, name), 0o755)
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

    def remove(self, name):
        os.unlink(os.path.join(self.directory.name, name))

    def lines(self, name):
        try:
            with open(os.path.join(self.directory.name, name),
                      encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def wait_until(self, what, condition):
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, f"no {what}"
            time.sleep(0.02)

    def tell(self, line):
        if not isinstance(line, (str, bytes)):
            line = json.dumps({"cmd": "comment", "final": True, "end": 0, **line})
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

    def __enter__(self):
        self.process = subprocess.Popen(
            [HELPER, *self.arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment, bufsize=0)
        return self

    def __exit__(self, *exception):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout,
                       self.process.stderr):
            stream.close()
        self.directory.cleanup()


def check_command_line():
    for arguments, names in [
            (["--bogus"], "--bogus: "), (["--interval"], "--interval: "),
            (["--interval", "0"], "--interval: "),
            (["--interval", "x"], "--interval: "),
            (["--interval", "2x"], "--interval: "),
            (["--interval", ""], "--interval: "),
            (["--delay", "-1"], "--delay: "),
            (["--delay", "3601"], "--delay: "),
            (["--delay", "1", "x"], "x: ")]:
        done = subprocess.run([HELPER, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 2, (arguments, done)
        assert done.stderr.startswith("coschedd-slurm: " + names), done.stderr
        assert done.stdout == "", done.stdout
    done = subprocess.run([HELPER, "--help"], capture_output=True, text=True,
                          check=True)
    assert "--interval" in done.stdout and "--delay" in done.stdout


def config(parameters):
    return {"event": "config", "scheduler_parameters": parameters}


def check_config():
    with Helper("--interval", "1") as helper:
        assert helper.event() == config("")
        helper.write("config", "200\nbf_interval=30,cosched_policy=equal\n")
        assert helper.event() == config("bf_interval=30,cosched_policy=equal")
        # A second change within the same second is not lost.
        helper.write("config", "200\ncosched_policy=greedy\n")
        assert helper.event() == config("cosched_policy=greedy")
        helper.looks(3)
        assert helper.lines("asked")[-1] == "201", helper.lines("asked")
        # Other changes of slurm.conf are none of ours.
        helper.write("config", "300\ncosched_policy=greedy\n")
        helper.looks(3)
        helper.remove("config")
        event = helper.event()
        assert event["event"] == "absent" and "fake error" in event["error"]
        helper.looks(2)
        helper.write("config", "300\ncosched_policy=greedy\n")
        assert helper.event() == {"event": "present"}
        helper.remove("config")
        assert helper.event()["event"] == "absent", "once per absence"
        helper.write("config", "400\n")
        assert helper.event() == {"event": "present"}
        assert helper.event() == config("")
        assert helper.end() == 0
        assert helper.event() is None, "more events than changes"


def check_partitions():
    """Asked for only if an entry is for one."""
    for_one = "cosched_policy@long=batch,cosched_epoch=20ms"
    with Helper("--node", "n2", "--interval", "1") as helper:
        assert helper.event() == config("")
        helper.looks(2)
        assert not helper.lines("partitions.asked")
        helper.write("partitions", "150\nshort n[1-4]\nlong n[2,7]\n"
                     "other n[20-29]\nempty \n")
        helper.write("config", f"200\n{for_one}\n")
        assert helper.event() == {**config(for_one),
                                  "partitions": "short,long",
                                  "others": "other,empty"}
        # The node leaves one of them.
        helper.write("partitions", "160\nlong n[2,7]\nshort n1\n")
        assert helper.event() == {**config(for_one), "partitions": "long",
                                  "others": "short"}
        helper.remove("partitions")
        assert helper.event()["event"] == "absent"
        helper.write("config", "300\ncosched_policy=equal\n")
        assert helper.event() == {"event": "present"}
        assert helper.event() == config("cosched_policy=equal")
        asked = helper.lines("partitions.asked")
        helper.looks(2)
        assert helper.lines("partitions.asked") == asked
        assert helper.end() == 0


GOOD = {"job": 5, "text": "cosched/1 state=final partners=1,2"}


def check_garbage():
    with Helper("--interval", "1", "--delay", "0") as helper:
        assert helper.event() == config("")
        for line in ["", "x", "[]", "{}", b"\xff\xfe", '{"cmd":"comment"}',
                     {"cmd": "dance", **GOOD}, {**GOOD, "job": 0},
                     {**GOOD, "job": -1}, {**GOOD, "job": 1 << 32},
                     {**GOOD, "job": "5"}, {**GOOD, "text": 5},
                     {**GOOD, "text": "x" * 1001}, {**GOOD, "text": 'a"b'},
                     {**GOOD, "text": "a\nb"}, {**GOOD, "text": "a|b"},
                     {**GOOD, "final": 1}, {**GOOD, "end": "now"},
                     '{"cmd":"comment","cmd":"comment"}',
                     "{" * 5000]:
            helper.tell(line)
            complaint = helper.complaint()
            assert complaint.startswith("coschedd-slurm: refused: "), complaint
        helper.tell(b"x" * 200000) # no line at all: dropped in pieces
        assert "refused" in helper.complaint()
        assert helper.lines("updates") == []
        assert helper.lines("sacctmgr.asked") == []
        helper.tell({**GOOD, "final": False})
        assert helper.event() == {"event": "noted", "job": 5}


def check_interim():
    with Helper() as helper:
        assert helper.event() == config("")
        helper.tell({**GOOD, "final": False})
        assert helper.event() == {"event": "noted", "job": 5}
        assert helper.lines("updates") == ["5 " + GOOD["text"]]
        # Two in one write.
        line = json.dumps({"cmd": "comment", "final": False, **GOOD})
        helper.tell(line + "\n" + line)
        assert helper.event() == helper.event() == {"event": "noted", "job": 5}
        helper.write("refuse", "")
        helper.tell({**GOOD, "final": False})
        event = helper.event()
        assert event["event"] == "failed" and event["job"] == 5, event
        assert event["error"].startswith("fake error "), event
        assert helper.lines("sacctmgr.asked") == []


def check_job():
    with Helper() as helper:
        assert helper.event() == config("")
        for job in (6, 9): # not known
            helper.tell({"cmd": "job", "job": job})
        helper.write("comment", "cosched-job/1 weight=2")
        helper.tell('{"cmd":"job","job":7}')
        assert helper.event() == {"event": "job", "job": 7, "comment":
                                  "cosched-job/1 weight=2"}
        helper.write("comment", "x" * 1001) # none of ours
        helper.tell('{"cmd":"job","job":7}')
        helper.tell('{"cmd":"job","job":0}')
        assert "refused" in helper.complaint()
        assert helper.end() == 0
        assert helper.event() is None


def check_final():
    with Helper("--interval", "1", "--delay", "0") as helper:
        assert helper.event() == config("")
        helper.write("sacct.says", f"2026-01-01T00:00:00|{GOOD['text']}\n")
        helper.tell(GOOD)
        assert helper.event() == {"event": "recorded", "job": 5}
        assert helper.lines("sacctmgr.asked")[-1].split("\t") == [
            "-i", "modify", "job", "set", f'admincomment="{GOOD["text"]}"',
            "where", "jobid=5", "cluster=fake", ""]
        assert helper.lines("sacct.asked") == ["-n -X -P -j 5 -o end,admincomment"]
        assert helper.lines("updates") == [], "slurmctld is not asked any more"

        # Not there yet, then there.
        for early in ("", f"Unknown|{GOOD['text']}\n",
                      "2026-01-01T00:00:00|cosched/1 state=running\n",
                      "2026-01-01T00:00:00|\n"):
            before = len(helper.lines("sacct.asked"))
            helper.write("sacct.says", early)
            helper.tell(GOOD)
            helper.wait_until("try", lambda n=before:
                              len(helper.lines("sacct.asked")) > n)
            helper.write("sacct.says", f"2026-01-01T00:00:00|{GOOD['text']}\n")
            assert helper.event() == {"event": "recorded", "job": 5}, early
            assert len(helper.lines("sacct.asked")) > before + 1, early


def check_final_fails():
    for says, reason in [("", "sacct does not know the job"),
                         ("Unknown|\n", "the job's end is not in the "
                                        "accounting yet"),
                         ("2026-01-01T00:00:00|x\n",
                          "sacct does not show the record")]:
        with Helper("--interval", "1", "--delay", "0") as helper:
            helper.event()
            helper.write("sacct.says", says)
            helper.tell(GOOD)
            assert helper.event() == {"event": "failed", "job": 5,
                                      "error": reason}
            assert len(helper.lines("sacct.asked")) == 8
    with Helper("--interval", "1", "--delay", "0") as helper:
        helper.event()
        helper.write("sacctmgr.says", "\n sacctmgr: error: no slurmdbd\nmore\n"
                     + "x" * 100000 + "\n")
        helper.tell(GOOD)
        assert helper.event() == {"event": "failed", "job": 5,
                                  "error": "sacctmgr: error: no slurmdbd"}
    with Helper("--interval", "1", "--delay", "0", programs=False) as helper:
        helper.event()
        helper.tell(GOOD)
        assert helper.event() == {
            "event": "failed", "job": 5,
            "error": "sacct: No such file or directory"}
    for names in ("", "5\n", "|\n", "6|5\n55|5_0\n5_0|5\n", "5|" + "x" * 40):
        with Helper("--interval", "1", "--delay", "0") as helper:
            helper.event()
            helper.write("sacct.names", names)
            helper.tell(GOOD)
            assert helper.event() == {"event": "failed", "job": 5, "error":
                                      "sacct does not know the job"}, names
            assert helper.lines("sacctmgr.asked") == []


def check_array():
    """The last element of an array has the array's number: what is written of it
    must not become that of all elements."""
    with Helper("--interval", "1", "--delay", "0") as helper:
        helper.event()
        elements = [f"{100 + i}|5_{i}\n" for i in range(5000)]
        helper.write("sacct.names", "".join(elements) + "5|5_5000\n")
        helper.write("sacct.says", f"2026-01-01T00:00:00|{GOOD['text']}\n")
        helper.tell(GOOD)
        assert helper.event() == {"event": "recorded", "job": 5}
        assert "jobid=5_5000" in helper.lines("sacctmgr.asked")[0].split("\t")
        assert " -j 5_5000 " in helper.lines("sacct.asked")[0]


def check_delay():
    """A record waits for its time, is replaced by a newer one, and does not keep
    the helper from ending with the agent."""
    later = time.time() + 3000
    with Helper("--interval", "1") as helper:
        helper.event()
        helper.write("sacct.says", f"2026-01-01T00:00:00|{GOOD['text']}\n")
        for job in (5, 6, 7):
            helper.tell({**GOOD, "job": job, "text": "old", "end": later})
        helper.looks(3)
        assert helper.lines("sacctmgr.asked") == []
        helper.tell({**GOOD, "job": 6})
        assert helper.event() == {"event": "recorded", "job": 6}
        helper.looks(2)
        assert len(helper.lines("sacctmgr.asked")) == 1
        assert helper.end() == 0
        assert helper.event() is None


def check_between():
    """A question is answered between two records."""
    with Helper("--interval", "1", "--delay", "0") as helper:
        assert helper.event() == config("")
        helper.write("sacct.says", f"2026-01-01T00:00:00|{GOOD['text']}\n")
        helper.write("comment", "cosched-job/1 weight=2")
        helper.write("sacctmgr.waits", "")
        line = {"cmd": "comment", "final": True, "end": 0, **GOOD}
        helper.tell("\n".join(json.dumps({**line, "job": job})
                              for job in (5, 6)))
        helper.wait_until("first record", lambda:
                          helper.lines("sacctmgr.asked"))
        helper.tell({"cmd": "job", "job": 7})
        helper.remove("sacctmgr.waits")
        assert [helper.event()["event"] for _ in range(3)] == \
            ["recorded", "job", "recorded"]


def check_overwritten():
    """slurmctld sends its own record again when it restarts: looked for once
    more when it has forgotten the job."""
    with Helper("--interval", "1", "--delay", "0") as helper:
        assert helper.event() == config("")
        helper.write("sacct.says", f"2026-01-01T00:00:00|{GOOD['text']}\n")
        helper.tell({**GOOD, "end": time.time() - 100})
        assert helper.event() == {"event": "recorded", "job": 5}
        helper.looks(3)
        assert len(helper.lines("sacct.asked")) == 1, "MinJobAge is not over"
        helper.write("age", "100")
        helper.write("config", "200\nnew\n")
        assert helper.event() == config("new")
        # A job whose record is lost in the meantime, then one that keeps it.
        helper.tell({**GOOD, "end": time.time() - 94})
        assert helper.event() == {"event": "recorded", "job": 5}
        helper.write("sacct.says", "2026-01-01T00:00:00|cosched/1 "
                                   "state=running\n")
        helper.wait_until("second writing", lambda:
                          len(helper.lines("sacctmgr.asked")) > 2)
        helper.write("sacct.says", f"2026-01-01T00:00:00|{GOOD['text']}\n")
        helper.tell({**GOOD, "job": 6, "end": time.time() - 200})
        assert helper.event() == {"event": "recorded", "job": 6}
        helper.looks(3)
        assert len([line for line in helper.lines("sacctmgr.asked")
                    if "jobid=6" in line]) == 1
        assert len([line for line in helper.lines("sacct.asked")
                    if "-j 6 " in line]) == 2
        assert helper.end() == 0
        assert helper.event() is None, "recorded is said once"


def main():
    if not os.path.exists(FAKE):
        print("SKIP: fake_slurm.so was not built")
        sys.exit(77)
    check_command_line()
    check_config()
    check_partitions()
    check_garbage()
    check_interim()
    check_job()
    check_final()
    check_final_fails()
    check_array()
    check_delay()
    check_between()
    check_overwritten()


main()
