# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What `make reproduce` runs, and the tables of docs/evaluation-simulated.md."""

import copy
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "plot"))
import svgchart  # noqa: E402

AMD, INTEL = "amd-opteron-6380-8x8", "intel-e7-8870v3-4x18"
LIBRARY = {AMD: "amd-opteron-6380", INTEL: "intel-e7-8870v3"}
TITLE = {AMD: "AMD-64", INTEL: "Intel-72"}
BIG = "amd-epyc-9754-2x128-nps4"

# In the order of the tables.  The papers' names are in brackets there.
POLICIES = ["native", "batch", "best-simple", "equal", "scalability", "amdahl",
            "greedy", "nupoco", "moca", "corun"]
PAPER_NAME = {"native": "Native, baseline", "batch": "Batch",
              "best-simple": "Simple", "equal": "Equal, EQP",
              "scalability": "Scalability, C3PO", "amdahl": "AB",
              "greedy": "NuPoCo Greedy", "nupoco": "NuPoCo", "moca": "MOCA"}
SIMPLE = ["native", "batch", "equal"]
# In the tables with a row for each scenario; evaluation.json has all policies.
SHOWN = ["batch", "equal", "scalability", "nupoco", "moca", "corun"]
# Of all random mixes; of the first ones all policies are run.
WIDE = ["native", "batch", "best-simple", "equal", "corun"]
WIDE_SEEDS = [1, 2]


class Set:
    """A file of scenarios (None: random ones) on a machine; PAPER: {policy:
    published NTT}."""

    def __init__(self, name, title, file, machine, paper=None, keep=None,
                 policies=None, library=None, options=(), wait=None):
        self.name, self.title, self.file = name, title, file
        self.machine, self.paper = machine, paper or {}
        self.keep = keep or (lambda scenario: True)
        self.policies = policies or POLICIES
        self.library = library or LIBRARY[machine]
        self.random, self.seed = 0, 1
        self.options, self.wait = list(options), wait


def jobs_of(scenario):
    return scenario.split("-")


def with_records(s):
    """Set S where each job has been run before."""
    other = copy.copy(s)
    other.name, other.paper = s.name + "-records", {}
    other.policies, other.options = ["native", "corun"], ["--history"]
    return other


def sets(random_mixes, wide):
    """RANDOM_MIXES of each machine under all policies, WIDE of each machine and
    seed under a few."""
    out = []
    papers = {
        AMD: {"nupoco": 0.91, "thesis": 0.78, "pairs": 0.88, "triples": 0.865},
        INTEL: {"nupoco": 0.81, "thesis": 0.80, "pairs": 0.95,
                "triples": 0.935}}
    for machine in (AMD, INTEL):
        short, figure = TITLE[machine].split("-")[0].lower(), papers[machine]
        spark = (lambda s: True) if machine == INTEL else (
            lambda s: "svm" not in jobs_of(s))
        own = [
            Set(f"nupoco-{short}", "NuPoCo's ten scenarios", "nupoco", machine,
                {"nupoco": figure["nupoco"]}),
            Set(f"thesis-{short}", "the thesis' eighteen", "thesis", machine,
                {"nupoco": figure["thesis"]}),
            Set(f"pairs-{short}", "MOCA's pairs", "moca", machine,
                {"moca": figure["pairs"]},
                lambda s, ok=spark: ok(s) and len(jobs_of(s)) == 2),
            Set(f"triples-{short}", "MOCA's triples", "moca", machine,
                {"moca": figure["triples"]},
                lambda s, ok=spark: ok(s) and len(jobs_of(s)) == 3)]
        out += own + [with_records(s) for s in own]
        out.append(Set(f"random-{short}", f"{random_mixes} random mixes",
                       None, machine))
        out[-1].random = random_mixes
        for seed in WIDE_SEEDS:
            out.append(Set(f"wide-{seed}-{short}", f"seed {seed}", None, machine,
                           policies=WIDE))
            out[-1].random, out[-1].seed = wide, seed
    out.append(Set("case-study", "the case study FT+EP+BS", "case-study", AMD,
                   {"nupoco": 0.81}))
    out.append(Set("big", "16 jobs on 256 cores", "big", BIG,
                   library=LIBRARY[AMD]))
    for wait in ("active", "passive"):
        out.append(Set(f"{wait}-amd", "NuPoCo's ten scenarios", "nupoco", AMD,
                       policies=["native"], wait=wait))
    return out


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ntt(results, s, policy):
    """{scenario: NTT} of POLICY in set S."""
    native = results[s.name]["native"]
    return {name: r["makespan_s"] / native[name]["makespan_s"]
            for name, r in results[s.name][policy].items()}


def hmean(results, s, policy):
    return {name: r["hmean"] for name, r in results[s.name][policy].items()}


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |",
             "|" + "|".join("---" if i == 0 else "--:"
                            for i in range(len(head))) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def label(policy):
    return f"`{policy}`" + (f" ({PAPER_NAME[policy]})"
                            if policy in PAPER_NAME else "")


def summary(results, chosen):
    """NTT and Hmean of each policy in the sets CHOSEN; the papers' NTT in
    brackets."""
    head = ["policy"]
    for s in chosen:
        count = len(results[s.name]["native"])
        head += [f"{s.title} ({count}): NTT", "Hmean"]
    rows = []
    for policy in POLICIES:
        row = [label(policy)]
        for s in chosen:
            paper = f" ({s.paper[policy]:g})" if policy in s.paper else ""
            row += [f"{geomean(list(ntt(results, s, policy).values())):.2f}{paper}",
                    f"{geomean(list(hmean(results, s, policy).values())):.2f}"]
        rows.append(row)
    return table(head, rows)


def each(results, s):
    """NTT of each scenario of S."""
    shown = [p for p in SHOWN if p in s.policies]
    values = {p: ntt(results, s, p) for p in shown}
    return table(["scenario"] + [f"`{p}`" for p in shown],
                 [[name] + [f"{values[p][name]:.2f}" for p in shown]
                  for name in values[shown[0]]])


def worst_over_simple(results, s, policy):
    """(greatest NTT of POLICY over the best simple way's, scenario)."""
    values = {p: ntt(results, s, p) for p in set(SIMPLE) | {policy}}
    return max((values[policy][n] / min(values[p][n] for p in SIMPLE), n)
               for n in values[policy])


def must_hold(results, chosen):
    """What is claimed, in how many sets it holds, and where it does not."""
    def mean(s, p):
        return geomean(list(ntt(results, s, p).values()))

    def as_good(policy, others):
        """[(holds, numbers)] of each set."""
        for s in chosen:
            if policy not in s.policies:
                continue
            best, who = min((mean(s, p), p) for p in s.policies if others(p))
            own = mean(s, policy)
            yield own <= best * 1.0005, f"{s.name} {own:.3f} to {best:.3f} ({who})"

    def bounded(policy):
        for s in chosen:
            worst, where = worst_over_simple(results, s, policy)
            yield worst <= 1.03, f"{s.name} {worst:.3f} ({where})"

    claims = [("`nupoco` is as good as `native`, `scalability`, `amdahl`",
               as_good("nupoco", ("native", "scalability", "amdahl").__contains__))]
    claims += [("`corun` is as good as every other policy",
                as_good("corun", lambda p: p != "corun")),
               ("`corun` is never over 3 % worse than the best simple way",
                bounded("corun"))]
    rows = []
    for what, found in claims:
        found = list(found)
        rows.append([what, f"{sum(holds for holds, _ in found)} of {len(found)}",
                     "; ".join(text for holds, text in found if not holds)])
    return table(["claim", "holds in sets", "not in"], rows)


def timeshare_table(source):
    """What check_timeshare.py measured, as it is in the tree."""
    with open(os.path.join(source, "docs", "evaluation", "timeshare.json"),
              encoding="utf-8") as file:
        data = json.load(file)
    p = data["params"]
    text = (f"{data['machine']}, load {data['load']:.1f} before the runs; "
            f"slice {p['slice_s'] * 1e3:.1f} ms, spinning {p['spin_s'] * 1e3:.1f}"
            f" ms, a barrier with sleep {p['wake_s'] * 1e6:.0f} us more:\n\n")
    runs, gaps = {}, {}
    for r in data["rows"]:
        runs.setdefault((" + ".join(r["pair"]), r["wait"]), []).append(r)
        gaps.setdefault(r["program"], []).append(r["gap_s"] * 1e3)

    def both(found, key):
        return ", ".join(f"{r[key]:.2f}" for r in found)

    rows = [[pair, wait, both(found, "measured"), both(found, "predicted")]
            for (pair, wait), found in runs.items()]
    text += ("Milliseconds between barriers: " + ", ".join(
        f"{program} {min(g):.3g} to {max(g):.3g}"
        for program, g in gaps.items()) + ".\n\n")
    errors = [abs(math.log(r["predicted"] / r["measured"]))
              for r in data["rows"]]
    return (text + table(["programs", "waiting", "slower, measured", "model"],
                         rows) +
            f"\nIn the mean the model is {100 * (math.exp(sum(errors) / len(errors)) - 1):.0f}"
            f" % off, at worst by a factor of {math.exp(max(errors)):.2f}.\n")


def program_table(source):
    """What each program is like; programs.json has each region's source."""
    libraries = []
    for name in LIBRARY.values():
        with open(os.path.join(source, "simulator", "workloads",
                               name + ".json"), encoding="utf-8") as file:
            libraries.append(json.load(file)["programs"])

    def regions(program):
        return [s for phase in program["phases"] for s in phase["regions"]]

    def rates(program):
        found = [sum(s[k] for k in ("read_per_us", "write_per_us",
                                    "prefetch_per_us"))
                 for s in regions(program)
                 if s.get("kind", "parallel") == "parallel"]
        return f"{min(found):.3g} to {max(found):.3g}"

    rows = []
    for program, other in zip(*libraries):
        work = serial = 0
        for phase in program["phases"]:
            for s in phase["regions"]:
                own = phase["repeat"] * s["work_s"]
                work += own
                serial += own if s.get("kind") == "serial" else 0
        every = regions(program)
        rows.append([
            program["name"], str(len(every)), f"{work:.0f}", f"{serial:.1f}",
            rates(program), rates(other),
            " and ".join(sorted({s.get("placement", "interleaved")
                                 for s in every})),
            str(max(s.get("barriers", 0) for s in every))])
    return table(["program", "regions", "work on AMD-64, s", "of it serial",
                  "requests/us AMD-64", "Intel-72", "memory", "barriers"],
                 rows)


def records(results, by_name):
    """NTT of corun where jobs have been run before, and where not."""
    pairs = [(s, by_name[s.name + "-records"]) for s in by_name.values()
             if s.name + "-records" in by_name]
    titles = list(dict.fromkeys(s.title for s, _ in pairs))
    machines = list(dict.fromkeys(s.machine for s, _ in pairs))
    rows = []
    for title in titles + ["all"]:
        row = [title]
        for machine in machines:
            for i in range(2):
                values = [v for pair in pairs if pair[0].machine == machine
                          and title in (pair[0].title, "all")
                          for v in ntt(results, pair[i], "corun").values()]
                row.append(f"{geomean(values):.3f}" if values else "")
        rows.append(row)
    return table(["set"] + [head for machine in machines
                            for head in (f"{TITLE[machine]}: `corun`", "with records")], rows)


def waiting(results):
    """The ten scenarios with other waiting policies, relative to default."""
    base = results["nupoco-amd"]["native"]
    rows = []
    for wait in ("active", "passive"):
        other = results[f"{wait}-amd"]["native"]
        values = [other[n]["makespan_s"] / base[n]["makespan_s"] for n in base]
        rows.append([wait, f"{geomean(values):.2f}",
                     f"{min(values):.2f}", f"{max(values):.2f}"])
    return table(["time sharing", "NTT, geomean of the ten", "least", "most"],
                 rows)


def robustness(results, s):
    rows = []
    for policy in POLICIES:
        values = list(ntt(results, s, policy).values())
        worst, where = worst_over_simple(results, s, policy)
        rows.append([f"`{policy}`", f"{geomean(values):.3f}",
                     f"{max(values):.2f}",
                     f"{geomean(list(hmean(results, s, policy).values())):.3f}",
                     f"{worst:.2f} ({where})"])
    return table(["policy", "NTT", "greatest NTT", "Hmean",
                  "greatest over the best simple way"], rows)


def single(results, s):
    """NTT and Hmean of the one scenario of S."""
    rows = [[f"`{p}`", *(f"{value:.3f}" for measure in (ntt, hmean)
                         for value in measure(results, s, p).values())]
            for p in POLICIES]
    return table(["policy", "NTT", "Hmean"], rows)


def wide(results, chosen):
    """Of each set of many random mixes: how often ours lose to the best simple
    way, and to the policy best-simple, which cannot know which that is."""
    rows = []
    for s in chosen:
        simple = {n: min(results[s.name][p][n]["makespan_s"] for p in SIMPLE)
                  for n in results[s.name]["native"]}
        for policy in s.policies[2:]:
            own = results[s.name][policy]
            over = [own[n]["makespan_s"] / simple[n] for n in simple]
            worst, where = worst_over_simple(results, s, policy)
            online = max(r["makespan_s"]
                         / results[s.name]["best-simple"][n]["makespan_s"]
                         for n, r in own.items())
            rows.append([f"{TITLE[s.machine]}, {s.title}", f"`{policy}`",
                         f"{geomean(list(ntt(results, s, policy).values())):.3f}",
                         f"{geomean(list(hmean(results, s, policy).values())):.3f}",
                         f"{sum(x > 1.03 for x in over)} of {len(over)}",
                         f"{worst:.3f} ({where})", f"{online:.3f}"])
    return table(["machine", "policy", "NTT", "Hmean",
                  "over 3 % worse than the best simple way", "worst",
                  "worst relative to `best-simple`"], rows)


def big(results, s):
    """As robustness(), with the time of decisions relative to greedy's."""
    def decide(policy):
        return geomean([r["decide_us"]["mean"]
                        for r in results[s.name][policy].values()])

    rows = []
    for policy in POLICIES:
        worst, _ = worst_over_simple(results, s, policy)
        rows.append([f"`{policy}`",
                     f"{geomean(list(ntt(results, s, policy).values())):.3f}",
                     f"{geomean(list(hmean(results, s, policy).values())):.3f}",
                     f"{worst:.2f}", f"{decide(policy) / decide('greedy'):.2f}"])
    return table(["policy", "NTT", "Hmean", "over the best simple way",
                  "mean time of a decision over `greedy`'s"], rows)


def brief(result):
    """What evaluation.json keeps of coschedsim's answer."""
    return {"scenario": result["scenario"],
            "makespan_s": round(result["makespan_s"], 3),
            "hmean": round(result["hmean"], 3),
            "turnaround_s": {j["name"]: round(j["turnaround_s"], 2)
                             for j in result["jobs"]}}


def report(args, chosen, results):
    """({block: Markdown}, everything as JSON)."""
    by_name = {s.name: s for s in chosen}
    blocks = {"programs": program_table(args.source),
              "timeshare": timeshare_table(args.source)}
    for short in ("amd", "intel"):
        there = [by_name[f"{n}-{short}"]
                 for n in ("nupoco", "thesis", "pairs", "triples")
                 if f"{n}-{short}" in by_name]
        if there:
            blocks[f"summary-{short}"] = summary(results, there)
        for s in there:
            if s.file == "nupoco":
                blocks[s.name] = each(results, s)
    for name in ("random-amd", "random-intel"):
        if name in by_name:
            blocks[name] = robustness(results, by_name[name])
    if "case-study" in by_name:
        blocks["case-study"] = single(results, by_name["case-study"])
    if "big" in by_name:
        blocks["big"] = big(results, by_name["big"])
    if any(name.endswith("-records") for name in by_name):
        blocks["records"] = records(results, by_name)
    many = [s for s in chosen if s.policies is WIDE]
    if many:
        blocks["wide"] = wide(results, many)
    if {"active-amd", "passive-amd", "nupoco-amd"} <= set(by_name):
        blocks["waiting"] = waiting(results)
    compared = [s for s in chosen if s.policies in (POLICIES, WIDE)]
    blocks["must-hold"] = must_hold(results, compared)
    data = {s.name: {"machine": s.machine, "paper": s.paper,
                     "results": {p: [brief(r) for r in
                                     results[s.name][p].values()]
                                 for p in s.policies}} for s in chosen}
    return blocks, data


def draw(path, chosen, results):
    """A bar of each policy's NTT for each set of the papers'."""
    shown = [s for s in chosen if s.paper and s.policies is POLICIES]
    bars = [p for p in POLICIES if p not in ("native", "greedy", "equal",
                                             "best-simple")]
    panels = []
    for s in shown:
        panel = svgchart.Panel(f"{s.title}, {TITLE[s.machine]}", (0, len(bars)),
                               (0, 1.4), y_label="NTT",
                               captions=[(k + 0.5, p)
                                         for k, p in enumerate(bars)])
        for k, p in enumerate(bars):
            panel.bars([(k + 0.1, 0.8,
                         geomean(list(ntt(results, s, p).values())))],
                       f"c{k % svgchart.LINES}")
            if p in s.paper:
                panel.line([(k, s.paper[p]), (k + 1, s.paper[p])], "alone")
        panel.line([(0, 1), (len(bars), 1)], "line dash")
        panels.append(panel)
    if panels:
        picture = svgchart.Picture(
            "Normalised total turnaround (NTT), geometric mean of each set",
            "A bar for each policy; less is better.")
        svgchart.grid(picture, panels, 3,
                      [("native time sharing: 1", "line dash", "line"),
                       ("the paper's figure", "alone", "line")])
        svgchart.write(path, svgchart.document([picture]))
