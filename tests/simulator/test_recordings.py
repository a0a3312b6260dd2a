#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Simulator and agent are the same scheduler: coschedd decides as a simulated
node did that saw the same, and the simulator takes recordings of both."""

import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ["abs_top_srcdir"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from fakes import Agent, BUILD, fake, need, wait_for

COSCHEDSIM = os.path.join(BUILD, "simulator", "coschedsim")
CORES = 8


def simulate(*words, status=0):
    done = subprocess.run(
        [COSCHEDSIM, *words], capture_output=True, text=True, check=False,
        env={**os.environ, "COSCHED_MACHINES": os.path.join(SOURCE,
                                                            "machines")})
    assert done.returncode == status, (words, done)
    return done.stdout if status == 0 else done.stderr


def results(*words):
    return {one["policy"]: one for one in json.loads(simulate(*words,
                                                              "--json"))}


def decide_again(directory):
    """What coschedd says to the recording."""
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith("HWLOC_")}
    return subprocess.run([os.path.join(BUILD, "coschedd"),
                           f"--replay={directory}"], capture_output=True,
                          text=True, check=False, env=environment)


def decisions(directory):
    with open(os.path.join(directory, "record.jsonl"), encoding="ascii") as f:
        recorded = [json.loads(line) for line in f]
    return recorded, [l for l in recorded if l["type"] == "decision"]


def two_jobs(work, size):
    """A scenario, with SIZE times as much work as uma-1x8 likes."""
    file = os.path.join(work, f"two-{size}.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"name": "two", "jobs": [
            {"name": "cpu", "phases": [{"repeat": 3, "regions": [
                {"name": "init", "kind": "serial", "work_s": 1},
                {"name": "c", "work_s": 30 * size, "object": "cpu"}]}]},
            {"name": "mem", "arrival_s": 3, "phases": [{"regions": [
                {"name": "m", "work_s": 30 * size, "object": "mem",
                 "read_per_us": 40, "write_per_us": 10,
                 "llc_per_us": 80}]}]}]}, out)
    return file


def check_same(work, policy, counters):
    """A simulated node records; coschedd decides the same from that."""
    directory = os.path.join(work, f"{policy}-{counters}")
    simulate("run", two_jobs(work, 20), "--machine", "intel-e7-8870v3-4x18",
             "--policy", policy,
             "--counters", counters, "--record", directory)
    again = decide_again(directory)
    recorded, made = decisions(directory)
    # Static loops give each thread a part; where progress is reported iterations are handed out.
    told = [job["threads"] for job in made[-1]["jobs"]]
    assert (max(told) > 1) == (counters == "virtual"), told
    assert again.returncode == 0, again
    assert again.stdout.endswith(" 0 of them differ\n"), again.stdout
    assert len(made) > 10 and f" {len(made)} decisions" in again.stdout
    # It is no test if coschedd would say so of anything.
    moved = next(d for d in made if len(d["jobs"]) == 2 and
                 d["jobs"][0]["gets"] != d["jobs"][1]["gets"])
    moved["jobs"][0]["gets"], moved["jobs"][1]["gets"] = (
        moved["jobs"][1]["gets"], moved["jobs"][0]["gets"])
    with open(os.path.join(directory, "record.jsonl"), "w",
              encoding="ascii") as out:
        out.writelines(json.dumps(line) + "\n" for line in recorded)
    assert " 1 of them differ" in decide_again(directory).stdout


def check_what_if(work):
    """Two jobs of a simulated node, from their recording: the same policy takes
    about as long, and the machine is in the recording."""
    directory = os.path.join(work, "what-if")
    first = results("run", two_jobs(work, 1), "--machine", "uma-1x8", "--policy", "equal",
                    "--record", directory)["equal"]
    again = results("replay", directory, "--policy", "equal,batch,native")
    assert abs(again["equal"]["makespan_s"] / first["makespan_s"] - 1) < 0.1
    cpu, mem = again["equal"]["jobs"]
    assert [cpu["name"], mem["name"]] == ["job 1", "job 2"]
    assert abs(cpu["work_s"] - 93) < 5 and abs(mem["work_s"] - 30) < 4, again
    assert abs(mem["arrival_s"] - 3) < 0.2
    assert len(again["equal"]["controller_util"]) == 1
    assert abs(again["equal"]["controller_util"][0] -
               first["controller_util"][0]) < 0.1
    assert again["batch"]["makespan_s"] > 0
    assert "under equal" in simulate("replay", directory).splitlines()[0]
    # On another machine, if that is asked for.
    other = results("replay", directory, "--policy", "equal", "--machine",
                    "amd-opteron-6380-8x8")["equal"]
    assert len(other["controller_util"]) == 8
    assert other["makespan_s"] < again["equal"]["makespan_s"] / 2


def check_waiting(work, counters, size, sync, policies=("native", "equal")):
    """A program that meets at many barriers waits under time sharing in the replay as it did,
    and spinning at them is not its work.  On four cores nobody ends with an epoch, as the epoch in
    which a job ends is not recorded."""
    file = os.path.join(work, "waiting.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"name": "waiting", "jobs": [
            {"name": "often", "phases": [{"repeat": size, "regions": [
                {"name": "o", "work_s": 1.22, "object": "often", "barriers": 200,
                 "sync_share": sync}]}]},
            {"name": "once", "phases": [{"regions": [
                {"name": "c", "work_s": 1.22 * size, "object": "once"}]}]}]}, out)
    directory = os.path.join(work, f"waiting-{counters}-{size}-{sync}")
    words = ("--machine", "uma-1x8", "--policy")
    simulate("run", file, *words, "equal", "--counters", counters, "--record", directory)
    first = results("run", file, *words, "native,equal")
    again = results("replay", directory, "--policy", "native,equal")
    assert first["native"]["makespan_s"] > 1.2 * first["equal"]["makespan_s"], first
    assert again["native"]["makespan_s"] > 1.1 * again["equal"]["makespan_s"], again
    for policy in policies:
        one = first[policy]
        error = again[policy]["makespan_s"] / one["makespan_s"] - 1
        assert abs(error) < 0.1, (policy, error)


def check_local(work):
    """Data of a region's own threads is near them in the replay, too."""
    file = os.path.join(work, "local.json")
    took = {}
    for placement in "local", "interleaved":
        with open(file, "w", encoding="utf-8") as out:
            json.dump({"name": "near", "jobs": [{"name": "near", "phases": [{"regions": [
                {"name": "n", "work_s": 200, "object": "near", "read_per_us": 40,
                 "placement": placement}]}]}]}, out)
        directory = os.path.join(work, placement)
        words = "--machine", "amd-opteron-6380-8x8", "--policy", "equal"
        took[placement] = results("run", file, *words, "--record", directory)["equal"]["makespan_s"]
        again = results("replay", directory, "--policy", "equal")["equal"]["makespan_s"]
        assert abs(again / took[placement] - 1) < 0.05, (placement, again, took)
    assert took["local"] < 0.9 * took["interleaved"], took


def known(agent, job):
    region = agent.job(job)["region"]
    return region and region["state"] == "known"


def check_real(work):
    """What a real coschedd recorded of two jobs is simulated."""
    directory = os.path.join(work, "real")
    cores = f"0-{CORES - 1}"
    with Agent("--counters=progress") as agent:
        with fake(agent, 1, "rate=1e6", cores=cores):
            wait_for("attach", lambda: agent.attached(1))
            reply = agent.call({"op": "record", "dir": directory})
            assert reply["ok"], reply
            with fake(agent, 2, "rate=1e6", "rho=2", cores=cores):
                wait_for("profiles", lambda: known(agent, 1) and
                         known(agent, 2), 180)
        agent.call({"op": "record", "dir": ""})
    assert decide_again(directory).returncode == 0
    again = results("replay", directory, "--policy", "equal,nupoco,corun")
    recorded_s = sum(l.get("ns", 0) for l in decisions(directory)[0]) * 1e-9
    for one in again.values():
        assert {"job 1", "job 2"} == {j["name"] for j in one["jobs"]}, one
        assert 0 < one["makespan_s"] < 3 * recorded_s + 1, (one, recorded_s)


def check_loans(work):
    """Who lent its cores in a serial stretch has them back in the replay, too."""
    file, directory = os.path.join(work, "loans.json"), os.path.join(work, "loans")

    def lends(name, repeat, serial, parallel, reads):
        return {"name": name, "phases": [{"repeat": repeat, "regions": [
            {"name": "s", "kind": "serial", "work_s": serial},
            {"name": "c", "work_s": parallel, "read_per_us": reads, "placement": "local"}]}]}
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"name": "loans", "jobs": [
            lends("a", 4, 0.4, 4, 10), lends("b", 5, 0.1, 11, 20),
            {"name": "c", "phases": [{"regions": [
                {"name": "m", "work_s": 70, "read_per_us": 20, "placement": "local"}]}]}]}, out)
    simulate("run", file, "--machine", "amd-opteron-6380-4x4", "--policy", "corun",
             "--record", directory)
    _, made = decisions(directory)
    assert any(job.get("loan") for one in made for job in one["jobs"]), made
    again = decide_again(directory)
    assert again.returncode == 0 and ", 0 of them differ" in again.stdout, again


def check_old():
    """A recording of version 0.1, whose members have other names."""
    directory = os.path.join(SOURCE, "tests/simulator/recording-0.1")
    again = decide_again(directory)
    # But for one: now a job that is alone keeps its cores while it is serial.
    assert "\n  job 1: CPUs 0, now 0-7\n" in again.stdout, again
    assert again.stdout.endswith(" 9 decisions, 1 of them differ\n"), again
    one = results("replay", directory, "--policy", "equal")["equal"]
    assert [j["name"] for j in one["jobs"]] == ["job 1", "job 2"], one
    assert 0.8 < one["makespan_s"] < 1.2, one # it was 1.00


def check_refusals(work):
    empty = os.path.join(work, "empty")
    os.mkdir(empty)
    text = simulate("replay", empty, status=1)
    assert "empty" in text and text.count("\n") == 1, text
    with open(os.path.join(empty, "record.jsonl"), "w",
              encoding="ascii") as out:
        out.write('{"type": "begin", "version": 1}\n')
    text = simulate("replay", empty, status=1)
    assert "record.jsonl" in text and text.count("\n") == 1, text
    there = os.path.join(work, "what-if")
    text = simulate("run", two_jobs(work, 1), "--machine",
                    "uma-1x8", "--record", there, status=1)
    assert "exists" in text, text


def main():
    need("coschedd", "tests/node_agent/daemon/fake_job")
    os.environ["HWLOC_SYNTHETIC"] = f"pack:1 core:{CORES} pu:1"
    with tempfile.TemporaryDirectory(prefix="recordings.") as work:
        check_same(work, "nupoco", "virtual")
        check_same(work, "moca", "progress")
        check_same(work, "moca:evaluate:sample", "virtual")
        check_what_if(work)
        check_waiting(work, "virtual", 50, 0.2)
        check_waiting(work, "virtual", 50, 0.6)
        check_waiting(work, "progress", 1, 0.6) # nothing is known of its regions yet
        # The load that explains its speeds has its waiting, but under time sharing another effect.
        check_waiting(work, "progress", 50, 0.6, ["equal"])
        check_local(work)
        check_loans(work)
        check_old()
        check_refusals(work)
        check_real(work)


main()
