# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Results from what --json wrote, to say again what they say."""

import os

from evaluation import EvaluationError, mixes, modes, run, verdict

SIMPLE = ("native", "passive", "batch", "equal", "weights")     # and split-*; others are policies


def _mode(name, entry):
    simple = name in SIMPLE or name.startswith("split-")
    return modes.Mode(name, entry["text"], policy=None if simple else name,
                      in_turn=name == "batch")


def _run(mix, mode, entry):
    one = run.Run(mix, mode)
    one.turnaround, one.cpu_s = entry["turnaround_s"], entry["cpu_s"]
    one.agent_s = entry["agent_cpu_s"]
    return one


def _result(entry):
    mix = mixes.Mix([mixes.Job(os.path.basename(job[0]), job) for job in entry["jobs"]])
    result = verdict.Result(mix, [_mode(name, one) for name, one in entry["modes"].items()])
    result.disturbed = entry["disturbed"]
    for mode in result.modes:   # one that failed in a round was not run after that
        for number, one in enumerate(entry["modes"][mode.name].get("runs", [])):
            if number == len(result.rounds):
                result.rounds.append({})
            result.rounds[number][mode.name] = _run(mix, mode, one)
    return result


def results(data):
    """Those of DATA, the decoded file, that were measured."""
    if not isinstance(data, dict) or data.get("format") != "coschedeval/1":
        raise EvaluationError("not written by coschedeval --json")
    found = [_result(entry) for entry in data["mixes"]]
    return [result for result in found if result.measured("native")]
