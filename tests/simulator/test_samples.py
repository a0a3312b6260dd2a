#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedsim samples and coschedmodel train: what is learnt from simulated regions.

Each program is predicted by what was learnt from the others; the network must be better than
the linear model.
"""

import json
import os
import subprocess
import tempfile

SOURCE = os.environ["abs_top_srcdir"]
BUILD = os.environ["abs_top_builddir"]
ENVIRONMENT = {**os.environ, "COSCHED_MACHINES": os.path.join(SOURCE, "machines")}


def program(name, *words, **more):
    directory = {"coschedsim": "simulator"}.get(name, name)
    done = subprocess.run([os.path.join(BUILD, directory, name), *words],
                          input=more.get("text"), capture_output=True, text=True,
                          env=ENVIRONMENT)
    assert done.returncode == more.get("status", 0), (words, done.returncode, done.stderr)
    return done.stderr if more.get("status") else done.stdout


def samples(machine, *words):
    return program("coschedsim", "samples", "--machine", machine, *words,
                   os.path.join(SOURCE, "simulator", "scenarios", "all-programs.json"))


def check_samples(text):
    parsed = json.loads(text)
    assert {s["program"] for s in parsed["samples"]} == \
        {"BT", "FT", "SP", "EP", "KM", "SC", "BS", "LR", "PR", "SVM"}
    for sample in parsed["samples"]:
        assert len(sample["time_s"]) == len(sample["energy_j"]) == 8
        assert len(sample["threads"]) == 2  # LLC domains
        # More cores are never much slower, and a region never speeds up by more than cores.
        assert 0.95 < sample["time_s"][0] / sample["time_s"][-1] <= 8.001
        if sample["program"] == "EP":
            assert sample["time_s"][0] / sample["time_s"][-1] > 7
            assert sample["threads"][0][1] + sample["threads"][0][2] < 1e-4
    assert text == samples("amd-opteron-6380-2x4"), "not the same twice"
    assert text != samples("amd-opteron-6380-2x4", "--noise", "0.02")


def check_training(text):
    printed = program("coschedmodel", "train", "--rounds", "200", text=text)
    weights = json.loads(printed)
    rows = {(r["program"], r["predictor"]): r for r in weights["training"]["left_out"]}
    linear, network = rows["all", "linear"], rows["all", "network"]
    for error in "time_error", "edp_error":
        assert network[error] < linear[error], (error, network, linear)
    # What was measured to be worse is not kept.
    for row in rows.values():
        for gain in "time_gain", "edp_gain", "flops_per_watt_gain":
            assert row[gain] >= 0, row
    assert network["edp_gain"] > 0
    assert weights["machine"]["power"]["core_w"] == 5
    assert printed == program("coschedmodel", "train", "--rounds", "200", text=text)
    return printed


def run(machine, scenario, policy, *words, **more):
    out = program("coschedsim", "run", "--machine", machine, "--json", "--policy", policy, *words,
                  scenario, **more)
    return out if more.get("status") else json.loads(out)[0]


def check_use(weights):
    """A job that memory limits gets the cores that are of use to it, under every policy."""
    with tempfile.TemporaryDirectory() as directory:
        file, scenario, machine = (os.path.join(directory, name)
                                   for name in ("w.json", "s.json", "m.json"))
        with open(os.path.join(SOURCE, "machines", "amd-opteron-6380-2x4.json"),
                  encoding="utf-8") as source, open(machine, "w", encoding="utf-8") as out:
            described = json.load(source)
            del described["power"]  # so that nothing else can say what saves energy
            json.dump(described, out)
        region = {"work_s": 30, "read_per_us": 150, "llc_per_us": 160}
        with open(scenario, "w", encoding="ascii") as out:
            json.dump({"scenarios": [{"name": "one", "jobs": [
                {"name": "a", "phases": [{"regions": [region]}]}]}]}, out)
        with open(file, "w", encoding="ascii") as out:
            out.write(weights)
        for policy in "equal", "nupoco", "corun", "greedy":
            ran = {kind: run(machine, scenario, f"{policy}:cost:energy;concurrency:{kind}",
                             "--weights", file) for kind in ("off", "linear", "ann")}
            share = {kind: r["jobs"][0]["core_s"] / r["makespan_s"] for kind, r in ran.items()}
            assert share["off"] > 7.5, share
            assert 1 <= share["ann"] < 7, share
            assert ran["ann"]["makespan_s"] < 1.4 * ran["off"]["makespan_s"], ran
        for old, new, said in (
                ('"scale": [', '"scale": [0, ', "scale"),
                ('"network": [', '"network": ["x", ', "network"),
                ('"machine"', '"machin"', "machin")):
            with open(file, "w", encoding="ascii") as out:
                out.write(weights.replace(old, new, 1))
            error = run(machine, scenario, "equal", "--weights", file, status=1)
            assert said in error, (old, error)
        with open(file, "w", encoding="ascii") as out:
            out.write(weights)
        error = program("coschedsim", "run", "--machine", "uma-1x8", "--weights", file, scenario,
                        status=1)
        assert "w.json: machine: is another one: 8 cores, 2 NUMA nodes" in error, error


def check_cost():
    """Cores stay idle where they cost more than they give, and while a budget is exceeded."""
    machine = "amd-opteron-6380-2x4"  # 50 W idle, 10 W a LLC domain, 5 W a core that computes
    with tempfile.TemporaryDirectory() as directory:
        scenario = os.path.join(directory, "s.json")
        for read_per_us in 150, 0.001:
            with open(scenario, "w", encoding="ascii") as out:
                region = {"work_s": 30, "read_per_us": read_per_us, "llc_per_us": read_per_us}
                json.dump({"scenarios": [{"name": "one", "jobs": [
                    {"name": "a", "phases": [{"regions": [region]}]}]}]}, out)
            for policy in "equal", "nupoco", "corun", "greedy":
                ran = {option: run(machine, scenario, f"{policy}:{option}")
                       for option in ("cost:time", "cost:energy", "power:75", "power:1000")}
                share = {option: r["jobs"][0]["core_s"] / r["makespan_s"]
                         for option, r in ran.items()}
                assert share["cost:time"] > 7.5 and share["power:1000"] > 7.5, (policy, share)
                # One domain and three cores draw 75 W, and no decision takes away more.
                assert 2.9 < share["power:75"] < 3.1, (policy, share)
                if read_per_us < 1:  # each core is worth its power
                    assert share["cost:energy"] > 7.5, (policy, share)
                else:
                    assert share["cost:energy"] < 5, (policy, share)
                    assert ran["cost:energy"]["makespan_s"] < 1.3 * \
                        ran["cost:time"]["makespan_s"], policy


def check_refusals():
    error = program("coschedsim", "samples", "--machine", "uma-1x8",
                    os.path.join(SOURCE, "simulator", "scenarios", "all-programs.json"), status=1)
    assert "uma-1x8: power: is missing" in error, error


if __name__ == "__main__":
    made = samples("amd-opteron-6380-2x4")
    check_samples(made)
    check_use(check_training(made))
    check_cost()
    check_refusals()
