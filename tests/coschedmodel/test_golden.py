#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedmodel answers the papers' numbers and what golden/ has.

With REGENERATE=1 it writes golden/ instead of comparing.
"""

import json
import math
import os
import subprocess
import tempfile

SOURCE = os.environ["abs_top_srcdir"]
PROGRAM = os.path.join(os.environ["abs_top_builddir"], "coschedmodel",
                       "coschedmodel")
GOLDEN = os.path.join(SOURCE, "tests", "coschedmodel", "golden")
SIXTEEN = {"name": "sixteen cores", "llc_domains": [{"cpus": "0-15"}],
           "numa_nodes": [{"service_us": 0.01}]}


def run(*words, value=None):
    return subprocess.run(
        [PROGRAM, *words], input=json.dumps(value), capture_output=True,
        text=True, check=True,
        env={**os.environ, "COSCHED_MACHINES": os.path.join(SOURCE, "machines")}
    ).stdout


def ask(*words, value=None):
    return json.loads(run(*words, value=value))


def near(got, want, tolerance):
    assert abs(got - want) <= tolerance, (got, want)


def check_station():
    points = ask("station", "--rho", "0.5", "--cores", "16")["points"]
    for n, want in enumerate([1 / 3, 0.6, 15 / 19]):
        near(points[n]["utilisation"], want, 1e-9)
    for n, want in enumerate([1, 1.80, 2.37, 2.71, 2.89]):
        near(points[n]["speedup"], want, 0.005)
    for point in points[7:]:
        near(point["speedup"], 3.00, 0.005)
    same = ask("station", value={"lambda": 0.01, "mu": 0.02, "cores": 3})
    near(same["points"][2]["utilisation"], 15 / 19, 1e-9)
    assert math.isclose(same["points"][2]["response"],
                        points[2]["response"] * 50)
    exact = ask("station", value={"mu": 1, "method": "exact", "classes": [
        {"count": 8, "lambda": 0.5}, {"count": 8, "lambda": 0}]})
    near(exact["utilisation"], points[7]["utilisation"], 1e-9)
    near(exact["classes"][1]["computing"], 8, 1e-12)


def mix(work):
    return {"machine": SIXTEEN, "jobs": [
        {"name": "A", "rho": 0, "work": work},
        {"name": "B", "rho": 0.5, "work": 100}]}


def check_two_jobs():
    """Thesis 4.2.2: 16 cores, one controller, A never asks."""
    sweep = ask("utilisation", "--sweep", value=mix(400))
    assert sweep["best"] == {"cpu": 15, "utilisation": 11, "makespan": 11}
    near(sweep["points"][10]["of_batch"], 0.61, 0.005)
    assert len(sweep["points"]) == 15
    old = mix(400)  # as 0.1 named the parts of a machine
    old["machine"] = {"name": "sixteen cores", "cpu_nodes": [{"cpus": "0-15"}],
                      "mem_nodes": [{"service_us": 0.01}]}
    assert ask("utilisation", "--sweep", value=old) == sweep
    longer = ask("utilisation", "--sweep", value=mix(800))
    assert longer["best"]["makespan"] == 14, longer["best"]
    fixed = mix(400)
    for job, cores in zip(fixed["jobs"], (11, [5])):
        job["cores"] = cores
    one = ask("utilisation", value=fixed)
    near(one["utilisation"], sweep["points"][10]["utilisation"], 1e-12)
    near(one["jobs"][1]["speedup"], 2.89, 0.005)


def check_closed():
    """All stations together: on one controller it is the station again."""
    one = mix(400)
    for job, cores in zip(one["jobs"], (11, 5)):
        job["cores"] = cores
    answer = ask("utilisation", "--method", "closed", value=one)
    near(answer["controllers"][0], 0.9633, 0.01)
    near(answer["jobs"][0]["speed"], 11, 1e-9)
    assert answer["links"] == []
    spread = {"jobs": [{"name": "A", "rho": 0.3, "cores": [8] + [0] * 7}]}
    answer = ask("utilisation", "--method", "closed", "--machine",
                 "amd-opteron-6380-8x8", value=spread)
    assert len(answer["controllers"]) == 8 and len(answer["links"]) == 16
    # Node 0 reaches even nodes and its twin by one link, the rest by two.
    assert sum(u > 1e-6 for u in answer["links"]) >= 4
    assert all(0 <= u <= 1 for u in answer["links"] + answer["controllers"])


def profile(nodes, total_us, reads):
    """A run on the first NODES of eight, interleaved over all memory."""
    row = [{"read": reads / nodes / 8, "write": reads / nodes / 32}] * 8
    return {"cores": [8] * nodes + [0] * (8 - nodes), "total_us": total_us,
            "requests": [row] * nodes + [None] * (8 - nodes)}


def check_speedup():
    loops = [{"name": "computes", "profiles": [profile(1, 1e6, 1)]},
             {"name": "S", "profiles": [profile(1, 1e5, 8e6)]},
             {"name": "T", "profiles": [profile(1, 1e5, 8e6),
                                        profile(8, 5e4, 2e7)],
              "measured": [1, 2, 3, 4, 5, 6, 7, 8]}]
    for method in "closed", "stations":
        answer = ask("speedup", "--machine", "amd-opteron-6380-8x8",
                     "--method", method, value={"loops": loops})
        points = answer["points"]
        assert len(points) == 24
        for n in range(8):
            near(points[n]["speedup"], n + 1, 1e-4)
            assert points[8 + n]["speedup"] <= n + 1 + 1e-9
        assert points[8]["speedup"] == points[16]["speedup"] == 1
        # More requests per work on eight nodes than on one.
        assert points[23]["speedup"] < points[15]["speedup"]
        errors = [abs(p["error_percent"]) for p in points[17:]]
        near(answer["mape_percent"], sum(errors) / 7, 1e-9)


def check_best_f():
    """Speedups of a machine of other service times tell what these are."""
    with open(os.path.join(SOURCE, "machines/amd-opteron-6380-4x4.json"),
              encoding="utf-8") as file:
        other = json.load(file)
    for server in other["numa_nodes"]:
        server["service_us"] = 0.012
    for server in other["links"]:
        server["service_us"] = 0.006

    def run(nodes, reads):
        row = [{"read": reads / nodes / 4}] * 4
        return {"cores": [4] * nodes + [0] * (4 - nodes), "total_us": 1e5,
                "requests": [row] * nodes + [None] * (4 - nodes)}

    loops = [{"name": str(reads), "profiles": [run(1, reads)]}
             for reads in (1e6, 4e6)]
    words = ("speedup", "--method", "stations")
    points = ask(*words, value={"machine": other, "loops": loops})["points"]
    for i, loop in enumerate(loops):
        loop["measured"] = [p["speedup"] for p in points[4 * i:4 * i + 4]]
    shipped = (*words, "--machine", "amd-opteron-6380-4x4")
    before = ask(*shipped, value={"loops": loops})
    answer = ask(*shipped, "--best-f", value={"loops": loops})
    assert answer["mape_percent"] < 0.5 < before["mape_percent"], (answer, before)
    assert all(loop["r2"] > 0.999 for loop in answer["loops"])
    assert any(loop["r2"] < 0.999 for loop in before["loops"])
    near(answer["controller_us"], 0.012, 0.0012)


MG = """1770108 1765296 1766348 1765584\n1631249 1530389 1529758 1532284
1554151 1554991 1552323 1552409\n331659 330097 330903 329727\n984706 985755 987233 987138
985833 986215 985754 988217\n988661,986670,989070,988749  # commas do as well
984706 985755 987233 987138"""
ARBITER = [[100, 1000, 0, 2000], [1300, 200, 3500, 1300], [220, 5000, 500, 500],
           [4500, 3800, 2000, 1000]]


def nodes_of(answer):
    assert [t["thread"] for t in answer["threads"]] == list(range(len(answer["threads"])))
    return [t["node"] for t in answer["threads"]]


def check_map():
    """Tables of the critical path paper and of DyNUMA."""
    rows = [[int(word) for word in line.split("#")[0].replace(",", " ").split()]
            for line in MG.split("\n")]
    answer = ask("map", value={"requests": rows, "cores": 2, "rule": "locality",
                               "closeness": 1 / 1.5})
    assert nodes_of(answer) == [0, 3, 1, 0, 2, 3, 2, 1], answer
    assert answer["local"] == 9139317 and len(answer["rounds"]) == 8
    text = subprocess.run([PROGRAM, "map", "--cores", "2", "--rule", "best-locality"],
                          input=MG, capture_output=True, text=True, check=True).stdout
    best = json.loads(text)
    assert best["local"] == 9238103 and best["rounds"] == []
    answer = ask("map", value={"requests": ARBITER, "cores": [2, 2, 2, 2]})
    assert nodes_of(answer) == [3, 2, 1, 0]
    assert answer["critical"] == [14700, 6830, 7700, 3650]
    second = answer["rounds"][1]
    assert [c["cost"] for c in second["candidates"]] == [14700, 21880, 7700]
    assert second["candidates"][second["chosen"]] == {"thread": 1, "node": 2, "cost": 7700}
    # A machine tells cores and latencies: neighbours are nearer than the other side.
    threads = [[1, 9, 1, 1, 1, 1, 1, 1]] * 12
    answer = ask("map", "--machine", "amd-opteron-6380-8x8", value={"requests": threads})
    assert nodes_of(answer).count(1) == 8 and answer["local_share"] < 0.6
    refusal = subprocess.run([PROGRAM, "map", "--rule", "x"], capture_output=True, text=True,
                             input=json.dumps({"requests": [[1]], "cores": 1}), check=False)
    assert refusal.returncode == 2 and "--rule=x: unknown rule" in refusal.stderr


def check_fit_and_ks():
    curve = ask("station", "--rho", "0.3", "--cores", "12")["points"]
    if "built without GSL" not in subprocess.run(
            [PROGRAM, "fit"], input="{}", capture_output=True, text=True,
            check=False).stderr:
        fit = ask("fit", value={"samples": [
            {"cores": p["cores"], "throughput": 40 * p["speedup"]}
            for p in curve]})
        near(fit["rho"], 0.3, 1e-4)
        near(fit["unit_rate"], 40, 1e-3)
        assert fit["low"] <= fit["rho"] <= fit["high"]
        times = ask("fit", value={"runs": [
            {"reads": 100, "busy_us": 1}, {"prefetches": 50, "busy_us": 0.2},
            {"reads": 20, "writes": 20, "busy_us": 0.3}]})
        near(times["read_us"], 0.01, 1e-9)
        near(times["write_us"], 0.005, 1e-9)
        near(times["prefetch_us"], 0.004, 1e-9)
    apart = ask("ks", value={"a": list(range(20)), "b": list(range(20, 40))})
    assert apart["d"] == 1 and not apart["passed"]
    equal = ask("ks", value={"a": [1, 2, 3], "b": [3, 2, 1]})
    assert equal["d"] == 0 and equal["passed"]
    assert not ask("ks", value={"counts": [0, 30] * 40})["passed"]


def check_machines():
    """What `machine show` prints is a description of the same machine."""
    names = sorted(n[:-5] for n in os.listdir(os.path.join(SOURCE, "machines"))
                   if n.endswith(".json"))
    assert len(names) >= 5
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            assert run("machine", "check", name) == ""
            shown = run("machine", "show", name)
            copy = os.path.join(directory, "copy.json")
            with open(copy, "w", encoding="utf-8") as out:
                out.write(shown)
            assert run("machine", "show", copy) == shown
    hops = [len(r["links"]) for r in
            json.loads(run("machine", "show", "amd-opteron-6380-8x8"))["routes"]]
    assert max(hops) == 2 and len(hops) == 56 and hops.count(1) == 32


def check_files():
    """Tables and JSON, to the byte."""
    cases = {
        "station.table": ("station", "--rho", "0.5", "--cores", "8", "--table"),
        "station.json": ("station", "--rho", "0.25", "--cores", "2"),
        "uma.json": ("machine", "show", "uma-1x8"),
        "sweep.table": ("utilisation", "--sweep", "--table"),
    }
    for name, words in cases.items():
        got = run(*words, value=mix(400))
        path = os.path.join(GOLDEN, name)
        if os.environ.get("REGENERATE"):
            with open(path, "w", encoding="utf-8") as out:
                out.write(got)
        with open(path, encoding="utf-8") as want:
            assert got == want.read(), f"{name} differs:\n{got}"


def main():
    check_station()
    check_two_jobs()
    check_closed()
    check_speedup()
    check_best_f()
    check_map()
    check_fit_and_ks()
    check_machines()
    check_files()


main()
