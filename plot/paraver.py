# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The agent's trace for BSC's Paraver: FILE.prv with its FILE.pcf and FILE.row.

The node is one node, each job an application of one task with a thread for each CPU that it
ever had; a state record says that thread T ran on CPU C.  Events, at the first CPU: which
decision was taken (EVENT_DECISION, the reason is the value's name), what each job does
(EVENT_STATE), and the counters of the trace as they are (EVENT_COUNTER and following).  Times are
nanoseconds since the first event.  The format: "Paraver: Trace generation manual", BSC.
"""

import re
import time

RUNNING, IDLE = 1, 0
EVENT_DECISION, EVENT_STATE, EVENT_COUNTER = 41000001, 41000002, 41000100
SCALE = 1000        # counters are whole numbers in Paraver
REASON = 200        # characters
STATES = ((IDLE, "Idle", (117, 195, 255)), (RUNNING, "Running", (0, 0, 255)))


class Trace:
    """A decoded trace (coschedctl trace), as what Paraver knows."""

    def __init__(self, trace):
        events = trace["traceEvents"]
        names = {}
        for e in events:
            if e["ph"] == "M" and e["name"] == "thread_name":
                names[e["pid"], e["tid"]] = e["args"]["name"]
        self.cpus = {track: int(name[4:]) for track, name in names.items()
                     if re.fullmatch(r"CPU \d+", name)}
        self.job_tracks = {track: int(name[4:]) for track, name in names.items()
                           if re.fullmatch(r"job \d+", name)}
        self.timed = [e for e in events if e["ph"] in "XiC"]
        self.zero = min((e["ts"] for e in self.timed), default=0)
        self.end = max((self.ns(e["ts"] + e.get("dur", 0)) for e in self.timed), default=0)
        self.threads = {}       # job -> its CPUs, in the order of their coming
        self.values = {}        # event type -> {value: name}
        self.types = {EVENT_DECISION: "Decision", EVENT_STATE: "State of the job"}
        self.records = []       # (time, order, text without time's place)
        for e in sorted(self.timed, key=lambda e: e["ts"]):
            self._take(e)
        self.cpu_count = max(self.cpus.values(), default=0) + 1
        self.jobs = sorted(self.threads)

    def ns(self, us):
        return round((us - self.zero) * 1000)

    def _value(self, kind, text):
        """The number of TEXT among the values of event type KIND."""
        known = self.values.setdefault(kind, {})
        for number, name in known.items():
            if name == text:
                return number
        known[len(known) + 1] = text
        return len(known)

    def _counter(self, name):
        for kind, known in self.types.items():
            if known == name:
                return kind
        kind = EVENT_COUNTER + len(self.types)
        self.types[kind] = name
        return kind

    def _take(self, e):
        track = e["pid"], e.get("tid", 0)
        begin = self.ns(e["ts"])
        if e["ph"] == "X" and track in self.cpus and e["name"].startswith("job "):
            job, cpu = int(e["name"][4:]), self.cpus[track]
            mine = self.threads.setdefault(job, [])
            if cpu not in mine:
                mine.append(cpu)
            end = self.ns(e["ts"] + e["dur"])
            if end > begin:
                self.records.append((begin, 1, job, cpu, end, RUNNING))
        elif e["ph"] == "X" and track in self.job_tracks:
            job = self.job_tracks[track]
            self.threads.setdefault(job, [])
            self.records.append((begin, 2, job, None, EVENT_STATE,
                                 self._value(EVENT_STATE, e["name"])))
        elif e["ph"] == "i":
            reason = " ".join(e.get("args", {}).get("reason", e["name"]).split())[:REASON]
            self.records.append((begin, 2, None, None, EVENT_DECISION,
                                 self._value(EVENT_DECISION, reason)))
        elif e["ph"] == "C":
            for key, value in e["args"].items():
                kind = self._counter(f"{e['name']} ({key}, x{SCALE})")
                self.records.append((begin, 2, None, None, kind, round(value * SCALE)))

    def _place(self, job, cpu):
        """cpu:application:task:thread of Paraver, all from 1."""
        if job is None or not self.threads[job]:
            return "1:1:1:1"
        cpu = self.threads[job][0] if cpu is None else cpu
        return f"{cpu + 1}:{self.jobs.index(job) + 1}:1:{self.threads[job].index(cpu) + 1}"

    def prv(self, when):
        """The trace; WHEN: its beginning, as of time.localtime()."""
        applications = ":".join(
            "1(%d:1)" % max(1, len(self.threads[job])) for job in self.jobs) or "1(1:1)"
        lines = [f"#Paraver ({time.strftime('%d/%m/%y at %H:%M', when)}):{self.end}_ns:"
                 f"1({self.cpu_count}):{max(1, len(self.jobs))}:{applications}"]
        for begin, order, job, cpu, last, value in sorted(
                self.records, key=lambda r: (r[0], r[1], r[2] or 0, -1 if r[3] is None else r[3],
                                             r[4], r[5])):
            where = self._place(job, cpu)
            lines.append(f"1:{where}:{begin}:{last}:{value}" if order == 1
                         else f"2:{where}:{begin}:{last}:{value}")
        return "\n".join(lines) + "\n"

    def pcf(self):
        """What numbers mean."""
        lines = ["DEFAULT_OPTIONS", "", "LEVEL               CPU",
                 "UNITS               NANOSEC", "LOOK_BACK           100",
                 "SPEED               1", "FLAG_ICONS          ENABLED",
                 "NUM_OF_STATE_COLORS 1000", "YMAX_SCALE          37", "",
                 "DEFAULT_SEMANTIC", "", "THREAD_FUNC         State As Is", "",
                 "STATES", *(f"{n}    {name}" for n, name, _ in STATES), "",
                 "STATES_COLOR", *(f"{n}    {{{r},{g},{b}}}" for n, _, (r, g, b) in STATES)]
        for kind, name in self.types.items():
            lines += ["", "EVENT_TYPE", f"9    {kind}    {name}"]
            if kind in self.values:
                lines += ["VALUES", "0      End",
                          *(f"{n}      {text}" for n, text in self.values[kind].items())]
        return "\n".join(lines) + "\n"

    def row(self):
        """Names of what there is a row for."""
        threads = [f"job {job} CPU {cpu}" for job in self.jobs
                   for cpu in self.threads[job] or ("-",)] or ["-"]
        lines = [f"LEVEL CPU SIZE {self.cpu_count}",
                 *(f"CPU {c}" for c in range(self.cpu_count)), "",
                 "LEVEL NODE SIZE 1", "node", "",
                 f"LEVEL APPL SIZE {max(1, len(self.jobs))}",
                 *([f"job {job}" for job in self.jobs] or ["-"]), "",
                 f"LEVEL THREAD SIZE {len(threads)}", *threads]
        return "\n".join(lines) + "\n"
