# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What the agent says (protocol/replies.md) as metrics.

    families = of(ping, status, jobs=64)
    text = render(families, openmetrics=True)

A Family is a metric with its samples.  What the agent does not say, or not as it should, is
left out, never 0.  NAMES is the one list of metrics: cosched-exporter(8) has the same.
"""

import math
import os
import re
from collections import namedtuple

STATES = ("announced", "starting", "serial", "malleable", "pinned", "parked", "suspended",
          "ended")
LIMITS = ("turn", "stopped", "serial", "barrier", "memory", "compute")
LABEL_MOST = 64         # characters of a value that a user chose
CPUS_MOST = 1 << 16     # in a list
STATIONS_MOST = 512     # controllers, links
PROC_STAT = "/proc/stat"

# Name -> type and help.  Counters get "_total" behind their name.
NAMES = {
    "cosched_up": ("gauge", "Whether the agent answered."),
    "cosched": ("info", "The agent's version, and what it is set to."),
    "cosched_drained": ("gauge", "Whether sharing is drained."),
    "cosched_problems": ("gauge", "What keeps the agent from doing all of its work."),
    "cosched_records_waiting": ("gauge", "Records of ended jobs that Slurm has not got yet."),
    "cosched_pool_cpus": ("gauge", "CPUs that the agent divides."),
    "cosched_pool_cores": ("gauge", "Cores among them."),
    "cosched_pool_held_cpus": ("gauge", "CPUs that jobs have."),
    "cosched_pool_busy_seconds": ("counter", "Time for which CPUs of the pool were not idle."),
    "cosched_computing_cores": ("gauge", "Cores' worth of computing, as the model has it."),
    "cosched_controller_utilisation_ratio":
        ("gauge", "Utilisation of a memory controller, as the model has it."),
    "cosched_link_utilisation_ratio":
        ("gauge", "Utilisation of a link between NUMA nodes, as the model has it."),
    "cosched_prediction_error_ratio":
        ("gauge", "Mean difference of predicted and measured speeds, by cores."),
    "cosched_jobs": ("gauge", "Jobs of the node by state."),
    "cosched_jobs_omitted": ("gauge", "Jobs that are not told of by themselves."),
    "cosched_epochs": ("counter", "Periods of the agent's control loop."),
    "cosched_epochs_late": ("counter", "Of them, that began half a period late or more."),
    "cosched_decisions": ("counter", "How often CPUs were perhaps to be divided anew."),
    "cosched_plans": ("counter", "How often that was worked out."),
    "cosched_plan_seconds": ("counter", "Time that this took."),
    "cosched_plan_max_seconds": ("gauge", "The longest of these times."),
    "cosched_core_moves": ("counter", "Cores that came to a job or left one."),
    "cosched_agent_cpu_seconds": ("counter", "CPU time that the agent used."),
    "cosched_job": ("info", "A job's name and user."),
    "cosched_job_cores": ("gauge", "Cores that the job has."),
    "cosched_job_granted_cpus": ("gauge", "CPUs that Slurm gave it."),
    "cosched_job_live_seconds": ("counter", "Time for which it had processes."),
    "cosched_job_cpu_seconds": ("counter", "CPU time that it used."),
    "cosched_job_alone_seconds":
        ("counter", "Time alone that what it has done would have taken, as predicted."),
    "cosched_job_expected_seconds": ("gauge", "The same at its end, as earlier runs tell."),
    "cosched_job_work_core_seconds": ("gauge", "Core-seconds of computing so far."),
    "cosched_job_regions_begun": ("gauge", "Parallel regions begun."),
    "cosched_job_core_moves": ("counter", "Cores that came to it or left it."),
    "cosched_job_speed_predicted_ratio":
        ("gauge", "Predicted speed relative to that on all its cores alone."),
    "cosched_job_speed_measured_ratio":
        ("gauge", "Measured speed relative to that on all its cores alone."),
    "cosched_job_limit": ("gauge", "What keeps it from being faster: 1 for that."),
    "cosched_job_energy_joules": ("gauge", "Estimated energy so far."),
}

# SAMPLES: list of (labels, value).
Family = namedtuple("Family", "name samples")


class Families:
    """Metrics in the making, by name."""

    def __init__(self):
        self.found = {}

    def add(self, metric, value, **labels):
        """A sample, unless VALUE is no number; none is negative."""
        if is_number(value):
            self.found.setdefault(metric, []).append((labels, value))

    def all(self):
        return [Family(name, self.found[name]) for name in NAMES if name in self.found]


def down():
    """What is known of an agent that does not answer."""
    return [Family("cosched_up", [({}, 0)])]


def of(ping, status, jobs):
    """Metrics of the agent's replies to ping and status; JOBS of its jobs are told of by
    themselves.  ValueError: these are no such replies."""
    f = Families()
    listed = status.get("jobs")
    if not isinstance(listed, list) or not all(isinstance(j, dict) for j in listed):
        raise ValueError("its answer is not as expected")
    f.add("cosched_up", 1)
    f.add("cosched", 1, version=word(ping, "version"), node=word(status, "node"),
          policy=word(status, "policy"), counters=word(status, "counters"))
    f.add("cosched_drained", int(bool(status.get("drained"))))
    f.add("cosched_problems", len(sequence(ping, "problems")))
    _add_node(f, status, listed)
    _add_totals(f, mapping(status, "totals"))
    shown = sorted(listed, key=lambda j: (-_number(j, "cores"), _number(j, "job")))[:jobs]
    f.add("cosched_jobs_omitted", len(listed) - len(shown) + _number(status, "omitted"))
    for job in sorted(shown, key=lambda j: _number(j, "job")):
        _add_job(f, job)
    return f.all()


def _add_node(f, status, jobs):
    pool, held = cpus(status.get("cpus")), set()
    f.add("cosched_pool_cpus", len(pool))
    f.add("cosched_pool_cores", status.get("cores"))
    for job in jobs:
        held |= cpus(job.get("cpus"))
    f.add("cosched_pool_held_cpus", len(held & pool))
    f.add("cosched_pool_busy_seconds", busy_seconds(pool))
    load = mapping(status, "load")
    f.add("cosched_computing_cores", load.get("cores"))
    for station in "controller", "link":
        for i, value in enumerate(sequence(load, station + "s")[:STATIONS_MOST]):
            f.add(f"cosched_{station}_utilisation_ratio", value, **{station: str(i)})
    f.add("cosched_prediction_error_ratio", prediction_error(jobs))
    for state in STATES:
        f.add("cosched_jobs", sum(j.get("state") == state for j in jobs), state=state)


def _add_totals(f, totals):
    f.add("cosched_records_waiting", totals.get("records"))
    for metric, key in (("epochs", "epochs"), ("epochs_late", "late"),
                        ("decisions", "decisions"), ("plans", "plans"),
                        ("plan_seconds", "plan_s"), ("plan_max_seconds", "plan_max_s"),
                        ("core_moves", "moves"), ("agent_cpu_seconds", "cpu_s")):
        f.add("cosched_" + metric, totals.get(key))


def _add_job(f, job):
    number = str(int(_number(job, "job")))
    progress, speed = mapping(job, "progress"), mapping(job, "speed")

    def add(metric, value, **labels):
        f.add("cosched_job" + metric, value, jobid=number, **labels)

    add("", 1, name=word(job, "name"), uid=str(int(_number(job, "uid"))))
    add("_cores", job.get("cores"))
    add("_granted_cpus", len(cpus(job.get("granted"))))
    add("_live_seconds", job.get("live_s"))
    for metric, key in (("_cpu_seconds", "cpu_s"), ("_alone_seconds", "alone_s"),
                        ("_work_core_seconds", "work_s"), ("_regions_begun", "steps"),
                        ("_core_moves", "moves")):
        add(metric, progress.get(key))
    expected = mapping(job, "history").get("expected_s")
    add("_expected_seconds", expected if expected else None)
    for key in "predicted", "measured":
        add(f"_speed_{key}_ratio", speed.get(key))
    for limit in LIMITS:
        add("_limit", int(speed.get("limit") == limit), limit=limit)
    add("_energy_joules", job.get("energy_j"))


def prediction_error(jobs):
    """Mean of |predicted / measured - 1|, by cores; None: nothing was measured."""
    total = cores = 0
    for job in jobs:
        speed = mapping(job, "speed")
        predicted, measured = _number(speed, "predicted"), _number(speed, "measured")
        if measured > 0 and predicted > 0:
            total += abs(predicted / measured - 1) * _number(job, "cores")
            cores += _number(job, "cores")
    return total / cores if cores else None


# ---- careful reading ----------------------------------------------------------------

def mapping(value, key):
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def sequence(value, key):
    found = value.get(key)
    return found if isinstance(found, list) else []


def word(value, key):
    found = value.get(key)
    return found[:LABEL_MOST] if isinstance(found, str) else ""


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and \
        math.isfinite(value) and value >= 0


def _number(value, key):
    found = value.get(key)
    return found if is_number(found) else 0


def cpus(text):
    """The set of CPUs in a list such as "0-3,8"; empty if it is none."""
    found = set()
    for part in text.split(",") if isinstance(text, str) and text else ():
        if not re.fullmatch(r"[0-9]{1,5}(-[0-9]{1,5})?", part):
            return set()
        first, _, last = part.partition("-")
        found.update(range(int(first), min(int(last or first) + 1, CPUS_MOST)))
    return found


def busy_seconds(pool):
    """Time for which the CPUs in POOL were not idle since the node's start, or None."""
    ticks, seen = 0, 0
    try:
        with open(PROC_STAT, encoding="ascii", errors="replace") as stat:
            for line in stat:
                name, *fields = line.split()
                if not name.startswith("cpu"):
                    break
                if name[3:].isdigit() and int(name[3:]) in pool:
                    # Not idle, iowait; guests are in user and nice.
                    ticks += sum(int(v) for i, v in enumerate(fields[:8]) if i not in (3, 4))
                    seen += 1
    except (OSError, ValueError):
        return None
    return ticks / os.sysconf("SC_CLK_TCK") if seen else None


# ---- text ---------------------------------------------------------------------------

_CONTROL = {code: "\ufffd" for code in (*range(32), *range(127, 160), *range(0xd800, 0xe000))}
_ESCAPES = {**_CONTROL, ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"}


def render(families, openmetrics):
    """The text of FAMILIES: OpenMetrics 1.0, or Prometheus' own format, 0.0.4."""
    lines = []
    for name, samples in families:
        kind, text = NAMES[name]
        suffix = {"counter": "_total", "info": "_info"}.get(kind, "")
        head = name if openmetrics else name + suffix
        lines.append(f"# HELP {head} {text}")
        lines.append(f"# TYPE {head} {'gauge' if kind == 'info' and not openmetrics else kind}")
        lines += [f"{name}{suffix}{_labels(labels)} {_value(value)}"
                  for labels, value in samples]
    if openmetrics:
        lines.append("# EOF")
    return "\n".join(lines) + "\n"


def _labels(labels):
    inside = ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _value(value):
    return str(value) if isinstance(value, int) else repr(float(value))


def flat(families):
    """One object of the node's numbers, for collectors that take JSON."""
    return {name: samples[0][1] for name, samples in families
            if len(samples) == 1 and not samples[0][0] and NAMES[name][0] != "info"}
