#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Recording a node and deciding again from the recording: with work alone, and
with counters that the test itself wrote; and recordings that are none."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from fakes import Agent, BUILD, fake, need, pinned, wait_for

CORES = 8
SECONDS = 600  # of scripted counters


def machine():
    return {"cpus": CORES, "llc_domains": 1, "numa_nodes": 1, "packages": 1}


def script(directory, metrics, cpu):
    """A recording of nothing but counters: each CPU counts CPU in 50 ms."""
    os.mkdir(directory)
    with open(os.path.join(directory, "record.jsonl"), "w",
              encoding="ascii") as out:
        for line in ({"type": "begin", "version": 1, "machine": machine(),
                      "metrics": metrics},
                     *({"type": "sample", "ns": 50000000, "coverage": 1,
                        "cpu": {str(c): cpu for c in range(CORES)}}
                       for _ in range(SECONDS * 20))):
            out.write(json.dumps(line) + "\n")
    return directory


def replay(directory, *arguments):
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith("HWLOC_")}
    return subprocess.run(
        [os.path.join(BUILD, "coschedd"), f"--replay={directory}", *arguments],
        capture_output=True, text=True, check=False, env=environment)


def lines(directory):
    with open(os.path.join(directory, "record.jsonl"), encoding="ascii") as f:
        return [json.loads(line) for line in f]


def samples(directory):
    with open(os.path.join(directory, "record.jsonl"), encoding="ascii") as f:
        return f.read().count('"sample"')


def write(directory, recorded):
    with open(os.path.join(directory, "record.jsonl"), "w",
              encoding="ascii") as out:
        out.writelines(json.dumps(line) + "\n" for line in recorded)


def known(agent, job):
    region = agent.job(job)["region"]
    return region and region["state"] == "known"


def record_node(agent, directory):
    """Two jobs that come and go while DIRECTORY is recorded."""
    cores = f"0-{CORES - 1}"
    with fake(agent, 1, "rate=1e6", cores=cores):
        wait_for("attach", lambda: agent.attached(1))
        reply = agent.call({"op": "record", "dir": directory})
        assert reply["ok"], reply
        assert agent.call({"op": "counters"})["recording"] == directory
        with fake(agent, 2, "rate=1e6", "rho=2", cores=cores):
            wait_for("profiles", lambda: known(agent, 1) and known(agent, 2))
            # One interval makes a profile; some are for statistics.
            seen = samples(directory)
            wait_for("samples", lambda: samples(directory) > seen + 6)
        wait_for("one job", lambda: agent.job(1)["cores"] == CORES)
    wait_for("no job", lambda: agent.job(1)["cores"] == 0)
    again = agent.call({"op": "record", "dir": directory + "2"})
    assert not again["ok"] and "already" in again["error"], again
    reply = agent.call({"op": "record", "dir": ""})
    assert reply["ok"] and reply["dir"] == directory, reply
    reply = agent.call({"op": "record", "dir": ""})
    assert not reply["ok"], reply


def same_decisions(directory):
    result = replay(directory)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith(" 0 of them differ\n"), result.stdout
    decisions = [l for l in lines(directory) if l["type"] == "decision"]
    assert len(decisions) >= 3, decisions
    assert f" {len(decisions)} decisions" in result.stdout, result.stdout


def check_work(work):
    """Profiles from work at two numbers of cores."""
    directory = os.path.join(work, "work")
    with Agent("--counters=progress") as agent:
        record_node(agent, directory)
        refused = agent.call({"op": "record", "dir": directory})
        assert not refused["ok"] and "exists" in refused["error"], refused
        refused = agent.call({"op": "record", "dir": "somewhere"})
        assert not refused["ok"] and "somewhere" in refused["error"], refused
    same_decisions(directory)
    return directory


def check_requests(directory):
    """coschedctl requests finds the jobs' regions and their misses in it."""
    done = subprocess.run(
        [os.path.join(BUILD, "coschedctl"), "requests", directory],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    assert found["metric"] == "read-misses", found
    for region in found["regions"]:
        cores = int(region["region"].split(" on ")[1].split()[0])
        counts, = region["counts"]
        if len(counts) < 2:
            continue
        # 1e5 per CPU in 50 ms.
        expected = 1e5 * cores * region["interval_us"] / 50e3
        assert abs(sum(counts) / len(counts) / expected - 1) < 0.5, (region, expected)
    jobs = {s["region"].split(" region ")[0] for s in found["regions"]}
    assert jobs == {"job 1", "job 2"}, found


def check_counters(work):
    """Profiles from counters: stalled half of the time, one number of cores is
    enough.  The recording of a replay replays."""
    cpu = [1e8, 5e7, 1e8, 1e6, 1e5, None, None]
    counters = script(os.path.join(work, "script"),
                      ["cycles", "stalled", "instructions", "llc-accesses",
                       "read-misses"], cpu)
    directory = os.path.join(work, "counters")
    with Agent(f"--counters=replay:{counters}") as agent:
        assert agent.status()["counters"] == "replay"
        record_node(agent, directory)
        assert "known from counters" in agent.log_text()
    assert any("cpu" in l for l in lines(directory) if l["type"] == "sample")
    same_decisions(directory)
    check_requests(directory)
    # Other counters, other decisions: what is replayed matters.
    changed = lines(directory)
    for line in changed:
        for values in line.get("cpu", {}).values():
            values[1] = 0
    other = os.path.join(work, "changed")
    shutil.copytree(directory, other)
    write(other, changed)
    rhos = [replay(d, "--log-level=debug").stdout for d in (directory, other)]
    assert rhos[0] != rhos[1]


def has_profile(job, seen):
    if job["region"] and job["region"]["state"] == "known":
        seen.append(job)
    return seen


def is_pinned(job, seen):
    if job["state"] == "pinned":
        seen.append(job)
    return seen


def check_pinned(work):
    """Who never attaches reports no work; counters tell what it does."""
    counters = os.path.join(work, "script")
    slot = f"0-{CORES - 1}"
    with Agent(f"--counters=replay:{counters}", "--set",
               "attach_timeout=2s") as agent:
        with pinned(agent, 1, cores=slot), fake(agent, 2, cores=slot):
            seen = []
            wait_for("profile", lambda: has_profile(agent.job(1), seen))
            job = seen[0]
            assert job["state"] == "pinned", job
            assert job["region"]["region"] == "short", job
            # Half of the time stalled on one core is rho = 1, on more less.
            assert 0.05 < job["region"]["rho"] < 1.01, job
    with Agent("--counters=progress", "--set", "attach_timeout=2s") as agent:
        with pinned(agent, 1, cores=slot):
            seen = []
            wait_for("pinned", lambda: is_pinned(agent.job(1), seen))
            assert seen[0]["region"] is None, seen


def check_differences(work, recorded):
    """A decision that was made otherwise is found; so is another policy's."""
    directory = os.path.join(work, "other")
    shutil.copytree(recorded, directory)
    changed = lines(directory)
    decision = next(l for l in changed if l["type"] == "decision"
                    and len(l["jobs"]) == 2)
    decision["jobs"][0]["gets"], decision["jobs"][1]["gets"] = (
        decision["jobs"][1]["gets"], decision["jobs"][0]["gets"])
    write(directory, changed)
    result = replay(directory)
    assert result.returncode == 1, result
    assert " 1 of them differ" in result.stdout, result.stdout
    assert ", now " in result.stdout, result.stdout
    result = replay(recorded, "--policy=equal")
    assert result.returncode in (0, 1), result
    result = replay(recorded, "--log-level=debug")
    assert result.returncode == 0 and "same: " in result.stdout, result.stdout


def refuse(directory, text):
    result = replay(directory)
    assert result.returncode == 2, result
    assert text in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1, result.stderr


def mutate(path, good, directory):
    """Whatever stands there, the answer is one of three."""
    dice = random.Random(6)
    values = ("null", "-1", "1e300", '"x"', "[]", "{}", "18446744073709551616")
    numbers = [m.span() for m in re.finditer(r"(?<=[:,\[])[0-9.]+", good)]
    for _ in range(40):
        begin, end = dice.choice(numbers)
        with open(path, "w", encoding="ascii") as f:
            f.write(good[:begin] + dice.choice(values) + good[end:])
        result = replay(directory)
        assert result.returncode in (0, 1, 2), result


def check_bad(work, recorded):
    directory = os.path.join(work, "bad")
    refuse(directory, "No such file")
    shutil.copytree(recorded, directory)
    path = os.path.join(directory, "record.jsonl")
    with open(path, encoding="ascii") as f:
        good = f.read()
    for text, error in (
            ("", "not a recording"),
            ("{}\n", "has no type"),
            ('{"type": "end"}\n', "not a recording"),
            ("no JSON\n", ":1: "),
            (good.replace('"version":1', '"version":99', 1), "version 99"),
            (good.replace('"llc_domains":1', '"llc_domains":7', 1), "machine"),
            (good + '{"type": "sample", "ns": -1}\n', "ns: "),
            (good + '{"type": "sample", "ns": 1, "cpu": {"99": []}}\n',
             "cpu: "),
            (good + '{"type": "decision", "jobs": []}\n', "jobs: none"),
            (good + '{"type": "decision", "jobs": [{"job": 0}]}\n', "job: "),
            (good + '{"type": "decision", "jobs": [{"job": 1, "run": "x"}]}\n',
             "job 1: run: "),
            (good.replace('"had":"', '"had":"x', 1), "had: ")):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        refuse(directory, error)
    mutate(path, good, directory)
    # Cut off in the middle of a line: good up to there.
    with open(path, "w", encoding="ascii") as f:
        f.write(good[:len(good) * 2 // 3])
    assert replay(directory).returncode == 0
    os.unlink(os.path.join(directory, "topology.xml"))
    refuse(directory, "topology.xml")


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    os.environ["HWLOC_SYNTHETIC"] = f"pack:1 core:{CORES} pu:1"
    work = tempfile.mkdtemp(prefix="cosched-test.")
    try:
        recorded = check_work(work)
        check_counters(work)
        check_pinned(work)
        check_differences(work, recorded)
        check_bad(work, recorded)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
