#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedctl counters, record and selftest, with an agent and without."""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, BUILD, need

METRICS = {"cycles", "stalled", "instructions", "llc-accesses", "read-misses",
           "locality", "memory-reads", "memory-writes", "prefetches", "traffic",
           "job-traffic", "job-llc", "threads", "energy", "work"}


def ctl(*arguments, status=0, cwd=None):
    run = subprocess.run([os.path.join(BUILD, "coschedctl"), *arguments],
                         capture_output=True, text=True, check=False, cwd=cwd)
    assert run.returncode == status, (arguments, run)
    return run


def check_backends(backends):
    """Whatever this machine can: each says so, or why not."""
    names = [one["name"] for one in backends]
    assert names[-1] != "replay" and "perf" in names, names
    assert names.index("perf") < names.index("progress"), names
    for one in backends:
        if one["opens"]:
            assert set(one["metrics"]) == METRICS, one
            assert all(m["why"] for m in one["metrics"].values()), one
        else:
            assert one["error"] and one["metrics"] is None, one
    progress = next(one for one in backends if one["name"] == "progress")
    assert progress["opens"] and progress["moves"] is None, progress
    assert progress["metrics"]["work"]["can"], progress


def without_agent(directory):
    socket = ("--socket", os.path.join(directory, "nobody"))
    seen = json.loads(ctl(*socket, "counters", "--json").stdout)
    assert seen["agent"] is None
    check_backends(seen["backends"])
    assert seen["auto"] in [one["name"] for one in seen["backends"]]
    text = ctl(*socket, "counters").stdout
    assert "There is no agent." in text and "\nprogress: works" in text, text
    assert f"would now choose {seen['auto']}" in text, text
    run = ctl(*socket, "record", "x", status=3)
    assert "nobody" in run.stderr, run
    report = os.path.join(directory, "report.json")
    run = ctl(*socket, "selftest", "--output", report)
    assert "progress: works" in run.stderr and not run.stdout, run
    with open(report, encoding="ascii") as text:
        tested = json.load(text)
    assert tested["version"] == 1 and tested["agent"] is None
    check_backends(tested["backends"])
    assert tested["system"]["machine"]["cpus"] >= os.cpu_count()
    assert tested["system"]["kernel"] == os.uname().release
    assert {"architecture", "cpu_model", "cpu_name", "virtual", "microcode",
            "smt", "cpus_online", "perf_event_paranoid", "nmi_watchdog", "msr",
            "resctrl", "root"} <= set(tested["system"]), tested["system"]
    versions = tested["system"]["versions"]
    assert set(versions) == {"system", "libc", "hwloc", "jansson"}, versions
    assert versions["hwloc"].split(".")[0] == "2", versions
    for one in tested["backends"]: # each a verdict
        assert one["error"] if not one["opens"] else "moves" in one, one
    assert os.uname().nodename not in json.dumps(
        {k: v for k, v in tested.items() if k != "system"})
    run = ctl(*socket, "selftest", "-o", "/nowhere/report", status=1)
    assert "/nowhere/report" in run.stderr, run


def with_agent(directory):
    with Agent("--counters=progress") as agent:
        socket = ("--socket", agent.socket)
        seen = json.loads(ctl(*socket, "counters", "--json").stdout)
        assert seen["agent"]["counters"].startswith("progress"), seen
        assert seen["agent"]["recording"] is None, seen
        assert set(seen["agent"]["metrics"]) == METRICS, seen
        assert "agent counts with progress" in ctl(*socket, "counters").stdout
        # A relative path is the caller's, not the agent's.
        recording = os.path.join(directory, "r")
        run = ctl(*socket, "record", "r", cwd=directory)
        assert recording in run.stdout, run
        seen = json.loads(ctl(*socket, "counters", "--json").stdout)
        assert seen["agent"]["recording"] == recording, seen
        run = ctl(*socket, "record", "other", cwd=directory, status=1)
        assert "already recording" in run.stderr, run
        run = ctl(*socket, "record", "--stop")
        assert recording in run.stdout, run
        run = ctl(*socket, "record", "--stop", status=1)
        assert "nothing is being recorded" in run.stderr, run
        run = ctl(*socket, "record", "r", cwd=directory, status=1)
        assert "record.jsonl" in run.stderr, run
    with open(os.path.join(directory, "r", "record.jsonl"),
              encoding="ascii") as text:
        types = [json.loads(line)["type"] for line in text]
    assert types[0] == "begin" and types[-1] == "end", types


def bad_usage():
    for arguments, error in ((("record",), "needs a directory or --stop"),
                             (("record", "a", "--stop"), "or --stop"),
                             (("record", "a", "b"), "b: one argument"),
                             (("record", "--json"), "--json: not for this"),
                             (("counters", "x"), "x: one argument"),
                             (("status", "--stop"), "--stop: not for this"),
                             (("record", "x" * 2000), "longer than")):
        run = ctl(*arguments, status=2)
        assert error in run.stderr, (arguments, run.stderr)


def main():
    need("coschedd", "coschedctl")
    bad_usage()
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as directory:
        without_agent(directory)
        with_agent(directory)


if __name__ == "__main__":
    main()
