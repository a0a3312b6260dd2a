#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedmodel refuses bad input with one line that names the place."""

import copy
import json
import os
import subprocess
import tempfile

PROGRAM = os.path.join(os.environ["abs_top_builddir"], "coschedmodel",
                       "coschedmodel")
MACHINES = os.path.join(os.environ["abs_top_srcdir"], "machines")
BOX = {"name": "box",
       "llc_domains": [{"cpus": "0-3", "memory": 0}, {"cpus": "4-7", "memory": 1}],
       "numa_nodes": [{"service_us": 0.01}, {"service_us": 0.01}],
       "links": [{"from": 0, "to": 1, "service_us": 0.02}]}
JOBS = {"machine": BOX, "jobs": [{"name": "A", "rho": 0.1, "cores": 2},
                                 {"name": "B", "rho": 0.1, "cores": 2}]}
ROW = [{"read": 1000}, {"read": 1000}]
LOOPS = {"machine": BOX, "loops": [{"name": "L", "profiles": [
    {"cores": [4, 0], "total_us": 1000, "requests": [ROW, None]}]}]}
MAP = {"requests": [[1, 2], [3, 4]], "cores": [1, 1]}
REMOVE = object()
SAMPLE = {"program": "P", "threads": [[1, 0.1, 0.1, 0]] * 8, "time_s": [1] * 8,
          "energy_j": [1] * 8}
TRAIN = json.loads(json.dumps({  # no two members are one object
    "machine": {**BOX, "power": {"idle_w": 1, "domain_w": 1, "core_w": 1, "stalled_w": 1,
                                 "request_nj": 1}},
    "samples": [{**SAMPLE, "program": name} for name in "PQ" * 8]}))

# Member by its path in the description, its new value, and the complaint.
MACHINE_CASES = [
    ("name", REMOVE, "name: is missing"),
    ("name", "", "name: is empty"),
    ("name", 7, "name: 7 is not a string"),
    ("name", [1, 2], "name: [1,2] is not a string"),
    ("colour", "red", "colour: unknown key"),
    ("llc_domains", [], "llc_domains: has 0 elements, must have 1 to 256"),
    ("llc_domains", 2, "llc_domains: must be an array"),
    ("numa_nodes", REMOVE, "numa_nodes: is missing"),
    ("llc_domains.0", 3, "llc_domains[0]: must be an object"),
    ("llc_domains.0.cpu", "0", "llc_domains[0].cpu: unknown key"),
    ("llc_domains.0.cpus", "", "llc_domains[0].cpus: is empty"),
    ("llc_domains.0.cpus", "a", "llc_domains[0].cpus: "),
    ("llc_domains.1.cpus", "3-5",
     "llc_domains[1].cpus: CPU 3 is in llc_domains[0], too"),
    ("llc_domains.1.memory", 2,
     "llc_domains[1].memory: 2 is not a whole number from 0 to 1"),
    ("llc_domains.1.memory", REMOVE, "llc_domains[1].memory: is missing"),
    ("numa_nodes.1.service_us", 0,
     "numa_nodes[1].service_us: 0 is not a positive number"),
    ("numa_nodes.1.service_us", -1,
     "numa_nodes[1].service_us: -1 is not a positive number"),
    ("numa_nodes.1.service_us", "1",
     'numa_nodes[1].service_us: "1" is not a positive number'),
    ("numa_nodes.0.service_us", {"read": 1, "write": 1},
     "numa_nodes[0].service_us.prefetch: is missing"),
    ("numa_nodes.0.service_us", {"read": 1, "write": 1, "prefetch": 1, "x": 1},
     "numa_nodes[0].service_us.x: unknown key"),
    ("numa_nodes.0.speed", 1, "numa_nodes[0].speed: unknown key"),
    ("links", [], None),
    ("links.0.to", 0, "links[0].to: is the same NUMA node 0 as from"),
    ("links.0.to", 9, "links[0].to: 9 is not a whole number from 0 to 1"),
    ("links.0.from", 0.5, "links[0].from: 0.5 is not a whole number"),
    ("links.0.one_way", 1, "links[0].one_way: must be true or false"),
    ("links.0.one_way", True,
     "links: no way from llc_domains[1] to numa_nodes[0]"),
    ("links.0.service_us", REMOVE, "links[0].service_us: is missing"),
    ("routes", [{"llc_domain": 0, "memory": 1, "links": []}],
     "routes[0].links: has 0 elements"),
    ("routes", [{"llc_domain": 0, "memory": 1, "links": [4]}],
     "routes[0].links: 4 is not a link from 0 to 0"),
    ("routes", [{"llc_domain": 0, "memory": 0, "links": [0]}],
     "routes[0].links: end at numa_nodes[1]"),
    ("routes", [{"llc_domain": 0, "memory": 1, "links": [0]}] * 2,
     "routes[1]: a second route from llc_domains[0] to numa_nodes[1]"),
    ("routes", [{"llc_domain": 2, "memory": 1, "links": [0]}],
     "routes[0].llc_domain: 2 is not a whole number from 0 to 1"),
]

# Command and options, document, path, value, complaint.
INPUT_CASES = [
    ("station", {"rho": 1, "cores": 2}, "cores", 0,
     "cores: 0 is not a whole number from 1 to 10000"),
    ("station", {"rho": 1, "cores": 2}, "rho", -1,
     "rho: -1 is not a number from 0"),
    ("station", {"rho": 1, "cores": 2}, "rho", [], "rho: is empty"),
    ("station", {"rho": 1, "cores": 2}, "rho", [1, None],
     "rho[1]: null is not a number from 0"),
    ("station", {"rho": 1, "cores": 2}, "mu", 1,
     "rho: stands instead of lambda and mu"),
    ("station", {"rho": 1, "cores": 2}, "x", 1, "x: unknown key"),
    ("station", {"lambda": 1, "mu": 1, "cores": 2}, "mu", 0,
     "mu: 0 is not a positive number"),
    ("station", {"mu": 1, "classes": [{"count": 1, "lambda": 1}]},
     "classes.0.lambda", -2, "classes[0].lambda: -2 is not a number from 0"),
    ("station", {"mu": 1, "classes": [{"count": 1, "lambda": 1}]},
     "method", "magic", "method: magic: unknown method, one of automatic"),
    ("station", {"mu": 1, "method": "exact", "classes": [
        {"count": 99, "lambda": 1}, {"count": 99, "lambda": 2}]},
     "classes.0.count", 98, "classes: too many states for exact"),
    ("utilisation", JOBS, "jobs.0.rho", -1,
     "jobs[0].rho: -1 is not a number from 0"),
    ("utilisation", JOBS, "jobs.0.rates", [],
     "jobs[0].rho: stands instead of rates"),
    ("utilisation", JOBS, "jobs.1.rho", REMOVE, "jobs[1].rates: is missing"),
    ("utilisation", JOBS, "jobs.1.cores", 7,
     "jobs[1].cores: there are not 7 cores left"),
    ("utilisation", JOBS, "jobs.1.cores", [3, 0],
     "jobs[1].cores: [0]: 3 is not a whole number up to the 2 cores left"),
    ("utilisation", JOBS, "jobs.1.cores", [1],
     "jobs[1].cores: has 1 elements, must have 2"),
    ("utilisation", JOBS, "jobs.1.sync_share", 1.5,
     "jobs[1].sync_share: 1.5 is not a number from 0 to 1"),
    ("utilisation", JOBS, "jobs.1.weight", 0,
     "jobs[1].weight: 0 is not a positive number"),
    ("utilisation", JOBS, "machine", REMOVE,
     "machine: is missing, and there is no --machine"),
    ("utilisation", JOBS, "machine", 3, "machine: must be a name or an object"),
    ("utilisation", JOBS, "machine", "no-such",
     "no-such: neither a file nor a machine of"),
    ("utilisation", JOBS, "machine.numa_nodes.0.service_us", 0,
     "machine.numa_nodes[0].service_us: 0 is not a positive number"),
    ("utilisation --sweep", JOBS, "jobs.0.name", "A",
     "jobs[0].cores: --sweep tries all of them"),
    ("speedup", LOOPS, "loops.0.profiles.0.cores", [0, 0],
     "loops[0].profiles[0].cores"),
    ("speedup", LOOPS, "loops.0.profiles.0.total_us", 0,
     "loops[0].profiles[0].total_us: 0 is not a positive number"),
    ("speedup", LOOPS, "loops.0.profiles.0.total_us", 1e-3,
     "loops[0].profiles[0]: the machine is too slow for what the run did in its "
     "time, if a core waits for one request at a time (3.11); with \"useful_cycles\" and "
     "\"stalled_cycles\" it need not"),
    ("speedup", LOOPS, "loops.0.profiles.0.requests.0", [{"read": 1}],
     "loops[0].profiles[0].requests[0]: must be an array of 2"),
    ("speedup", LOOPS, "loops.0.profiles.0.requests.0.1.read", -1,
     "loops[0].profiles[0].requests[0][1].read: -1 is not a number from 0"),
    ("speedup", LOOPS, "loops.0.profiles.0.requests.0.1.reads", 1,
     "loops[0].profiles[0].requests[0][1].reads: unknown key"),
    ("speedup", LOOPS, "loops.0.profiles.0.requests.1", ROW,
     "loops[0].profiles[0].requests.read[1][0]"),
    ("speedup", LOOPS, "loops.0.profiles.0.read_misses", [[1, 2000], None],
     "loops[0].profiles[0].read_misses[0][1]: more misses than requests"),
    ("speedup", LOOPS, "loops.0.profiles.0.sync_share", 1,
     "loops[0].profiles[0].sync_share: is out of range"),
    ("speedup", LOOPS, "loops.0.profiles", [LOOPS["loops"][0]["profiles"][0]] * 2,
     "loops[0].profiles[1]: is on as many LLC domains as profiles[0]"),
    ("speedup", LOOPS, "loops.0.measured", [1, 0],
     "loops[0].measured[1]: 0 is not a positive number"),
    ("map", MAP, "requests", REMOVE, "requests: is missing"),
    ("map", MAP, "requests", [], "requests: has 0 elements, must have 1 to"),
    ("map", MAP, "requests.0", [], "requests[0]: must be an array of 1 to"),
    ("map", MAP, "requests.1", [1], "requests[1]: has 1 elements, the first thread has 2"),
    ("map", MAP, "requests.1.0", -1, "requests[1][0]: -1 is not a number from 0"),
    ("map", MAP, "requests.1.0", None, "requests[1][0]: null is not a number from 0"),
    ("map", MAP, "requests.1", [0, 0], "requests[1]: is all zeros"),
    ("map", MAP, "cores", REMOVE, "cores: is missing, and there is neither"),
    ("map", MAP, "cores", [1], "cores: must be a number or an array of 2"),
    ("map", MAP, "cores", [1, 0], "cores: 1 in all, fewer than the 2 threads"),
    ("map", MAP, "cores", [0.5, 4], "cores: [0]: 0.5 is not a whole number"),
    ("map", MAP, "cores", 0, "cores: 0 is not a whole number from 1"),
    ("map", MAP, "factor", 0, "factor: 0 is not a positive number"),
    ("map", MAP, "closeness", 0, "closeness: must be above 0"),
    ("map", MAP, "closeness", 1.5, "closeness: 1.5 is not a number from 0 to 1"),
    ("map", MAP, "machine", {**BOX, "numa_nodes": BOX["numa_nodes"][:1], "links": [],
                             "llc_domains": BOX["llc_domains"][:1]},
     "requests[0]: has 2 elements, the machine has 1 NUMA nodes"),
    ("map", {**MAP, "requests": [[1, 2]] * 40, "cores": 40}, "rule", "best-critical",
     "best-critical: more than 1e+08 ways to place 40 threads"),
    ("map", MAP, "rule", "best", "rule: best: unknown rule, one of locality"),
    ("ks", {"a": [1], "b": [2]}, "a", [], "a: has 0 elements"),
    ("ks", {"a": [1], "b": [2]}, "alpha", 0, "alpha: must be between 0 and 1"),
    ("ks", {"counts": [1, 2]}, "counts", [1, 0.5],
     "counts: [1]: 0.5 is not a whole number"),
    ("ks", {"counts": [1, 2]}, "counts", [0, 0], "counts: all are 0"),
]
FIT_CASES = [
    ("fit", {"samples": [{"cores": 1, "throughput": 1}]},
     "samples.0.throughput", 0, "samples[0].throughput: 0 is not a positive"),
    ("fit", {"samples": [{"cores": 1, "throughput": 1}]}, "samples.0.cores", 2,
     "samples: the data cannot tell rho"),
    ("fit", {"runs": [{"reads": 1, "busy_us": 1}]}, "runs.0.reads", 0,
     "runs[0]: has no requests"),
    ("fit", {"runs": [{"reads": 1, "busy_us": 1}]}, "runs.0.writes", 1,
     "runs: the data cannot tell the service times"),
    ("train", TRAIN, "samples", [], "samples: has 0 elements, must have 8 to"),
    ("train", TRAIN, "samples", [SAMPLE] * 9, "samples: are of one program only"),
    ("train", TRAIN, "samples", [SAMPLE] * 8 + [{**SAMPLE, "program": "Q"}],
     "samples: fewer than 8 without P"),
    ("train", TRAIN, "samples.3.threads", [[1, 1, 1, 1]] * 7,
     "samples[3].threads: has 7 elements, must have 8, or 2 for LLC domains"),
    ("train", TRAIN, "samples.3.threads.2", [1, 1, 1],
     "samples[3].threads[2]: must be an array of 4"),
    ("train", TRAIN, "samples.3.threads.2.1", None,
     "samples[3].threads[2][1]: null is not a number from 0"),
    ("train", TRAIN, "samples.3.time_s.4", 0, "samples[3].time_s[4]: 0 is not a positive"),
    ("train", TRAIN, "samples.3.energy_j", REMOVE, "samples[3].energy_j: is missing"),
    ("train", TRAIN, "samples.3.program", REMOVE, "samples[3].program: is missing"),
    ("train", TRAIN, "machine.power.core_w", 0,
     "machine.power.core_w: 0 is not a positive number"),
    ("train", TRAIN, "machine.power.idle_w", REMOVE, "machine.power.idle_w: is missing"),
]
# Command line, complaint.
USAGE_CASES = [
    ("dance", "dance: unknown command, see coschedmodel --help"),
    ("--dance", "--dance: unknown option, see coschedmodel --help"),
    ("station --dance", "station: --dance: unknown option"),
    ("station --rho", "station: --rho: needs a value"),
    ("station --rho 1", "station: --rho needs --cores, too"),
    ("station --rho 1,x --cores 2", "station: --rho=1,x: not numbers from 0"),
    ("station --rho nan --cores 2", "station: --rho=nan: not numbers from 0"),
    ("station --rho 1 --cores -2", "station: --cores -2: not a whole number from 1"),
    ("station --table=x", "station: --table: takes no value"),
    ("station --sweep", "station: --sweep: not for this command"),
    ("station a b", "station: b: one argument too many"),
    ("speedup --method x", "--method=x: unknown method, one of stations"),
    ("station --method closed",
     "station: --method is for classes"),
    ("utilisation --method x", "--method=x: unknown method, one of automatic"),
    ("utilisation --sweep --method closed",
     "--sweep: not with method closed"),
    ("map --cores 0", "map: --cores 0: not a whole number from 1"),
    ("machine", "machine: needs show or check"),
    ("machine dance", "machine: dance: not show or check"),
]


def changed(document, path, value):
    """DOCUMENT with the member at PATH set to VALUE."""
    result = copy.deepcopy(document)
    at, *steps = result, *path.split(".")
    for step in steps[:-1]:
        at = at[int(step) if isinstance(at, list) else step]
    last = int(steps[-1]) if isinstance(at, list) else steps[-1]
    if value is REMOVE:
        del at[last]
    else:
        at[last] = value
    return result


def run(words, text=""):
    return subprocess.run([PROGRAM, *words], input=text, capture_output=True,
                          text=True, check=False,
                          env={**os.environ, "COSCHED_MACHINES": MACHINES})


def refused(got, status, complaint, exact_place=None):
    start = "coschedmodel: " + (f"{exact_place}: " if exact_place else "")
    assert got.returncode == status, (complaint, got)
    assert got.stdout == "", got.stdout
    assert got.stderr.count("\n") == 1, got.stderr
    assert got.stderr.startswith(start + complaint), (complaint, got.stderr)


def check_machine():
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "box.json")
        for path, value, complaint in MACHINE_CASES:
            with open(file, "w", encoding="utf-8") as out:
                json.dump(changed(BOX, path, value), out)
            got = run(["machine", "check", file])
            if complaint is None:
                assert got.returncode == 0 and not got.stderr, (path, got)
            else:
                refused(got, 1, complaint, file)
        missing = os.path.join(directory, "none.json")
        refused(run(["machine", "check", missing]), 1,
                "No such file or directory", missing)


def check_inputs():
    cases = list(INPUT_CASES)
    if "built without GSL" not in run(["fit"], "{}").stderr:
        cases += FIT_CASES
    for command, document, path, value, complaint in cases:
        got = run(command.split(), json.dumps(changed(document, path, value)))
        # A machine that is not found has no place in the input.
        place = None if complaint.startswith("no-such") or \
            complaint.startswith(("method", "rule")) else "standard input"
        refused(got, 1, complaint, place)
    for text, complaint in [
            ('{\n"rho": NaN}', "standard input:2: "),
            ('{"rho": 1, "rho": 2}', "standard input:1: duplicate object key"),
            ('{"rho": 1e999, "cores": 1}', "standard input:1: "),
            ("", "standard input:1: "), ("[1]", "standard input: must be an"),
            ('{"cores": ' + "9" * 30 + "}", "standard input:1: ")]:
        refused(run(["station"], text), 1, complaint)
    refused(run(["map"], '{"cores": 4,\n"requests": [[1, NaN]]}'), 1,
            "standard input:2: invalid token near 'NaN'")


def check_tables():
    """What `map` reads as text."""
    for text, complaint in [
            ("", "requests: has 0 elements"), ("# none\n", "requests: has 0 elements"),
            ("1 2\n3 x\n", "2: x is not a number"), ("1 2\n3 4z", "2: 4z is not a number"),
            ("1 nan", "1: nan is not a finite number"),
            ("1 2\n\n1e999,1", "3: 1e999 is not a finite number"),
            ("1 " + "1" * 70, "1: " + "1" * 63 + " is not a number"),
            ("1 2\n1", "requests[1]: has 1 elements, the first thread has 2"),
            ("1 -2", "requests[0][1]: -2.0 is not a number from 0")]:
        place = "standard input" if complaint.startswith("requests") else None
        refused(run(["map", "--cores", "9"], text), 1,
                complaint if place else "standard input:" + complaint, place)


def main():
    check_machine()
    check_inputs()
    check_tables()
    for words, complaint in USAGE_CASES:
        refused(run(words.split(), json.dumps(JOBS)), 2, complaint)
    got = run([])
    assert got.returncode == 2 and got.stderr.startswith("usage: "), got
    with open("/dev/full", "w", encoding="utf-8") as full:
        got = subprocess.run([PROGRAM, "machine", "show",
                              os.path.join(MACHINES, "uma-1x8.json")],
                             stdout=full, stderr=subprocess.PIPE, text=True,
                             check=False)
    assert got.returncode == 1, got
    assert got.stderr == ("coschedmodel: standard output: "
                          "No space left on device\n"), got.stderr


main()
