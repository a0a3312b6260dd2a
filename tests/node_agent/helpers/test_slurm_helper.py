#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedd-slurm, which watches the configuration and writes comments of running
jobs, with a libslurm of the test's own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
from slurmhelper import HELPER, Helper, need_fake


def check_command_line():
    for arguments, names in [
            (["--bogus"], "--bogus: "), (["--interval"], "--interval: "),
            (["--interval", "-1"], "--interval: "),
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
    with Helper("--interval", "0") as helper:
        assert helper.event() == config("")
        helper.write("config", "200\nbf_interval=30,cosched_policy=equal\n")
        assert helper.event() == config("bf_interval=30,cosched_policy=equal")
        # A second change within the same second is not lost.
        helper.write("config", "200\ncosched_policy=greedy\n")
        assert helper.event() == config("cosched_policy=greedy")
        helper.looks(3)
        assert helper.lines("asked")[-1] == "201", helper.lines("asked")
        # Jobs that users may see of others.
        helper.write("private", "")
        helper.write("config", "210\ncosched_policy=greedy\n")
        assert helper.event() == {**config("cosched_policy=greedy"),
                                  "private_jobs": True, "slurm_user": 64}
        helper.remove("private")
        helper.write("config", "220\ncosched_policy=greedy\n")
        assert helper.event() == config("cosched_policy=greedy")
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


def check_files():
    """slurmctld is asked again when a file of Slurm's changes, also one that slurm.conf
    includes, long before the next look."""
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as folder:
        os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"
        try:
            with Helper("--first", "3600", "--interval", "3600") as helper:
                assert helper.event() == config("")
                for number, name in ((200, "slurm.conf"), (300, "more.conf")):
                    parameters = change_files(helper, folder, number, name)
                    assert helper.event() == config(parameters)
                helper.wait_until("look at what is new", lambda: len(helper.lines("asked")) > 3)
                assert len(helper.lines("asked")) <= 5, "twice for each change"
                assert helper.end() == 0
            check_few_looks(folder)
        finally:
            del os.environ["SLURM_CONF"]


def change_files(helper, folder, number, name):
    """Another configuration, and a file NAME that says so."""
    parameters = f"cosched_epoch={number}ms"
    helper.write("config", f"{number}\n{parameters}\n")
    with open(f"{folder}/new", "w", encoding="ascii") as file:
        file.write(f"# {number}\n")
    os.rename(f"{folder}/new", f"{folder}/{name}")
    return parameters


def check_few_looks(folder):
    """A helper that looked all the time has what the files announced in two looks, and rests."""
    with Helper("--first", "0", "--interval", "3600") as helper:
        assert helper.event() == config("")
        helper.looks(2)
        before = number = 400
        while len(helper.lines("asked")) <= before:
            os.kill(helper.process.pid, signal.SIGSTOP)
            number += 10    # again, if a look was under way
            parameters = change_files(helper, folder, number, "more.conf")
            before = len(helper.lines("asked"))
            time.sleep(2.1)     # files come first then
            os.kill(helper.process.pid, signal.SIGCONT)
            assert helper.event() == config(parameters)
        helper.wait_until("look at it", lambda: len(helper.lines("asked")) >= before + 2)
        time.sleep(1)       # another look each quarter of a second, were it not so
        assert len(helper.lines("asked")) == before + 2, helper.lines("asked")
        assert helper.end() == 0


def check_partitions():
    """Asked for only if an entry is for one."""
    for_one = "cosched_policy@long=batch,cosched_epoch=20ms"
    with Helper("--node", "n2", "--interval", "0") as helper:
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


GOOD = {"job": 5, "text": "cosched/1 state=running partners=1,2"}


def check_garbage():
    with Helper("--interval", "0") as helper:
        assert helper.event() == config("")
        for line in ["", "x", "[]", "{}", b"\xff\xfe", '{"cmd":"comment"}',
                     {"cmd": "dance", **GOOD}, {**GOOD, "job": 0},
                     {**GOOD, "job": -1}, {**GOOD, "job": 1 << 32},
                     {**GOOD, "job": "5"}, {**GOOD, "text": 5},
                     {**GOOD, "text": "x" * 1001}, {**GOOD, "text": 'a"b'},
                     {**GOOD, "text": "a\nb"}, {**GOOD, "text": "a|b"},
                     '{"cmd":"comment","cmd":"comment"}',
                     "{" * 5000]:
            helper.tell(line)
            complaint = helper.complaint()
            assert complaint.startswith("coschedd-slurm: refused: "), complaint
        helper.tell(b"x" * 200000) # no line at all: dropped in pieces
        assert "refused" in helper.complaint()
        assert helper.lines("updates") == []
        helper.tell(GOOD)
        assert helper.event() == {"event": "noted", "job": 5}


def check_interim():
    with Helper() as helper:
        assert helper.event() == config("")
        helper.tell(GOOD)
        assert helper.event() == {"event": "noted", "job": 5}
        assert helper.lines("updates") == ["5 " + GOOD["text"]]
        # Two in one write.
        line = json.dumps({"cmd": "comment", **GOOD})
        helper.tell(line + "\n" + line)
        assert helper.event() == helper.event() == {"event": "noted", "job": 5}
        helper.write("refuse", "")
        helper.tell(GOOD)
        event = helper.event()
        assert event["event"] == "failed" and event["job"] == 5, event
        assert event["error"].startswith("fake error "), event


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


def main():
    need_fake()
    check_command_line()
    check_config()
    check_files()
    check_partitions()
    check_garbage()
    check_interim()
    check_job()


main()
