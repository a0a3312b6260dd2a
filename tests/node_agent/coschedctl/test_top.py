#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedctl top on real terminals (tmux): windows, keys, mouse, colours, agents that go."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import BUILD, need, skip, wait_for
from fakeagent import FakeAgent

CTL = os.path.join(BUILD, "coschedctl")
need(CTL)
if not shutil.which("tmux"):
    skip("no tmux")


def job(number, cpus, cores, **more):
    return {"job": number, "uid": os.getuid(), "name": f"name{number}", "state": "malleable",
            "cpus": cpus, "cores": cores, "mean_cores": cores, "live_s": 10.0, "attached": 1,
            "decisions": 3, "weight": 1.0, "progress": {"work_s": 5.0 * cores},
            "speed": {"predicted": 0.9, "measured": None, "limit": "memory"},
            "region": {"region": "a1b2c3d4e5f60708+1234", "state": "known", "rho": 0.5}, **more}


def node(agent, nodes, caches, cores, jobs):
    """The agent's replies of a node with so many NUMA nodes, caches each, cores each."""
    agent.replies["config"] = {"domains": [
        {"node": d // caches, "cores": f"{d * cores}-{(d + 1) * cores - 1}"}
        for d in range(nodes * caches)]}
    agent.replies["explain"] = {"decisions": [
        {"time": 1.0, "trigger": "a start", "text": "it is fair"}]}
    agent.replies["status"] = lambda request: {
        "node": "n1", "policy": "corun", "counters": "perf", "cpus": "0", "omitted": 0,
        "load": {"cores": 3.5, "controllers": [0.5] * nodes, "links": []}, "drained": None,
        "jobs": [j for j in jobs if request.get("job") in (None, 0, j["job"])]}


class Terminal:
    """A command in a window of a tmux of its own."""

    def __init__(self, agent, *arguments, columns=80, rows=24, env=None):
        self.directory = tempfile.TemporaryDirectory(prefix="cosched-top.")
        self.socket = os.path.join(self.directory.name, "tmux")
        self.end = os.path.join(self.directory.name, "end")
        settings = " ".join(f"{k}={v}" for k, v in {
            "LC_ALL": "C.UTF-8", "TERM": "tmux-256color",
            "ASAN_OPTIONS": "detect_leaks=0", # of ncurses, where a terminal is not known
            **(env or {})}.items())
        path = agent if isinstance(agent, str) else agent.path
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  f"env -u NO_COLOR {settings} {CTL} --socket {path} top {' '.join(arguments)}; "
                  f"echo status $? >{self.end}; exec sleep 1000")

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-u", "-S", self.socket, *arguments], check=True, text=True,
                              stdout=subprocess.PIPE,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout

    def screen(self, *how):
        return self.tmux("capture-pane", "-p", *how)

    def shows(self, text, *how):
        last = []

        def look():
            last[:] = [self.screen(*how)]
            return text in last[0]
        try:
            wait_for(repr(text), look, every=0.02)
        except AssertionError:
            print(last[0])
            raise
        return last[0]

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def status(self):
        wait_for("end", lambda: os.path.exists(self.end) and os.path.getsize(self.end))
        with open(self.end, encoding="ascii") as file:
            return int(file.read().split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.tmux("kill-server")
        self.directory.cleanup()


def cores_of(screen):
    """Letters of the cores, a string for each NUMA node."""
    return ["".join(re.findall(r"[a-zA-Z.+]", part)) for part in
            re.findall(r"N\d+ +\d+%([^N\n]*)", screen)]


def check_large(agent):
    """128 cores on 80 x 24 and 256 on 120 x 40."""
    for nodes, caches, cores, columns, rows in (8, 2, 8, 80, 24), (8, 4, 8, 120, 40):
        half = nodes * caches * cores // 2
        node(agent, nodes, caches, cores, [job(1, f"0-{half - 1}", half),
                                           job(2, f"{half}-{2 * half - 1}", half)])
        with Terminal(agent, columns=columns, rows=rows) as t:
            screen = t.shows(f"{2 * half} cores, 2 jobs")
            assert "".join(cores_of(screen)) == "a" * half + "b" * half, screen
            assert "a start: it is fair" in screen, screen
            # As it is: all lines of the window, none longer than it.
            assert max(map(len, screen.split("\n"))) <= columns, screen
            t.press("q")
            assert t.status() == 0


def check_keys(agent):
    node(agent, 1, 2, 4, [job(1, "0-1", 2), job(2, "2-7", 6), job(3, "", 0)])
    with Terminal(agent) as t:
        screen = t.shows("│aabb│bbbb│")
        lines = screen.split("\n")
        t.press("Down")
        t.shows("job 1 name1 of")
        t.press("s")
        screen = t.shows("sort: cores")
        assert screen.index("       2 name2") < screen.index("       1 name1"), screen
        t.press("?")
        t.shows("PRED, MEAS")
        t.press("Escape")
        t.shows("│aabb│bbbb│")
        # A click on the first job that the table shows: press and release, as terminals send it.
        row = next(i for i, line in enumerate(t.screen().split("\n")) if " name3" in line)
        for button in " #":
            t.press("-l", f"\x1b[M{button}{chr(33 + 4)}{chr(33 + row)}")
        t.shows("job 3 name3 of")
        t.press("p")
        t.shows("PAUSED")
        asked = len(agent.asked)
        t.tmux("resize-window", "-x", "40", "-y", "14")
        screen = t.shows("CORES LIMIT")
        assert max(map(len, screen.split("\n"))) <= 40, screen
        t.tmux("resize-window", "-x", "100", "-y", "30")
        t.shows("STATE")
        assert len(agent.asked) == asked, agent.asked[asked:] # as it is paused
        t.press("p")
        wait_for("another look", lambda: len(agent.asked) > asked)
        t.press("q")
        assert t.status() == 0
    assert lines[0].startswith("coschedule  n1  8 cores, 3 jobs  corun"), lines


def check_colour(agent):
    node(agent, 1, 1, 4, [job(1, "0-1", 2), job(2, "2-3", 2)])
    for env, coloured, bar in (({}, True, "│"), ({"NO_COLOR": "1"}, False, "│"),
                               ({"NO_COLOR": ""}, True, "│"), ({"LC_ALL": "C"}, True, "|"),
                               ({"TERM": "vt100"}, False, "│")):
        with Terminal(agent, env=env) as t:
            t.shows(f"{bar}aabb{bar}")
            colours = re.findall(r"\x1b\[[\d;]*3[1-6]m", t.screen("-e"))
            assert bool(colours) == coloured, (env, t.screen("-e"))
            t.press("q")
            assert t.status() == 0


def check_bad(agent):
    node(agent, 1, 1, 4, [job(1, "0-1", 2)])
    for arguments, env, says, status in (
            ([], {"TERM": ""}, "TERM is not set: shown once", 0),
            ([], {"TERM": "nonsense"}, "TERM=nonsense: not known: shown once", 0),
            ([], {"TERM": "dumb"}, "cannot move the cursor: shown once", 0),
            (["77"], {}, "77: no such job on this node", 1),
            (["x"], {}, "x: not a job id", 2)):
        with Terminal(agent, *arguments, env=env) as t:
            assert t.status() == status, t.screen()
            t.shows(says)
    with Terminal(agent.path + ".not") as t:
        assert t.status() == 3
        t.shows("coschedctl: ")
    # Another's, of whom the agent says nothing; and one that it refuses to name.
    agent.replies["status"] = (1, "job 1 belongs to another")
    with Terminal(agent, "1") as t:
        assert t.status() == 1
        t.shows("status: job 1 belongs to another")
    node(agent, 1, 1, 4, [job(1, "0-1", 2)])
    done = subprocess.run([CTL, "--socket", agent.path, "top"], text=True, check=True,
                          capture_output=True, stdin=subprocess.DEVNULL)
    assert "name1" in done.stdout and "a start: it is fair" in done.stdout, done


def check_gone():
    """The agent goes while it is watched, and comes back, with another job."""
    with FakeAgent() as agent:
        node(agent, 1, 1, 4, [job(1, "0-1", 2)])
        with Terminal(agent) as t:
            t.shows("│aa..│")
            reply = agent.replies.pop("status")
            agent.replies["status"] = None # hangs up
            screen = t.shows("tried each second: ")
            assert "│aa..│" in screen, screen # what was known last
            agent.replies["status"] = reply
            node(agent, 1, 1, 4, [job(1, "0", 1), job(5, "1-3", 3)])
            screen = t.shows("│abbb│")
            assert "tried each second" not in screen
            node(agent, 1, 1, 4, [])
            t.shows("no job on this node")
            t.press("q")
            assert t.status() == 0


def check_regions(agent):
    """A program that is in another region at each look: nothing piles up on the screen."""
    count = iter(range(10000))

    def status(request):
        return {"node": "n1", "policy": "corun", "counters": "perf", "cpus": "0", "jobs": [
            job(1, "0-1", 2, region={"region": f"a1b2c3d4e5f60708+{next(count) + 16:x}",
                                     "state": "known", "pid": os.getpid()})] * 1}
    node(agent, 1, 1, 4, [])
    agent.replies["status"] = status
    with Terminal(agent) as t:
        wait_for("another region", lambda: any(
            int(offset, 16) > 18 for offset in re.findall(r"08\+(\w+)", t.screen())))
        t.press("q")
        assert t.status() == 0


def main():
    with FakeAgent() as agent:
        check_large(agent)
        check_keys(agent)
        check_colour(agent)
        check_bad(agent)
        check_regions(agent)
    check_gone()


main()
