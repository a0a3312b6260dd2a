# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The node agent's line in a job's AdminComment (docs/record.md).

    record = jobrecord.parse(comment)
    if record and record.state == "final":
        print(record.fields["mean_cores"], record.problems)

The line is "cosched/1 key=value ...", somewhere in the comment: a site may have
written around it, and Slurm may have cut it.  A value out of order is left out
and named in `problems`; a key that this version does not know is kept as text
or number in `other`, so that a newer agent's record loses nothing.  This is the
one place in Python that knows the keys.
"""

import math
import re
from plainclass import dataclass, field

VERSION = 1
TAG = f"cosched/{VERSION}"      # first word of the line
STATES = ("running", "final")
_TAG = re.compile(r"(?:^|\s)cosched/(\d+)(?=\s|$)")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_KEY = re.compile(r"[a-z][a-z0-9_]*")
_PRINTABLE = 64         # characters of a bad value that a message shows


def _number(text):
    """A number as the agent prints it: finite, no sign."""
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError("not a number")
    return float(text)


def _whole(text):
    if not re.fullmatch(r"[0-9]{1,19}", text):
        raise ValueError("not a whole number")
    return int(text)


def _truth(text):
    if text not in ("0", "1"):
        raise ValueError("neither 0 nor 1")
    return text == "1"


def _state(text):
    if text not in STATES:
        raise ValueError(f"neither {' nor '.join(STATES)}")
    return text


def _jobs(text):
    """Job numbers separated by commas; "-" for none."""
    return [] if text == "-" else [_whole(part) for part in text.split(",")]


_HOT = re.compile(r"([\w.+:~@-]+)\*([0-9](?:\.[0-9]+)?(?:e-[0-9]+)?)", re.ASCII)


def _hot(text):
    """Regions and their shares of the time in regions: those that took most."""
    found = [_HOT.fullmatch(part) for part in text.split(",")]
    if not all(found):
        raise ValueError("not a list of regions and shares")
    return [{"region": match[1].replace("@", ", ", 1), "share": min(1.0, float(match[2]))}
            for match in found]


# How to read the value of each key, in the order of the line.
KEYS = {
    "policy": str,
    "mean_cores": _number,      # while the job had a live process
    "final_cores": _whole,
    "regions": _whole,
    "parallel_s": _number,
    "core_s": _number,          # cores held, integrated over time
    "partners": _jobs,
    "decisions": _whole,
    "attached": _truth,
    "started": _truth,          # 0: the agent was told of no process of it
    "energy_j": _number,        # an estimate
    "granted": _whole,
    "moves": _whole,
    "program": str,
    "follow": str,              # sentence() tells what it means
    "class": str,
    "rho": _number,
    "best_cores": _whole,
    "profiled": _number,
    "work_s": _number,
    "done_s": _number,
    "steps": _number,
    "threads": _whole,          # in the largest team
    "ults": _whole,
    "alone_s": _number,         # had it been alone, mostly an estimate
    "alone_share": _number,
    "hot": _hot,
}


# Why a program does not follow its job's cores, as protocol/follow.c says it; "%"
# is what the record has behind a colon.
FOLLOW = {
    "unknown": "it cannot be looked into",
    "follows": "it is malleable",
    "kthread": "it is malleable with kernel threads",
    "no-region": "it has begun no parallel region so far",
    "no-openmp": "it has no OpenMP runtime",
    "static": "it contains % statically",
    "other-runtime": "it runs with %",
    "own-runtime": "it runs with an OpenMP runtime of its own",
    "refused": "it keeps its own runtime as was asked (libgomp=stock)",
    "environment": "its environment lacks %",
    "no-library": "its container lacks the cooperative libgomp",
    "no-socket": "its container lacks the agent's socket",
    "old-glibc": "its glibc is older than %",
    "newer-symbols": "it wants %, which the cooperative libgomp does not have",
    "realtime": "it has a real-time scheduling policy",
    "broken-library": "its cooperative libgomp is a damaged file",
}
OTHERWISE = {
    "static": "an OpenMP runtime",
    "other-runtime": "another OpenMP runtime",
    "environment": "what the job began with",
    "old-glibc": "the cooperative libgomp needs",
    "newer-symbols": "newer symbols",
}


def sentence(follow):
    """What FOLLOW, as a record has it, says: None for nothing."""
    word, _, detail = (follow or "").partition(":")
    text = FOLLOW.get(word, word)
    if "%" in text:
        return text.replace("%", detail or OTHERWISE[word])
    return f"{text} ({detail})" if detail else text or None


OLD_NAMES = {"sections": "regions"}  # before 0.2.0


@dataclass
class Record:
    """What a comment says; every key of KEYS is in `fields`, None if it is not
    in the comment or not understood."""
    version: int
    state: "str | None" = None    # of STATES
    fields: dict = field(default_factory=lambda: dict.fromkeys(KEYS))
    other: dict = field(default_factory=dict)
    problems: list = field(default_factory=list)


def parse(comment):
    """The last record in COMMENT, None if there is none.  Of a version that is
    not ours only the version is known."""
    tags = list(_TAG.finditer(comment))
    if not tags:
        return None
    record = Record(int(tags[-1][1]))
    if record.version != VERSION:
        record.problems.append(f"its record has version {record.version}, "
                               "which this program does not know")
        return record
    for word in comment[tags[-1].end():].split():
        key, equals, text = word.partition("=")
        if equals and _KEY.fullmatch(key):
            _take(record, OLD_NAMES.get(key, key), text)
    if record.state is None and not record.problems:
        record.problems.append("its record is incomplete")
    return record


def _take(record, key, text):
    try:
        if key == "state":
            record.state = _state(text)
        elif key in KEYS:
            record.fields[key] = KEYS[key](text)
        else:
            record.other[key] = _any(text)
    except ValueError as error:
        shown = text if len(text) <= _PRINTABLE else text[:_PRINTABLE] + "..."
        record.problems.append(f"in its record {key}={shown} is {error}")


def _any(text):
    try:
        return _number(text)
    except ValueError:
        return text
