#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Writes what coschedeval measured into a page (make measured MEASURED=FILE).

FILE is what --json wrote.  The text of PAGE between `<!-- begin NAME -->` and
`<!-- end NAME -->` is replaced; the rest of it is written by people."""

import argparse
import json
import os
import re
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from evaluation import EvaluationError, intervals, records, verdict     # noqa: E402


def table(results):
    """Makespans, and of the first policy what else counts, as rows of a page."""
    head, *found = verdict.rows(results)
    lines = [head + ["mean turnaround", "to the best simple way"], [""] * len(head) + ["", ""]]
    for row, result in zip(found, results):
        ours, simple = result.policy(), result.simple()
        turnaround = ours and result.relative(ours.name, what=verdict.turnaround)
        other = ours and simple and result.relative(ours.name, simple.name)
        lines.append(row + [verdict.ratio_text(turnaround),
                            f"{verdict.ratio_text(other)} ({simple.name})" if other else "-"])
    lines += [row + ["", ""] for row in found[len(results):]]
    lines[1] = ["---"] + ["--:"] * (len(lines[0]) - 1)
    return "".join("| " + " | ".join(row) + " |\n" for row in lines)


def where_it_does_not_pay(results):
    """Sentences about the mixes in which some other way is faster, or as fast."""
    loses, same, known = [], [], 0
    for result in results:
        ours = result.policy()
        others = [m for m in result.modes if m.name == "native"] + \
            [result.best([m for m in result.modes if not m.policy and m.name != "native"])]
        found = [(result.relative(ours.name, other.name), other.text)
                 for other in others if ours and other]
        found = [(e, text) for e, text in found if e is not None and e.low is not None]
        known += bool(found)
        later = [intervals.worded(e, text) for e, text in found if e.low > 1]
        if later:
            loses.append(f"{result.mix.name} {' and '.join(later)}")
        elif any(e.high >= 1 for e, _ in found):
            same.append(result.mix.name)
    if not known:
        return "Nothing can be said: no mix was measured twice."
    said = ["Co-scheduled, " + "; ".join(loses) if loses else
            "No mix ends later co-scheduled than in any other way"]
    if same:
        said.append("No gain over the best other way can be shown for " + ", ".join(same))
    return " ".join(text + "." for text in said)


def block(data, when):
    results = records.results(data)
    if not results:
        raise EvaluationError("nothing was measured")
    policy = next((r.policy() for r in results if r.policy()), None)
    disturbed = sum(r.disturbed for r in results)
    return (f"{data['node']['text']}; {data.get('time') or when}; coschedeval {data['version']}, "
            f"{len(results)} mixes, {min(len(r.rounds) for r in results)} to "
            f"{max(len(r.rounds) for r in results)} rounds, {disturbed} runs repeated because "
            "others computed. Makespans relative to `native` with 95 % intervals; the last two "
            f"columns are of `{policy.name if policy else '-'}`.\n\n{table(results)}\n" +
            "".join(f"{text}.\n" for text in verdict.summary(results)) +
            f"\n**Where it does not pay.** {where_it_does_not_pay(results)}\n")


def main():
    parser = argparse.ArgumentParser(prog="measured", description=__doc__)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("page", metavar="PAGE")
    parser.add_argument("--name", default="measured-node2", help="of the block (%(default)s)")
    args = parser.parse_args()
    with open(args.file, encoding="utf-8") as file:
        data = json.load(file)
    when = time.strftime("%Y-%m-%d", time.gmtime(os.path.getmtime(args.file)))
    with open(args.page, encoding="utf-8") as file:
        page = file.read()
    try:
        text = block(data, when)
    except EvaluationError as error:
        sys.exit(f"measured: {args.file}: {error}")
    page, count = re.subn(f"(<!-- begin {args.name} -->\n).*?(<!-- end {args.name} -->)",
                          lambda m: m.group(1) + text + m.group(2), page, flags=re.DOTALL)
    if count != 1:
        sys.exit(f"measured: {args.page}: has no block {args.name}")
    with open(args.page, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
