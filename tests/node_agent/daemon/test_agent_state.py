#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the agent keeps: a start with strange files, the cost of a change, runs of a
requeued job, and who may say that it is one."""

import json
import os
import stat
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, BATCH, announce, fake, need, wait_for

RECORD = {"policy": "equal", "live_ns": 0, "core_s": 0.0, "parallel_s": 0.0, "final_cores": 0,
          "regions": 0, "decisions": 0, "attached": False, "partners": []}


def empty_job(number):
    return {"job": number, "uid": 0, "restarts": 0, "memory_mb": 0, "name": "", "options": "",
            "granted": "0", "announced_ns": 1, "ended_ns": 0, "cooperative": False,
            "interim_sent": False, "tasks": [], "record": RECORD}


def check_strange_files():
    """None holds the start; it is set aside, and a state is kept."""
    for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path), os.mkdir,
                 lambda path: os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
                 if os.geteuid() == 0 else os.mkfifo(path)):
        agent = Agent()
        make(os.path.join(agent.directory, "state.json"))
        make(os.path.join(agent.directory, "state.json.log"))
        with agent:
            assert "set aside as .bad" in agent.log_text(), agent.log_text()
            assert announce(agent, 7)["ok"]
            agent.kill()
            agent.start()
            assert agent.job(7), agent.log_text()


def check_other_versions():
    """What it is and where is said in one sentence."""
    for text, said in (
            ('{"version": 2, "jobs": [], "pending": []}', ": a state of version 2, this coschedd "
             "knows 1; set aside as .bad"),
            ('{"version": 1,\n "jobs": []', ":2: "), ('{"version": 1}', ": not a state; set aside"),
            ("[]", ": not a state; set aside")):
        agent = Agent()
        path = os.path.join(agent.directory, "state.json")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o600)
        with agent:
            assert path + said in agent.log_text(), (said, agent.log_text())
            with open(path + ".bad", encoding="ascii") as file:
                assert file.read() == text


def counted(agent):
    """Bytes that the agent has written, and calls that wrote them."""
    with open(f"/proc/{agent.process.pid}/io", encoding="ascii") as io:
        counts = dict(line.split(": ") for line in io.read().splitlines())
    return int(counts["wchar"]), int(counts["syscw"])


def start_with(count):
    """CPU time in ns that a start with COUNT empty jobs takes; half of them have ended."""
    agent = Agent("--log-level", "warning")
    jobs = [empty_job(n) for n in range(1, count + 1)]
    for job in jobs[:count // 2]:
        job["ended_ns"] = 2
    with open(os.path.join(agent.directory, "state.json"), "w", encoding="ascii") as file:
        json.dump({"version": 1, "jobs": jobs, "pending": []}, file)
    os.chmod(file.name, 0o600)
    with agent:
        assert agent.call({"op": "ping"})["jobs"] == count // 2
        with open(f"/proc/{agent.process.pid}/schedstat", encoding="ascii") as stat_file:
            return int(stat_file.read().split()[0])


def check_empty_jobs():
    """The start with as many jobs as may be, of which nothing is known, costs what they are,
    not their square: in CPU time relative to fewer.  In memory, as ext4 looks through all inodes
    that were deleted lately when it makes a file, and tests before this one have deleted many."""
    tempfile.tempdir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    none = start_with(0)
    few, many = start_with(1024) - none, start_with(4096) - none
    tempfile.tempdir = None
    print(f"CPU time of the start: {none / 1e6:.0f} ms, with 1024 jobs {few / 1e6:.0f} ms more, "
          f"with 4096 {many / 1e6:.0f} ms more")
    assert many < 8 * max(few, 20_000_000), (few, many)


def check_cost():
    """What an announcement costs does not grow with the jobs that there are."""
    count = 800
    with Agent("--log-level", "warning") as agent:
        before = counted(agent)
        for number in range(1, count + 1):
            assert announce(agent, number)["ok"]
        written, calls = (b - a for a, b in zip(before, counted(agent)))
        # A line for each, and the whole at most once a second; as wholes: 400 MB.
        assert written < 60_000_000, written
        assert calls < 20 * count, calls
        agent.kill()
        agent.start()
        assert agent.call({"op": "ping"})["jobs"] == count


def check_restarts():
    """A user's word is no new run; a batch script started anew is."""
    with Agent() as agent:
        assert announce(agent, 1, step=BATCH)["ok"]
        with fake(agent, 1, announced=True):
            wait_for("attach", lambda: agent.attached(1))
            for restarts, step in ((7, None), (7, 0), (7, 1), (8, 0xfffffffe)):
                assert announce(agent, 1, restarts=restarts, step=step)["ok"]
                assert agent.attached(1), (restarts, step)
            assert "job 1 ended" not in agent.log_text()
            assert announce(agent, 1, restarts=1, step=BATCH)["ok"]
            assert not agent.attached(1)
        assert agent.log_text().count("job 1 ended: cosched/1 state=final") == 1


def check_unseen():
    """A job whose task's message came too late did not end before it had cores."""
    with Agent() as agent:
        assert announce(agent, 5)["ok"]
        assert agent.call({"op": "withdraw", "job": 5})["ok"]
        with fake(agent, 6):
            wait_for("attach", lambda: agent.attached(6))
        assert agent.call({"op": "withdraw", "job": 6})["ok"]
        ended = {line.split()[2]: line for line in agent.log_text().splitlines()
                 if "ended: cosched/1" in line}
        assert " started=0" in ended["5"] and "started" not in ended["6"], ended


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    check_strange_files()
    check_other_versions()
    check_empty_jobs()
    check_cost()
    check_restarts()
    check_unseen()


main()
