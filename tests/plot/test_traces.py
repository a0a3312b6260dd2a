#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Traces against the specifications of their formats: Chrome's trace events as the simulated
agent writes them, and what coschedplot --paraver makes of it (header, records, names)."""

import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["abs_top_srcdir"], os.environ["abs_top_builddir"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
sys.path.insert(0, os.path.join(SOURCE, "plot"))
sys.dont_write_bytecode = True
from coschedtest import need    # noqa: E402
import paraver                  # noqa: E402

COSCHEDPLOT = os.path.join(SOURCE, "plot", "coschedplot")
SCENARIO = os.path.join(SOURCE, "simulator", "scenarios", "case-study.json")


# ---- Chrome trace events ("Trace Event Format", Google) ----------------------------

def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_event(e):
    """What the specification demands of an event of its kind."""
    assert isinstance(e["pid"], int) and isinstance(e["name"], str), e
    assert isinstance(e.get("tid", 0), int), e
    if e["ph"] == "M":
        key = {"process_name": "name", "thread_name": "name"}.get(e["name"], "sort_index")
        assert e["name"] in ("process_name", "thread_name", "process_sort_index",
                             "thread_sort_index"), e
        assert isinstance(e["args"][key], str if key == "name" else int), e
        return
    assert number(e["ts"]) and e["ts"] >= 0, e
    if e["ph"] == "X":
        assert number(e["dur"]) and e["dur"] >= 0, e
    elif e["ph"] == "C":
        assert e["args"] and all(map(number, e["args"].values())), e
    else:
        assert e["ph"] == "i" and e["s"] in "gpt", e
        assert isinstance(e["args"]["reason"], str) and e["args"]["reason"], e


def spans(events, pid):
    """tid -> [(begin, end, name)]."""
    found = {}
    for e in events:
        if e["ph"] == "X" and e["pid"] == pid:
            found.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"], e["name"]))
    return {tid: sorted(mine) for tid, mine in found.items()}


def check_chrome(trace):
    events = trace["traceEvents"]
    for e in events:
        check_event(e)
    groups = {e["args"]["name"]: e["pid"] for e in events if e["name"] == "process_name"}
    assert set(groups) == {"CPUs", "jobs", "decisions", "utilisation"}, groups
    cpus = spans(events, groups["CPUs"])
    assert len(cpus) > 1
    colours = {}
    for mine in cpus.values():
        for (_, end, _), (begin, _, _) in zip(mine, mine[1:]):
            assert end <= begin + 1e-3, "a CPU has two jobs at a time"
    for e in events:
        if e["ph"] == "X" and e["pid"] == groups["CPUs"]:
            assert colours.setdefault(e["name"], e["cname"]) == e["cname"]
    assert len(set(colours.values())) == len(colours) == 3, colours
    names = {e["name"] for e in events if e["ph"] == "C"}
    assert {"CPUs held", "computing", "controller 0", "cores of job 1",
            "predicted speed of job 2", "barriers of job 1",
            "barrier waits of job 1"} <= names, names
    for e in events:
        if e["name"].startswith(("controller", "link")) and e["ph"] == "C":
            assert 0 <= e["args"]["utilisation"] <= 1, e
        elif e["name"] == "CPUs held":
            assert 0 <= e["args"]["CPUs"] <= len(cpus), e
    assert [e for e in events if e["ph"] == "i"], "no decision"
    return events


# ---- Paraver ("Paraver: Trace generation", BSC) --------------------------------------

HEADER = re.compile(r"#Paraver \(\d\d/\d\d/\d\d at \d\d:\d\d\):(\d+)_ns:1\((\d+)\):(\d+):"
                    r"(1\(\d+:1\)(?::1\(\d+:1\))*)")


def read_pcf(text):
    """(state numbers, {event type: {value: name}})."""
    blocks = text.split("\nEVENT_TYPE\n")
    states = set(re.findall(r"^(\d+)    \w", blocks[0].partition("\nSTATES\n")[2]
                            .partition("\n\n")[0], re.M))
    types = {}
    for block in blocks[1:]:
        kind = re.fullmatch(r"9    (\d+)    .+", block.split("\n")[0])[1]
        assert kind not in types
        values = re.findall(r"^(\d+)      (.*)$", block.partition("VALUES\n")[2], re.M)
        assert len(dict(values)) == len(values)
        types[kind] = dict(values)
    return states, types


def read_row(text):
    levels = {}
    for block in text.strip().split("\n\n"):
        head, *names = block.split("\n")
        level, size = re.fullmatch(r"LEVEL (\w+) SIZE (\d+)", head).groups()
        assert len(names) == int(size) and all(names), block
        levels[level] = names
    return levels


def check_paraver(prv, pcf, row):
    """The records fit the header, the names and each other; the record fields by cpu."""
    lines = prv.splitlines()
    end, cpus, count, applications = HEADER.fullmatch(lines[0]).groups()
    threads = [int(n) for n in re.findall(r"1\((\d+):1\)", applications)]
    assert len(threads) == int(count)
    states, types = read_pcf(pcf)
    levels = read_row(row)
    assert len(levels["CPU"]) == int(cpus) and len(levels["THREAD"]) == sum(threads)
    assert len(levels["APPL"]) == len(threads)
    before, busy = 0, {}
    for line in lines[1:]:
        kind, *fields = line.split(":")
        numbers = list(map(int, fields))
        cpu, application, task, thread, begin = numbers[:5]
        assert 1 <= cpu <= int(cpus) and 1 <= application <= len(threads) and task == 1, line
        assert 1 <= thread <= threads[application - 1] and begin >= before, line
        before = begin
        if kind == "1":
            assert len(numbers) == 7 and begin < numbers[5] <= int(end), line
            assert fields[6] in states and begin >= busy.get(cpu, 0) - 1, line
            busy[cpu] = numbers[5]
        else:
            assert kind == "2" and len(numbers) == 7 and begin <= int(end), line
            values = types[fields[5]]
            assert not values or fields[6] in values, line
    return [line for line in lines if line.startswith("1:")]


def main():
    need("simulator/coschedsim")
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as folder:
        scrap, file = os.path.join(folder, "scrap.json"), os.path.join(folder, "t.json")
        subprocess.run([os.path.join(BUILD, "simulator", "coschedsim"), "run", "--machine",
                        os.path.join(SOURCE, "machines", "amd-opteron-6380-2x4.json"),
                        "--policy", "corun", "--trace", file, SCENARIO], check=True,
                       stdout=subprocess.DEVNULL)
        with open(file, encoding="utf-8") as text:
            trace = json.load(text)
        events = check_chrome(trace)
        target = os.path.join(folder, "t.prv")
        subprocess.run([COSCHEDPLOT, file, "--paraver", target], check=True)
        texts = []
        for suffix in "prv", "pcf", "row":
            with open(target[:-3] + suffix, encoding="utf-8") as text:
                texts.append(text.read())
        ran = check_paraver(*texts)
        held = sum(e["dur"] for e in events if e["ph"] == "X" and e["pid"] == 1)
        mine = sum(int(r.split(":")[6]) - int(r.split(":")[5]) for r in ran)
        assert abs(mine / 1e3 - held) < 1e-3 * held + 1, (mine, held)
        # Bad input: nothing, and no trace.
        empty = paraver.Trace({"traceEvents": []})
        check_paraver(empty.prv((2026, 1, 2, 3, 4, 5, 6, 7, 0)), empty.pcf(), empty.row())
        for bad in "[]", '{"traceEvents": [{"ph": "X"}]}', '{"traceEvents": 1}':
            with open(scrap, "w", encoding="utf-8") as out:
                out.write(bad)
            for arguments in ([scrap, "--paraver", target], [file, "--paraver", "/nowhere/x.prv"]):
                done = subprocess.run([COSCHEDPLOT, *arguments], stderr=subprocess.PIPE, text=True,
                                      check=False)
                assert done.returncode == 1 and done.stderr.startswith("coschedplot: "), done
        assert subprocess.run([COSCHEDPLOT, file, "--paraver", "x"], check=False,
                              stderr=subprocess.DEVNULL).returncode == 2


if __name__ == "__main__":
    main()
