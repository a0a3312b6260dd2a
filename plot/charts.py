# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What coschedmodel, coschedsim, coschedctl and the demo print, as pictures.

of(data) takes decoded JSON and returns pictures (svgchart.py), or raises
InputError, which names the member that is wrong.  Objects that can be many
things have a member "chart" that says which, one of KINDS.
"""

import math
import re

import coretrace
import svgchart

MOST_BARS, MOST_PANELS, MOST_TIMELINES = 300, 64, 12
NTT = "makespan over native time sharing (NTT)"
# Members of machine descriptions as version 0.1.0 wrote them.
OLD = {"cpu_nodes": "llc_domains", "cpu_node": "llc_domain",
       "mem_nodes": "numa_nodes"}
SECONDS = {"": 1, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}


class InputError(Exception):
    """The input is not what can be drawn."""


# ---- reading -------------------------------------------------------------------

def member(value, key, kind, where="", default=InputError):
    """Member KEY of the object VALUE, at WHERE in the input, which must be of
    KIND.  A number is finite."""
    path = f"{where}.{key}" if where else key
    if not isinstance(value, dict):
        raise InputError(f"{where}: must be an object")
    if key not in value:
        if default is InputError:
            raise InputError(f"{path}: is missing")
        return default
    found = value[key]
    good = isinstance(found, kind) and (kind is bool or found is not True
                                        and found is not False)
    if not good or isinstance(found, float) and not math.isfinite(found):
        raise InputError(f"{path}: must be " + {
            str: "a text", bool: "true or false", dict: "an object",
            list: "an array"}.get(kind, "a finite number"))
    return found


def number(value, key, where="", default=InputError):
    return member(value, key, (int, float), where, default)


def rows(value, key, where=""):
    """(object, where it is) of the array KEY of VALUE, which is not empty."""
    path = f"{where}.{key}" if where else key
    found = member(value, key, list, where)
    if not found:
        raise InputError(f"{path}: is empty: nothing to draw")
    return [(row, f"{path}[{i}]") for i, row in enumerate(found)]


def first_of(items, most, what):
    """At most MOST of ITEMS, and what to say of the others."""
    if len(items) <= most:
        return items, ""
    return items[:most], f" Only the first {most} of {len(items)} {what} are drawn."


# ---- coschedmodel: curves --------------------------------------------------------

def curves(data, title, x, x_label, y, y_label, group=None):
    """Members Y of data["points"] over member X, a line for each of Y and each
    value of GROUP."""
    lines = {}
    for row, where in rows(data, "points"):
        value = row.get(group, "") if group and isinstance(row, dict) else ""
        for key in y:
            height = number(row, key, where,
                            InputError if key == y[0] else None)
            if height is None:
                continue
            name = f"{group} {value:g}" if isinstance(value, (int, float)) \
                else ", ".join(filter(None, (key, value)))
            lines.setdefault(name, []).append((number(row, x, where), height))
    return [plot(title, x_label, y_label, lines)]


def plot(title, x_label, y_label, lines):
    """One diagram of LINES: {name: points}."""
    picture = svgchart.Picture(title, f"{y_label} over {x_label}: " +
                               "; ".join(lines))
    panel = svgchart.Panel("", x_label=x_label, y_label=y_label)
    entries = []
    for i, (name, points) in enumerate(lines.items()):
        panel.line(points, svgchart.line_class(i))
        if len(points) <= 64:
            panel.dots(points, f"c{i % svgchart.LINES}")
        entries.append((name, svgchart.line_class(i), "line"))
    svgchart.grid(picture, [panel], 1, entries, (640, 360))
    return picture


def station(data):
    return curves(data, "One memory controller", "cores", "cores", ["speedup"],
                  "speedup over one core", "rho")


def speedup(data):
    return curves(data, "Predicted speedup", "llc_domains", "LLC domains",
                  ["speedup", "measured"], "speedup over one LLC domain", "loop")


def utilisation(data):
    return curves(data, "All ways to divide the cores between two jobs", "first",
                  "cores of the first job", ["cpu", "memory", "utilisation"],
                  "utilisation")


# ---- coschedmodel machine, coschedctl calibrate ------------------------------------

def service_ns(row, where):
    """Mean time of a read."""
    times = row.get("service_us") if isinstance(row, dict) else None
    if isinstance(times, dict):
        return number(times, "read", where + ".service_us") * 1e3
    return number(row, "service_us", where) * 1e3


def machine(data):
    """Nodes and links; what was measured, if it is a calibration."""
    title = member(data, "name", str, default="machine")
    picture = svgchart.Picture(
        title, "Memories on a circle with the cores that are at home on them, "
        "and the links between them.")
    memories = [service_ns(*row) for row in rows(data, "numa_nodes")]
    homes = [[] for _ in memories]
    for i, (row, where) in enumerate(rows(data, "llc_domains")):
        home = index(number(row, "memory", where, min(i, len(memories) - 1)),
                     memories, f"{where}.memory")
        homes[home].append((i, len(cpus_of(member(row, "cpus", str, where),
                                           where))))
    draw_machine(picture, memories, homes, member(data, "links", list,
                                                  default=[]))
    out = [picture]
    if member(data, "calibration", dict, default={}):
        out += calibration(data["calibration"], member(
            data["llc_domains"][0], "memory", int, "llc_domains[0]", 0))
    return out


def cpus_of(text, where):
    """The CPUs of a list as 0-3,8."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise InputError(f"{where}.cpus: {text}: not a list of CPUs")
    out = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        out += range(int(low), int(high or low) + 1)
    return out


def index(value, items, where):
    """VALUE, which must be an index of ITEMS."""
    if value not in range(len(items)):
        raise InputError(f"{where}: must be from 0 to {len(items) - 1}")
    return int(value)


def draw_machine(picture, memories, homes, links):
    box, line = 140, 17
    size = max(420, box * len(memories) * 0.62 + 2 * box)
    radius = (size / 2 - 24 - box * 0.6) * (len(memories) > 1)
    heights = [line * (len(residents) + 1) + 10 for residents in homes]
    picture.width, angle = size, 2 * math.pi / len(memories)
    middle = 12 + max(radius * math.cos(angle * j) + height / 2
                      for j, height in enumerate(heights))

    def centre(j):
        return (size / 2 + radius * math.sin(angle * j),
                middle - radius * math.cos(angle * j))

    labels = []
    for i, link in enumerate(links):
        where = f"links[{i}]"
        a, b = (centre(index(number(link, end, where), memories,
                             f"{where}.{end}")) for end in ("from", "to"))
        picture.line([a, b], "s1")
        # Off the middle, where lines across the circle meet.
        labels.append((a[0] + (b[0] - a[0]) * 0.4, a[1] + (b[1] - a[1]) * 0.4,
                       f"{service_ns(link, where):.3g}" +
                       (" >" if member(link, "one_way", bool, where, False)
                        else "")))
    for x, y, text in labels:
        width = len(text) * svgchart.CHARACTER
        picture.rect(x - width / 2, y - 8, width, 14, "back")
        picture.label(x, y + 3, text, anchor="middle", size=11)
    for j, residents in enumerate(homes):
        x, y = centre(j)[0] - box / 2, centre(j)[1] - heights[j] / 2
        picture.y = max(picture.y, y + heights[j] + 32)
        picture.rect(x, y, box, heights[j], "back")
        picture.rect(x, y, box, heights[j], "s0")
        picture.label(x + box / 2, y + line, f"memory {j}: {memories[j]:.3g} ns",
                      anchor="middle")
        for i, count in residents:
            y += line
            picture.rect(x + 6, y + 7, box - 12, line - 2, "idle")
            picture.label(x + box / 2, y + line + 2, f"LLC {i}: {count} cores",
                          anchor="middle", size=11)
    picture.label(24, picture.y, "ns: mean service time of a read, at controllers "
                  "and links", "faint")
    picture.y += 8


def calibration(data, home):
    """Rates as in thesis figure 3.8, and the time of each node with each
    memory.  HOME is the memory of node 0."""
    rates, sums = {}, {}
    for run, where in rows(data, "runs", "calibration"):
        where = "calibration." + where if where[0] == "r" else where
        if "llc_domain" not in run:     # all cores
            continue
        us = number(run, "us", where)
        requests = sum(number(run, key, where)
                       for key in ("reads", "writes", "prefetches"))
        node, memory = (member(run, key, int, where)
                        for key in ("llc_domain", "memory"))
        if us <= 0 or requests <= 0:
            raise InputError(f"{where}: has no time or no requests")
        if (node, memory) == (0, home):
            rates.setdefault(member(run, "kernel", str, where), []).append(
                (number(run, "stride", where), requests / us))
        time, count = sums.get((node, memory), (0, 0))
        sums[node, memory] = time + us, count + requests
    nodes, memories = ([f"{what} {k}" for k in range(1 + max(
        key[i] for key in sums))] for i, what in enumerate(("LLC domain", "memory")))
    times = svgchart.Picture(
        "Mean time per request (ns) of an LLC domain's cores with each memory",
        "The darker a field is, the longer a request takes.")
    svgchart.matrix(times, [[sums[i, j][0] / sums[i, j][1] * 1e3
                             if (i, j) in sums else None
                             for j in range(len(memories))]
                            for i in range(len(nodes))], nodes, memories)
    times.width = max(480, 120 + 84 * len(memories))
    return [plot("Service rate, LLC domain 0 with its own memory",
                 "stride (bytes)", "requests per microsecond", rates), times]


# ---- coschedmodel ks ---------------------------------------------------------------

def ks(data):
    """Histograms beside those of the Poisson distribution (thesis A.3, A.4)."""
    panels = []
    for region, where in rows(data, "regions"):
        for node, at in rows(region, "nodes", where):
            if "histogram" in node:
                panels.append(histogram(node, at, member(region, "region", str,
                                                         where)))
    if not panels:
        raise InputError("regions: nothing was counted: nothing to draw")
    metric = member(data, "metric", str)
    panels, more = first_of(panels, MOST_PANELS, "samples")
    picture = svgchart.Picture(
        f"Requests per interval ({metric}) and Poisson distributions of the "
        "same mean", "How many intervals had so many requests, and how many a "
        "Poisson distribution would have." + more)
    svgchart.grid(picture, panels, 4, [("measured", "c0", "box"),
                                       ("expected", "c1", "box")], (230, 130))
    picture.label(24, picture.y, more.strip(), "faint")
    return [picture]


def histogram(node, where, name):
    shown = member(node, "histogram", dict, where)
    at = where + ".histogram"
    low, width = (number(shown, key, at) for key in ("low", "width"))
    parts = {}
    for key in ("measured", "expected"):
        parts[key] = member(shown, key, list, at)
        for i, part in enumerate(parts[key]):
            number({f"{key}[{i}]": part}, f"{key}[{i}]", at)
    bins = len(parts["measured"])
    if not bins or bins != len(parts["expected"]):
        raise InputError(f"{at}: measured and expected must be equally long, "
                         "and not empty")
    width = width or 1
    memory = f"memory {node['memory']}: " if "memory" in node else ""
    rejected = "" if member(node, "poisson", bool, where) else ": rejected"
    panel = svgchart.Panel(
        svgchart.fitting(name, 230), x=(low, low + bins * width),
        x_label="requests per interval", y_label="part of the intervals",
        note=f"{memory}D {number(node, 'd', where):.3f}, critical "
        f"{number(node, 'critical', where):.3f}{rejected}")
    for k, key in enumerate(("measured", "expected")):
        panel.bars([(low + width * (i + 0.08 + 0.42 * k), width * 0.42, part)
                    for i, part in enumerate(parts[key])], f"c{k}")
    return panel


# ---- coschedsim --------------------------------------------------------------------

def comparison(data):
    """NTT of each row; over the first key that was varied if it is a number."""
    found = [(member(row, "scenario", str, f"[{i}]"),
              member(row, "policy", str, f"[{i}]"), number(row, "ntt", f"[{i}]"),
              member(row, "varied", dict, f"[{i}]", {}))
             for i, row in enumerate(data)]
    for i, (_, _, ntt, _) in enumerate(found):
        if ntt <= 0:
            raise InputError(f"[{i}].ntt: must be above 0")
    keys = list(found[0][3])
    values = [quantity(varied.get(keys[0])) for _, _, _, varied in found] \
        if keys else [None]
    if None in values:
        picture = svgchart.Picture(NTT, "A bar for each scenario and policy.")
        found, more = first_of(found, MOST_BARS, "rows")
        svgchart.bars(picture, [
            (" ".join([scenario[:30], described(policy, varied)]), ntt, "c0")
            for scenario, policy, ntt, varied in found],
            "NTT, less is better" + more, digits=3)
        return [picture]
    lines = {}
    for (_, policy, ntt, varied), x in zip(found, values):
        name = described(policy, {k: varied[k] for k in keys[1:]})
        lines.setdefault(name, {}).setdefault(x, []).append(ntt)
    for name, points in lines.items():      # of several scenarios the geomean
        lines[name] = [(x, math.exp(sum(map(math.log, ntts)) / len(ntts)))
                       for x, ntts in sorted(points.items())]
    return [plot("A parameter varied", keys[0], NTT, lines)]


def described(policy, varied):
    return " ".join([policy, *(f"{k}={v}" for k, v in varied.items())])


def quantity(text):
    """TEXT as a number, times in seconds; None: it is none."""
    match = re.fullmatch(r"([-+.\deE]+)([a-z]*)", str(text))
    try:
        return float(match.group(1)) * SECONDS[match.group(2)]
    except (AttributeError, ValueError, KeyError):
        return None


def allocations(data):
    """Cores over time of each run."""
    out = []
    shown, more = first_of(data, MOST_TIMELINES, "runs")
    for i, run in enumerate(shown):
        where = f"[{i}]"
        title = f"{member(run, 'scenario', str, where)} under " \
            f"{member(run, 'policy', str, where)}: " \
            f"{number(run, 'makespan_s', where):.1f} s"
        jobs = rows(run, "jobs", where)
        picture = svgchart.Picture(
            title, "Which job had which CPU when; grey: several, among whom the "
            "kernel chooses." + more)
        svgchart.cores(
            picture, coretrace.select(segments(run, jobs, where), None),
            {str(j): member(job, "name", str, at)
             for j, (job, at) in enumerate(jobs)})
        out.append(picture)
    return out


def segments(run, jobs, where):
    """Who had which CPU, from the changes in RUN."""
    holders, since, out = {}, {}, []

    def end(cpu, now):
        who = holders.get(cpu)
        if who and now > since[cpu]:
            out.append(coretrace.Segment(
                cpu, since[cpu], now,
                str(next(iter(who))) if len(who) == 1 else ""))
        since[cpu] = now

    for change, at in rows(run, "allocation", where):
        now = number(change, "time_s", at)
        job = index(number(change, "job", at), jobs, at + ".job")
        text = member(change, "cpus", str, at)
        mine = set(cpus_of(text, at) if text else [])
        for cpu in mine | set(holders):
            who = holders.get(cpu, frozenset()) - {job}
            if cpu in mine:
                who |= {job}
            if who != holders.get(cpu):
                end(cpu, now)
                holders[cpu] = who
    last = max(number(job, "end_s", at) for job, at in jobs)
    for cpu in holders:
        end(cpu, last)
    return out


def trace(data):
    """The agent's trace."""
    try:
        found = coretrace.select(coretrace.parse(data), None)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"not a trace: {error!r}") from error
    if not found:
        raise InputError("traceEvents: nobody had a CPU: nothing to draw")
    picture = svgchart.Picture("CPUs over time", "Which job had which CPU, from "
                               "the node agent's trace.")
    svgchart.cores(picture, found, {})
    return [picture]


# ---- the demo ------------------------------------------------------------------------

def demo(data):
    """Of each mix who had which core, co-scheduled, and the makespan in each mode."""
    mixes = {}
    for i, row in enumerate(data):
        mixes.setdefault(member(row, "mix", str, f"[{i}]"), []).append((row, f"[{i}]"))
    out = []
    for mix, found in mixes.items():
        picture = svgchart.Picture(
            mix, "Left: which job had which CPU when, co-scheduled. Right: how long the jobs "
            "took together in each mode, with the least and the greatest of the rounds.")
        held, bars = [], {}
        for row, where in found:
            mode, job = (member(row, key, str, where) for key in ("mode", "job"))
            held += held_cores(row, where, job)
            if row.get("makespan_s") is not None:
                bars[mode] = makespan_bar(row, where, mode)
        middle = svgchart.WIDTH - 330
        svgchart.cores(picture, held, {s.job: s.job for s in held}, 76, middle, 176)
        bottom, picture.y = picture.y, 34
        order = sorted(bars, key=lambda mode: (mode == "coschedule", mode != "native", mode))
        svgchart.bars(picture, [bars[mode] for mode in order],
                      "seconds: median, least to greatest", middle + 24)
        picture.y = max(picture.y, bottom)
        out.append(picture)
    return out


def held_cores(row, where, job):
    """What JOB had in the round that is drawn: triples of CPU, start and end."""
    held = []
    for i, one in enumerate(member(row, "cores", list, where, [])):
        at = f"{where}.cores[{i}]"
        if not isinstance(one, list) or len(one) != 3:
            raise InputError(f"{at}: must be CPU, start and end")
        cpu, start, end = (number({at: value}, at) for value in one)
        held.append(coretrace.Segment(int(cpu), start, end, job))
    return held


def makespan_bar(row, where, mode):
    """The bar of MODE, for svgchart.bars()."""
    seen = [number(one, "makespan_s", at) for one, at in rows(row, "runs", where)
            if not isinstance(one, dict) or one.get("makespan_s") is not None]
    value = number(row, "makespan_s", where)
    return (mode, value, "text" if mode == "coschedule" else "shared",
            (min(seen, default=value), max(seen, default=value)))


# ---- which it is ---------------------------------------------------------------------

KINDS = {"station": station, "speedup": speedup, "utilisation": utilisation,
         "ks": ks}


def renamed(value):
    """VALUE with the members of OLD as they are called now."""
    if isinstance(value, dict):
        return {OLD.get(k, k): renamed(v) for k, v in value.items()}
    return [renamed(v) for v in value] if isinstance(value, list) else value


def of(data):
    """The pictures of DATA."""
    if isinstance(data, list):
        if not data:
            raise InputError("is an empty array: nothing to draw")
        if all(isinstance(row, dict) and "ntt" in row for row in data):
            return comparison(data)
        if all(isinstance(row, dict) and "allocation" in row for row in data):
            return allocations(data)
        if all(isinstance(row, dict) and "makespan_to_native" in row for row in data):
            return demo(data)
        raise InputError("an array of something else than the demo's results or coschedsim's: "
                         "compare --json, sweep --json, run --explain --json")
    if not isinstance(data, dict):
        raise InputError("must be an object or an array")
    if "chart" in data:
        name = member(data, "chart", str)
        if name not in KINDS:
            raise InputError(f"chart: {name}: unknown, one of {', '.join(KINDS)}")
        return KINDS[name](data)
    if "traceEvents" in data:
        return trace(data)
    if "llc_domains" in data or "cpu_nodes" in data:
        return machine(renamed(data))
    raise InputError("has nothing that can be drawn: see coschedplot(1) for what "
                     "can")
