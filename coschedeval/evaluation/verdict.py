# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the measurements of a mix say, in numbers and in one sentence."""

from evaluation import intervals

PRECISION = 0.03    # half of the interval that is wanted, relative


def makespan(run):
    return run.makespan


def turnaround(run):
    return run.mean_turnaround


def cpu_time(run):
    return sum(run.cpu_s) + run.agent_s


def in_best_order(run):
    """Mean turnaround of jobs one after the other, had the shortest been first."""
    ends, lengths = [0.0] + run.turnaround, []
    for before, end in zip(ends, ends[1:]):
        lengths.append(end - before)
    total = so_far = 0.0
    for length in sorted(lengths):
        so_far += length
        total += so_far
    return total / len(lengths)


class Result:
    """All rounds of a mix: ROUNDS is a list of {mode name: Run} without those that do not count."""

    def __init__(self, mix, modes):
        self.mix, self.modes, self.rounds = mix, modes, []
        self.disturbed, self.problems = 0, {}
        self.prediction = None      # what the recordings say: prediction.compare()

    def measured(self, mode):
        return [r[mode] for r in self.rounds if mode in r]

    def relative(self, mode, reference="native", what=makespan):
        return intervals.ratio(self.rounds, mode, reference, what)

    def busy(self):
        """Were more than half of the runs that count disturbed by others?"""
        runs = [one for seen in self.rounds for one in seen.values()]
        return 2 * sum(one.disturbed for one in runs) > len(runs)

    def known(self):
        """Are all makespans relative to native known well enough?"""
        estimates = [self.relative(m.name) for m in self.modes if m.name != "native"]
        wanted = [e for e in estimates if e is not None]
        return bool(wanted) and all(e.known(PRECISION) for e in wanted)

    def best(self, modes):
        """The one of MODES whose makespan was least, with hindsight; None if none was measured."""
        seen = [(intervals.median([r.makespan for r in self.measured(m.name)]), m)
                for m in modes if self.measured(m.name)]
        return min(seen, key=lambda pair: pair[0])[1] if seen else None

    def simple(self):
        """The best way without co-scheduling and without time sharing."""
        return self.best([m for m in self.modes
                          if not m.policy and m.name not in ("native", "passive", "weights")])

    def policy(self):
        """The first policy, chosen before anything was measured: verdicts are about it alone."""
        return next((m for m in self.modes if m.policy), None)

    def sentence(self):
        ours, simple = self.policy(), self.simple()
        if not ours or not self.measured(ours.name):
            return f"{self.mix.name}: co-scheduling was not measured"
        parts = [intervals.worded(self.relative(ours.name), "time sharing")]
        if simple:
            parts.append(intervals.worded(self.relative(ours.name, simple.name),
                                          f"the best simple way ({simple.text})"))
        return f"{self.mix.name}: co-scheduling by {ours.name} " + " and ".join(parts)

    def record(self):
        modes = {}
        for mode in self.modes:
            runs = self.measured(mode.name)
            if not runs:
                modes[mode.name] = {"text": mode.text, "problem": self.problems.get(mode.name)}
                continue
            entry = {"text": mode.text, "runs": [run.record() for run in runs],
                     "makespan_s": intervals.median([run.makespan for run in runs]),
                     "mean_turnaround_s": intervals.median([r.mean_turnaround for r in runs]),
                     "problem": self.problems.get(mode.name)}
            for name, what in (("makespan", makespan), ("turnaround", turnaround),
                               ("cpu_time", cpu_time)):
                estimate = self.relative(mode.name, what=what)
                entry[name + "_to_native"] = estimate and estimate.record()
            if mode.in_turn:
                entry["best_order_turnaround_s"] = intervals.median(
                    [in_best_order(run) for run in runs])
            modes[mode.name] = entry
        ours = self.policy()
        return {"mix": self.mix.name, "jobs": [job.command for job in self.mix.jobs],
                "rounds": len(self.rounds), "disturbed": self.disturbed, "modes": modes,
                "policy": ours and ours.name, "sentence": self.sentence(),
                "prediction": self.prediction}


def rows(results):
    """Makespans relative to native: a list of cells a mix, the heading first."""
    names = []
    for result in results:
        names += [m.name for m in result.modes if m.name not in names and
                  not m.name.startswith("split-")]
    table = [["mix"] + names]
    for result in results:
        table.append([result.mix.name] + [_cell(result, name) for name in names])
    if len(results) > 1:
        table.append(["geometric mean"] + [_mean(results, name) for name in names])
    return table


def _cell(result, name):
    estimate = result.relative(name)
    if estimate is not None and name == "native":
        return f"{intervals.median([r.makespan for r in result.measured(name)]):.2f} s"
    return ratio_text(estimate)


def ratio_text(estimate):
    if estimate is None:
        return "-"
    if estimate.half is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ± {0.5 * (estimate.high - estimate.low):.2f}"


def table(results):
    return text_of(rows(results))


def text_of(cells):
    """CELLS as aligned columns."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return "\n".join("  ".join([row[0].ljust(widths[0])] +
                               [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
                     for row in cells)


def _mean(results, name):
    values = [result.relative(name) for result in results]
    if name == "native" or any(v is None for v in values):
        return ""
    return f"{intervals.geomean([v.value for v in values]):.3f}"


def summary(results):
    """How the first policy compares over all mixes; sentences."""
    ours, to_native, to_simple = None, [], []
    for result in results:
        policy, simple = result.policy(), result.simple()
        native = policy and result.relative(policy.name)
        if not native:
            continue
        ours = policy.name
        to_native.append(native.value)
        other = simple and result.relative(ours, simple.name)
        if other:
            to_simple.append((other.value, result.mix.name))
    if not to_native:
        return []
    text = (f"{ours}: makespan {intervals.geomean(to_native):.3f} of time sharing's over "
            f"{len(to_native)} mixes")
    if to_simple:
        worst, where = max(to_simple)
        text += (f", {intervals.geomean([v for v, _ in to_simple]):.3f} of the best simple "
                 f"way's with hindsight, at worst {worst:.2f} ({where})")
    return [text]


def remarks(results):
    """What else is to be known: others' load, where memory lies, errors of predictions."""
    said = []
    busy = [result.mix.name for result in results if result.busy()]
    if busy:
        said.append("others computed on these CPUs in most runs, so that little can be said: " +
                    ", ".join(busy))
    said += [text for result in results for text in _memory(result)]
    compared = [result for result in results if result.prediction]
    return said + (_prediction_tables(compared) if compared else [])


def _memory(result):
    """Shares of each job's memory on each NUMA node, under time sharing and ours."""
    ours = result.policy()
    for mode in [m for m in result.modes if m.name == "native" or m is ours]:
        nodes = next((one.nodes for one in result.measured(mode.name) if one.nodes), {})
        for job, pages in nodes.items():
            total = sum(pages.values()) or 1
            yield f"{result.mix.name}, {mode.name}: memory of {job} lies on " + ", ".join(
                f"node {node} ({100 * count / total:.0f} %)"
                for node, count in sorted(pages.items()))


def _percent(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def _prediction_tables(results):
    """Errors of predicted speeds; what other policies would have done."""
    errors = [["mix", "job", "median", "90 %", "seconds compared"]]
    for result in results:
        for job in result.prediction["jobs"]:
            errors.append([result.mix.name, job["job"], _percent(job["median"]),
                           _percent(job["p90"]), f"{job['compared_s']:.1f}"])
    first = results[0].prediction
    replayed = [["mix"] + [name for name in first["replayed_makespan_s"]]]
    commands = []
    for result in results:
        makespans = result.prediction["replayed_makespan_s"]
        commands.append(f"  coschedsim replay --policy NAME {result.prediction['recordings'][0]}")
        if "problem" in makespans:
            commands[-1] += f"    ({makespans['problem']})"
        elif list(makespans) == replayed[0][1:]:
            replayed.append([result.mix.name] + [f"{value / makespans[first['policy']]:.2f}"
                                                 for value in makespans.values()])
    said = [f"\nErrors of the speeds that {first['policy']} predicted, by time:", text_of(errors)]
    if len(replayed) > 1:
        said += [f"\nMakespans of replayed jobs relative to {first['policy']}'s, simulated:",
                 text_of(replayed)]
    return said + ["\nAnother policy:"] + commands
