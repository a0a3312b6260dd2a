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


def check_refusals():
    error = program("coschedsim", "samples", "--machine", "uma-1x8",
                    os.path.join(SOURCE, "simulator", "scenarios", "all-programs.json"), status=1)
    assert "uma-1x8: power: is missing" in error, error


if __name__ == "__main__":
    made = samples("amd-opteron-6380-2x4")
    check_samples(made)
    check_training(made)
    check_refusals()
