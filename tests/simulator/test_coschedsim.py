#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedsim: its commands, and what they refuse."""

import csv
import io
import json
import os
import re
import subprocess
import tempfile

SOURCE = os.environ["abs_top_srcdir"]
PROGRAM = os.path.join(os.environ["abs_top_builddir"], "simulator",
                       "coschedsim")
MACHINES = os.path.join(SOURCE, "machines")

SCENARIO = {"name": "two", "jobs": [
    {"name": "cpu", "phases": [{"repeat": 2, "regions": [
        {"name": "init", "kind": "serial", "work_s": 0.5},
        {"name": "c", "work_s": 12}]}]},
    {"name": "mem", "arrival_s": 1, "phases": [{"regions": [
        {"name": "m", "work_s": 8, "read_per_us": 200,
         "llc_per_us": 800}]}]}]}

def drawn(data):
    """The picture that coschedplot makes of DATA."""
    return subprocess.run([os.path.join(SOURCE, "plot", "coschedplot")],
                          input=json.dumps(data), check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def call(*words, status=0):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True,
                          check=False,
                          env={**os.environ, "COSCHED_MACHINES": MACHINES})
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


def results(*words):
    """What --json says, without the real times."""
    out = json.loads(call(*words, "--json"))
    for one in out:
        assert one.pop("decide_us")["mean"] >= 0
    return out


def check_fairness_ends():
    """One core more for the worst off made a third job the worst off, and so on for ever."""
    (one,) = results("run", "--policy", "moca", "--scenario", "bt-sp-pr",
                     "--machine", "amd-opteron-6380-8x8",
                     os.path.join(SOURCE, "simulator", "scenarios", "moca.json"))
    assert one["makespan_s"] > 0, one


def check_sampling(directory):
    """moca's sampling runs end with a division, not far from the model's, and measure what the
    node really does."""
    for scenario in ("02-bt-sp", "05-bt-ft-ep", "10-sp-km"):
        text = call("run", "--scenario", scenario, "--machine", "amd-opteron-6380-8x8",
                    os.path.join(SOURCE, "simulator", "scenarios", "nupoco.json"),
                    "--policy", "moca,moca:evaluate:sample", "--explain")
        model, sample = map(float, re.findall(" under moca.*: makespan ([0-9.]+) s", text))
        assert 0.8 < sample / model < 1.25, text
        before, after = text.split(" under moca:evaluate:sample: ")
        assert "tried out" not in before, before
        first = after.index("an allocation is tried out, 1 have been")
        assert first < after.index("best of 12 allocations tried out"), after
    file = os.path.join(directory, "alike.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"name": "alike", "jobs": [{"name": name, "phases": [{"regions": [
            {"name": name, "work_s": 60, "read_per_us": 20, "llc_per_us": 80}]}]}
            for name in "ab"]}, out)
    words = ("run", file, "--machine", "uma-1x8", "--policy", "moca:evaluate:sample")
    cores, controllers = map(float, re.search(
        "tried out: cores used ([0-9.]+), controllers ([0-9.]+)",
        call(*words, "--explain")).groups())
    (one,) = results(*words)
    assert abs(cores - one["compute_util"]) < 0.02, (cores, one)
    assert abs(controllers - one["controller_util"][0]) < 0.02, (controllers, one)


def check_caches(directory):
    """What a job's threads take of each other's cache shows in 50 ms on half of its cores."""
    file = os.path.join(directory, "caches.json")
    ends = []
    for power in (0, 0.8):
        with open(file, "w", encoding="utf-8") as out:
            json.dump({"name": "caches", "jobs": [
                {"name": "cpu", "phases": [{"regions": [{"name": "c", "work_s": 160}]}]},
                {"name": "cache", "phases": [{"regions": [
                    {"name": "m", "work_s": 70, "read_per_us": 40, "llc_per_us": 100,
                     "llc_power": power}]}]}]}, out)
        words = ("run", file, "--machine", "amd-opteron-6380-4x4")
        text = call(*words, "--policy", "corun", "--explain")
        decisions = re.findall(r"^ +([0-9.]+) s, [^:]*: (.*)$", text, re.M)
        probes = [i for i, (_, why) in enumerate(decisions) if "half of its cores" in why]
        assert 0 < len(probes) < 5, text
        for i in probes:
            assert re.match("job 2 gets [46] cores for 50 ms", decisions[i][1]), text
            assert abs(float(decisions[i + 1][0]) - float(decisions[i][0]) - 0.05) < 0.02, text
            cores = re.search("job 2: ([0-9]+) cores", decisions[i + 1][1]).group(1)
            assert cores == ("4" if power else "8"), text
        ends.append([[job["turnaround_s"] for job in one["jobs"]]
                     for one in results(*words, "--policy", "corun,equal")])
    # Who knows it gives the other job cores that are not missed.
    for corun, equal in zip(*ends[1]):
        assert corun < equal, ends
    assert ends[1][0][0] < 0.8 * ends[1][1][0], ends


def check_latency(directory):
    """Reads that take ten services load memory no more than others: who has seen how long they
    stall knows that it gains nothing to let jobs take turns, and who has not thinks it does."""
    file = os.path.join(directory, "latency.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"name": "latency", "jobs": [
            {"name": "cpu", "phases": [{"regions": [{"name": "c", "work_s": 80}]}]},
            {"name": "far", "phases": [{"regions": [
                {"name": "m", "work_s": 40, "read_per_us": 30, "llc_per_us": 200,
                 "latency": 9}]}]}]}, out)
    text = call("run", file, "--machine", "amd-opteron-6380-4x4", "--policy", "corun", "--explain")
    turns = [float(x) for x in re.findall(r"in turn is predicted to be ([0-9.]+) of", text)]
    assert turns[0] > 1.15 and turns[-1] < 1.05, text


def check_max_cores(directory):
    """A job that may have two cores has two under the kernel, too."""
    file = os.path.join(directory, "bounded.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"name": "bounded", "jobs": [
            {"name": "few", "max_cores": 2,
             "phases": [{"regions": [{"name": "a", "work_s": 8}]}]},
            {"name": "all",
             "phases": [{"regions": [{"name": "a", "work_s": 8}]}]}]}, out)
    for one in results("run", file, "--machine", "uma-1x8", "--policy",
                       "native,equal"):
        few, many = one["jobs"]
        assert abs(few["alone_s"] - 4) < 0.1 and abs(many["alone_s"] - 1) < 0.1
        assert few["turnaround_s"] > 3.9, few
        assert few["busy_s"] < 1.01 * few["core_s"], few


def check_run(file):
    words = ("run", file, "--machine", "uma-1x8", "--policy",
             "equal,nupoco,batch,native")
    out = results(*words, "--seed", "3")
    assert out == results(*words, "--seed", "3")
    assert [one["policy"] for one in out] == ["equal", "nupoco", "batch",
                                              "native"]
    for one in out:
        cpu, mem = one["jobs"]
        # Nobody is faster than 8 cores, and all of the work is done.
        assert cpu["turnaround_s"] >= 1 + 24 / 8
        assert abs(cpu["work_s"] - 25) < 0.01 and abs(mem["work_s"] - 8) < 0.01
        assert mem["alone_s"] <= mem["turnaround_s"] * 1.05
        slower = [j["turnaround_s"] / j["alone_s"] for j in (cpu, mem)]
        assert all(abs(j["slowdown"] - s) < 1e-6 * s
                   for j, s in zip((cpu, mem), slower))
        assert abs(one["worst_slowdown"] - max(slower)) < 1e-6
        assert 0 < one["hmean"] < 1.1
        assert all(0 <= u <= 1 for u in one["controller_util"])
    # Stock runtimes know of no allotment; under native they are stock anyway.
    stock = results(*words, "--seed", "3", "--stock")
    assert stock[0] != out[0] and stock[3] == out[3], (stock, out)
    progress = results(*words, "--counters", "progress")
    assert progress[1]["decisions"] > 2
    text = call("run", file, "--machine", "uma-1x8", "--explain")
    assert "profile of job 2 is unknown" in text and (
        "the makespan in turn is predicted" in text)
    times = [float(t) for t in re.findall(r"^ +([0-9.]+) s, .*: ", text, re.M)]
    assert len(times) > 2 and times == sorted(times) and times[-1] > 1


def check_compare(file):
    out = results("compare", file, "--machine", "uma-1x8")
    ntt = {one["policy"]: one["ntt"] for one in out}
    assert ntt["native"] == 1 and {"equal", "nupoco", "batch"} <= set(ntt)
    text = call("compare", file, "--machine", "uma-1x8", "--policy",
                "native,equal")
    assert text.count("NTT") == 1 and "\n  native " in text, text
    picture = drawn(out)
    assert "two native" in picture and "two equal" in picture


def check_sweep(file):
    out = results("sweep", file, "--machine", "uma-1x8", "--policy",
                  "scalability", "--vary", "epoch=20ms,1s")
    assert [one["varied"]["epoch"] for one in out] == ["20ms", "1s"]
    # It decides in each epoch.
    assert out[0]["decisions"] > out[1]["decisions"]
    one = ("sweep", file, "--machine", "uma-1x8", "--policy", "equal")
    two, eight = results(*one, "--vary", "cores=2..8*4")
    # Both jobs compute 33 s, on as many cores as there are.
    assert eight["makespan_s"] > 33 / 8 and two["makespan_s"] > 33 / 2
    assert (two["varied"]["cores"], eight["varied"]["cores"]) == ("2", "8")
    assert two["makespan_s"] > 2 * eight["makespan_s"]
    counts = results(*one, "--vary", "jobs=1..3/1")
    assert [[j["name"] for j in o["jobs"]] for o in counts] == [
        ["cpu"], ["cpu", "mem"], ["cpu", "mem", "cpu.2"]]
    calm, wild = results(*one, "--vary", "mem.rates=0,2")
    assert calm["controller_util"] == [0] and wild["controller_util"][0] > 0.3
    late = results(*one, "--vary", "arrival=20", "--vary", "cpu.scale=1,2",
                   "--vary", "imbalance=0.5")
    assert [o["varied"]["cpu.scale"] for o in late] == ["1", "2"]
    assert [o["jobs"][0]["work_s"] for o in late] == [25, 50]
    assert [o["jobs"][1]["arrival_s"] for o in late] == [20, 20]
    assert all(o["makespan_s"] > 20 + 8 / 8 for o in late)
    few, many = json.loads(call(
        "sweep", file, "--machine", "uma-1x8", "--policy", "moca", "--vary",
        "moca:generations=1,1000", "--json"))
    assert few["policy"] == many["policy"] == "moca"
    assert few["varied"] == {"moca:generations": "1"}


def check_sweep_output(file):
    words = ("sweep", file, "--machine", "uma-1x8", "--policy", "equal,batch",
             "--vary", "cores=4,8", "--vary", "seed=1,2")
    rows = list(csv.DictReader(io.StringIO(call(*words, "--csv"))))
    assert [(r["policy"], r["cores"], r["seed"]) for r in rows] == [
        (p, c, s) for c in ("4", "8") for s in ("1", "2")
        for p in ("equal", "batch")]
    by_json = results(*words)
    for row, one in zip(rows, by_json):
        assert abs(float(row["makespan_s"]) - one["makespan_s"]) < 1e-5
        assert row["core_count"] == row["cores"]
    picture = drawn(by_json)
    assert "cores" in picture and "batch seed=2" in picture


def check_trace(file, directory):
    trace = os.path.join(directory, "trace.json")
    first = results("run", file, "--machine", "uma-1x8", "--policy", "equal",
                    "--trace", trace, "--explain")[0]
    with open(trace, encoding="utf-8") as text:
        events = json.load(text)["traceEvents"]
    assert {"job 1", "job 2"} <= {e["name"] for e in events}
    assert "mem on CPU 7: 1.0" in drawn([first])
    assert "job 2 on CPU 7: 1.0" in drawn({"traceEvents": events})
    last = {c["job"]: c["cpus"] for c in first["allocation"]}
    assert last == {0: "", 1: ""}, last
    assert all(c["time_s"] <= first["makespan_s"] + 1e-3
               for c in first["allocation"])


def check_refusals(file, directory):
    bad = os.path.join(directory, "bad.json")
    with open(bad, "w", encoding="utf-8") as out:
        out.write('{"name": "x", "jobs": [{"name": "a", "phases": [{"regions":'
                  '\n[{"name": "s", "work_s": -1}]}]}]}')
    machine = ("--machine", "uma-1x8")
    for words, status, text in (
            (("run", bad, *machine), 1, "work_s"),
            (("run", os.path.join(directory, "none.json"), *machine), 1,
             "none.json"),
            (("run", file), 2, "--machine"),
            (("run", *machine), 2, "file of scenarios"),
            (("run", file, "--machine", "nowhere"), 1, "nowhere"),
            (("run", file, *machine, "--policy", "best"), 2, "best"),
            (("run", file, *machine, "--policy", "equal,"), 2, "equal,"),
            (("run", file, *machine, "--policy", "moca:evaluate:guess"), 2,
             "evaluate:guess: not an option of policy moca"),
            (("run", file, *machine, "--policy", "moca:generations:-1"), 2, "generations:-1"),
            (("run", file, *machine, "--scenario", "three"), 1, "three"),
            (("run", file, *machine, "--counters", "pmu"), 1, "pmu"),
            (("run", file, *machine, "--noise", "x"), 2, "--noise x"),
            (("run", file, *machine, "--seed", "-1"), 2, "--seed -1"),
            (("run", file, *machine, "--wait", "long"), 2, "--wait long"),
            (("run", file, *machine, "--network", "x"), 2, "--network x"),
            (("run", file, *machine, "--limit", "0.1"), 1, "not done"),
            (("run", file, *machine, "--vary", "seed=1"), 2, "--vary"),
            (("run", file, file, *machine), 2, "too many"),
            (("sweep", file, *machine), 2, "--vary"),
            (("sweep", file, *machine, "--vary", "seed"), 2, "seed"),
            (("sweep", file, *machine, "--vary", "seed=a"), 2, "a is not"),
            (("sweep", file, *machine, "--vary", "speed=1"), 2, "speed"),
            (("sweep", file, *machine, "--vary", "cores=9"), 2, "cores=9"),
            (("sweep", file, *machine, "--vary", "cores=0"), 2, "cores=0"),
            (("sweep", file, *machine, "--vary", "jobs=1.5"), 2, "jobs=1.5"),
            (("sweep", file, *machine, "--vary", "x.scale=1"), 2, "no job x"),
            (("sweep", file, *machine, "--vary", "cores=2..x"), 2, "2..x"),
            (("sweep", file, *machine, "--vary", "cores=1..8*1"), 2, "range"),
            (("sweep", file, *machine, "--vary", "seed=1,,2"), 2, "missing"),
            (("sweep", file, *machine, "--vary", "corun:speed=1"), 2, "speed"),
            (("run", file, *machine, "--csv"), 2, "--csv"),
            (("replay", file, *machine), 1, file),
            (("walk",), 2, "walk"), (("--fast",), 2, "--fast"),
            (("run", "--fast"), 2, "--fast"), (("run", "--seed"), 2, "--seed")):
        error = call(*words, status=status)
        assert error.startswith("coschedsim: ") and text in error, (words,
                                                                    error)


def main():
    with tempfile.TemporaryDirectory(prefix="coschedsim.") as directory:
        file = os.path.join(directory, "two.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(SCENARIO, out)
        check_run(file)
        check_fairness_ends()
        check_sampling(directory)
        check_caches(directory)
        check_latency(directory)
        check_max_cores(directory)
        check_compare(file)
        check_sweep(file)
        check_sweep_output(file)
        check_trace(file, directory)
        check_refusals(file, directory)
    assert re.match(r"coschedsim \d", call("--version"))


main()
