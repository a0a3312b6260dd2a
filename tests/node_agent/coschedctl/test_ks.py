#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedctl requests | coschedmodel ks: recordings of requests that are Poisson
distributed, and of some that are not; and what a calibration saw a controller serve."""

import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

BUILD = os.environ["abs_top_builddir"]
CTL = os.path.join(BUILD, "coschedctl")
COSCHEDPLOT = os.path.join(os.environ["abs_top_srcdir"], "plot", "coschedplot")
MODEL = os.path.join(BUILD, "coschedmodel", "coschedmodel")
NS = 50000000
dice = random.Random(1837)


def poisson(mean):
    limit, n, product = math.exp(-mean), 0, dice.random()
    while product > limit:
        n, product = n + 1, product * dice.random()
    return n


def bursts(mean):
    """Nothing for a while, then five times as much."""
    return poisson(5 * mean) if dice.random() < 0.2 else 0


def regular(mean):
    return mean + dice.choice((-1, 0, 1))


def requests(*arguments, status=0):
    done = subprocess.run([CTL, "requests", *arguments], capture_output=True,
                          text=True, check=False, timeout=300)
    assert done.returncode == status, (arguments, done)
    return done


def judge(counts, *arguments, status=0):
    done = subprocess.run([MODEL, "ks", *arguments], capture_output=True,
                          input=counts, text=True, check=False, timeout=300)
    assert done.returncode == status, (arguments, done)
    return done


def ks(path, *arguments, **of_requests):
    options = [x for key, value in of_requests.items()
               for x in ("--" + key, value)]
    return judge(requests(path, *options).stdout, *arguments).stdout


def results(path, *arguments, **of_requests):
    return json.loads(ks(path, *arguments, **of_requests))


def verdicts(*arguments, **of_requests):
    return {s["region"]: s["poisson"]
            for s in results(*arguments, **of_requests)["regions"]}


def begin(numa_nodes):
    return {"type": "begin", "version": 1,
            "machine": {"cpus": 8, "llc_domains": 2, "numa_nodes": numa_nodes,
                        "packages": 1}}


def record(directory, samples, numa_nodes=2):
    os.mkdir(directory)
    path = os.path.join(directory, "record.jsonl")
    with open(path, "w", encoding="ascii") as out:
        for line in (begin(numa_nodes),
                     *({"type": "sample", "ns": NS, **s} for s in samples),
                     {"type": "decision", "jobs": []}, {"type": "end"}):
            out.write(json.dumps(line) + "\n")
    return directory


def job(number, region, cores=8, cpus="0-7"):
    return {"job": number, "run": 0, "cpus": cpus, "cores": cores,
            "region": region, "work": []}


def memory(draw, mean):
    """Reads, writes and prefetches of two NUMA nodes.  The sum is drawn: a
    sum of Poisson numbers is one, but a sum of others may look like one."""
    return [[draw(mean), 0, 0 if n else None] for n in range(2)]


def check_regions(work):
    """The regions of one job: each is judged by itself."""
    kinds = {"1f+20": poisson, "1f+40": bursts, "1f+60": regular}
    directory = record(os.path.join(work, "regions"), [
        {"memory": memory(draw, 40), "jobs": [job(7, region)]}
        for _ in range(200) for region, draw in kinds.items()])
    wanted = {f"job 7 region {s} on 8 cores": draw is poisson
              for s, draw in kinds.items()}
    for options in ([], ["--bins", "0"], ["--bins", "25", "--alpha", "0.01"]):
        assert verdicts(directory, *options) == wanted, options
    file = os.path.join(directory, "record.jsonl")
    assert verdicts(file) == wanted
    found = results(directory)
    assert found["metric"] == "memory" and found["mixed"] == 0, found
    assert found["intervals"] == 600 and found["bins"] == 10, found
    good, burst, even = found["regions"]
    assert good["interval_us"] == NS / 1e3 and good["coverage"] == 1, good
    assert [n["memory"] for n in good["nodes"]] == [0, 1], good
    for node in good["nodes"]:
        assert node["samples"] == 200 and abs(node["mean"] - 40) < 2, node
        assert 0.7 < node["dispersion"] < 1.4, node
        assert node["d"] <= node["critical"] and node["p"] > 0.05, node
        assert abs(node["critical"] - 1.358 / math.sqrt(200)) < 1e-3, node
    assert all(n["dispersion"] > 50 for n in burst["nodes"]), burst
    assert all(n["dispersion"] < 0.1 for n in even["nodes"]), even
    both = [n["d"] for n in good["nodes"]]
    assert abs(good["d_mean"] - sum(both) / 2) < 1e-9, good
    assert abs(good["d_geomean"] - math.sqrt(both[0] * both[1])) < 1e-9, good
    shown = ks(directory, "--table")
    assert "1 of 3 not rejected" in shown, shown
    assert "job 7 region 1f+20 on 8 cores, per 50000 us\n" in shown, shown
    return directory


def check_mixes(work):
    """Memory is of all jobs; what is of one job is judged by itself."""
    samples = []
    for i in range(100):
        first, second = poisson(30), bursts(10)
        samples.append({
            "memory": [[first + second, 0, 0]],
            "cpu": {str(c): [None] * 4 + [first // 4 + (c < first % 4), None,
                                          None] for c in range(4)},
            "groups": {"8": [[0, first, 0], [0, 0, 0]],
                       "9": [[0, second - second // 2, 0],
                             [0, second // 2, 0]]},
            "jobs": [job(8, "a+1", 4, "0-3"),
                     job(9, "b+2" if i < 90 else None, 4, "4-7"),
                     job(10, "c+3", 0, "")]})
    directory = record(os.path.join(work, "mixes"), samples, 1)
    found = results(directory)
    assert found["mixed"] == 10, found
    assert [s["region"] for s in found["regions"]] == [
        "job 8 region a+1 on 4 cores, job 9 region b+2 on 4 cores"], found
    assert found["regions"][0]["nodes"][0]["samples"] == 90, found
    assert not found["regions"][0]["poisson"], found
    assert verdicts(directory, metric="job-traffic") == {
        "job 8 region a+1 on 4 cores": True,
        "job 9 region b+2 on 4 cores": False}
    # CPUs 4 to 7 were not measured.
    alone = results(directory, metric="read-misses")["regions"]
    assert len(alone) == 1 and alone[0]["poisson"], alone
    assert "memory" not in alone[0]["nodes"][0], alone
    assert alone[0]["nodes"][0]["samples"] == 100, alone


def check_intervals(work):
    """Unequal intervals are made equal, odd ones left out, and counts that no
    interval had scaled if asked."""
    samples = [{"memory": [[1000, 0, 0]], "jobs": [job(1, "short")]}
               for _ in range(51)]
    for i, sample in enumerate(samples):
        sample["coverage"] = 0.5 if i == 7 else 1
        if i % 10 == 9:
            sample["ns"] = 2 * NS
        elif i % 2:
            sample["ns"] = NS * 11 // 10
            sample["memory"] = [[1100, 0, 0]]
    directory = record(os.path.join(work, "intervals"), samples, 1)
    one, = results(directory)["regions"]
    assert one["coverage"] == 0.5 and one["interval_us"] == NS / 1e3, one
    node, = one["nodes"]
    assert node["samples"] == 46 and node["mean"] == 1000, node
    assert node["dispersion"] == 0 and not node["poisson"], node
    one, = results(directory, per="500")["regions"]
    assert one["interval_us"] == 500 and one["nodes"][0]["mean"] == 10, one
    assert "counted for 50 % of the time" in ks(directory, "--table")


def check_numbers(work):
    path = os.path.join(work, "numbers")
    with open(path, "w", encoding="ascii") as out:
        out.write("# counted by hand\n\n")
        out.writelines(f" {poisson(12)} # {i}\n" for i in range(150))
    found = results(path)
    assert found["metric"] == "numbers", found
    assert found["regions"][0]["region"] == path, found
    assert "interval_us" not in found["regions"][0], found
    assert found["regions"][0]["poisson"], found
    for text in ("1.5", "-1", "many", "1 2", "1e300", "nan"):
        with open(path, "w", encoding="ascii") as out:
            out.write("4\n" + text + "\n")
        said = requests(path, status=1).stderr
        assert f"{path}:2: not a whole number" in said, said


def described(work, *runs):
    """A machine's description with these runs of its calibration."""
    path = os.path.join(work, "machine.json")
    with open(path, "w", encoding="ascii") as out:
        json.dump({"name": "of a test", "calibration": {"runs": runs}}, out, indent=1)
        out.write("\n")
    return path


def served(kernel, looks):
    return {"llc_domain": 0, "memory": 0, "kernel": kernel, "stride": 64, "us": 1, "reads": 1,
            "writes": 0, "prefetches": 0, "looks": looks}


def check_calibration(work):
    """Exponential service times: Poisson numbers served in each unit of time; not so equal ones.
    Looks are a little too long or too short."""
    lengths = [1000 + dice.randint(-50, 50) for _ in range(51)]
    path = described(
        work, served("write", [[us, poisson(us / 10)] for us in lengths]),
        served("load", [[us, us // 10] for us in lengths]),
        {"memory": 0, "kernel": "add", "stride": 8, "us": 1, "reads": 1})
    found = results(path)
    assert (found["metric"], found["intervals"]) == ("served", 102), found
    write, load = found["regions"]
    assert write["region"] == "LLC domain 0, NUMA node 0: write, stride 64", write
    assert write["poisson"] and not load["poisson"], found
    assert abs(write["nodes"][0]["mean"] - 100) < 5, write
    assert abs(write["nodes"][0]["critical"] - 0.19) < 0.001, write
    assert load["nodes"][0]["dispersion"] < 0.1, load
    for runs, words in (
            ([], "its calibration has no looks"),
            ([served("load", 7)], "runs[0]: no run with looks"),
            ([served("load", []), served("load", [[1, 2], [3]])],
             "runs[1]: looks[1]: not us and requests")):
        said = requests(described(work, *runs), status=1).stderr
        assert words in said and said.count("\n") == 1, said


def check_histograms(recorded):
    """Parts of the samples, and of the distribution, in each category."""
    for bins, shown in (("10", 10), ("0", 20), ("7", 7), ("100", 60)):
        found = results(recorded, "--bins", bins)
        assert found["chart"] == "ks"
        for region in found["regions"]:
            for node in region["nodes"]:
                h = node["histogram"]
                assert len(h["measured"]) == len(h["expected"]) == shown
                assert abs(sum(h["measured"]) - 1) < 1e-6, h
                assert 0.9 < sum(h["expected"]) <= 1 + 1e-6 or \
                    not node["poisson"], node
                mean = sum(part * (h["low"] + h["width"] * (i + 0.5))
                           for i, part in enumerate(h["measured"]))
                assert abs(mean - node["mean"]) <= h["width"], node
    drawn = subprocess.run([COSCHEDPLOT], input=json.dumps(results(recorded)),
                           check=True, text=True, stdout=subprocess.PIPE).stdout
    texts = [e.text for e in xml.fromstring(drawn).iter() if e.text]
    assert texts.count("job 7 region 1f+20 on 8 cores") == 2, texts
    assert any(t.startswith("memory 1: D ") for t in texts), texts
    assert sum(t.endswith(": rejected") for t in texts) == 4, texts


def check_refusals(work, recorded):
    empty = record(os.path.join(work, "empty"), [])
    serial = record(os.path.join(work, "serial"),
                    [{"jobs": [job(1, None)]}] * 30)
    blind = record(os.path.join(work, "blind"), [{"jobs": [job(1, "a+1")]}] * 30)
    few = record(os.path.join(work, "few"),
                 [{"memory": memory(poisson, 9), "jobs": [job(1, "a+1")]}] * 9)
    zero = record(os.path.join(work, "zero"),
                  [{"memory": [[0, 0, 0]], "jobs": [job(1, "a+1")]}] * 30, 1)
    odd = os.path.join(work, "odd")
    shutil.copytree(few, odd)
    with open(os.path.join(odd, "record.jsonl"), "a", encoding="ascii") as out:
        out.write('{"type": "sample", "ns": 1, "memory": 3}\n')
    counts = requests(recorded).stdout
    for run, arguments, status, words in (
            (requests, [], 2, "needs a recording"),
            (requests, [few, few], 2, "one argument too many"),
            (requests, ["--frog"], 2, "--frog: unknown option"),
            (requests, ["--per", "0", few], 2, "--per 0: not microseconds"),
            (requests, ["--metric", "misses", few], 2,
             "--metric misses: not one of memory"),
            (requests, ["/nowhere"], 1, "/nowhere"),
            (requests, [empty], 1, "has no counts"),
            (requests, [serial], 1, "in none of its 30 intervals"),
            (requests, [blind], 1, "has no counts of memory requests"),
            (requests, ["--metric", "read-misses", recorded], 1,
             "has no counts of read-misses"),
            (requests, [odd], 1, "record.jsonl:13: memory: does not fit"),
            (judge, [counts, "--bins", "-1"], 2,
             "--bins -1: not a whole number from 0 to"),
            (judge, [counts, "--least", "1"], 2,
             "--least 1: not a whole number from 2 to"),
            (judge, [counts, "--alpha", "1"], 2,
             "--alpha 1: not between 0 and 1"),
            (judge, [counts.replace("coverage", "cover", 1)], 1,
             "regions[0].cover: unknown key"),
            (judge, [requests(few).stdout], 1,
             "no region has 20 intervals (--least)")):
        said = run(*arguments, status=status).stderr
        assert words in said, (arguments, said)
        assert said.count("\n") == 1, said
    assert len(results(few, "--least", "9")["regions"]) == 1
    node, = results(zero)["regions"][0]["nodes"]
    assert node == {"samples": 30, "mean": 0, "memory": 0}, node


def main():
    work = tempfile.mkdtemp(prefix="cosched-test.")
    try:
        recorded = check_regions(work)
        check_mixes(work)
        check_intervals(work)
        check_numbers(work)
        check_calibration(work)
        check_histograms(recorded)
        check_refusals(work, recorded)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    if not os.path.exists(CTL):
        print("SKIP: coschedctl was not built")
        sys.exit(77)
    main()
