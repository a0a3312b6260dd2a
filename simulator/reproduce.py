#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Run the papers' scenarios under every policy and bring docs/evaluation.md up
to date.

usage: reproduce.py BUILD SOURCE OUT-DIRECTORY [--random N] [--only SET]...

Writes OUT-DIRECTORY/evaluation.json, .md and .svg.  The page is SOURCE's, whose
text between `<!-- begin NAME -->` and `<!-- end NAME -->` is replaced; the
rest of it is written by people."""

import argparse
import concurrent.futures
import json
import os
import re
import sys
import tempfile
import time

import evaluation as ev


def run_all(args, sets, directory):
    """Results of all SETS, args.jobs of them at a time, the longest first."""
    results = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(ev.simulate, args, s, directory): s
                   for s in sorted(sets, key=lambda s: -s.weight)}
        for future in concurrent.futures.as_completed(futures):
            s = futures[future]
            results[s.name] = future.result()
            print(f"  {s.name}", file=sys.stderr)
    return results


def replace_blocks(page, blocks):
    for name, text in blocks.items():
        pattern = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} "
                             "-->)", re.DOTALL)
        if not pattern.search(page):
            sys.exit(f"reproduce: the page has no block {name}")
        page = pattern.sub(lambda m, t=text: m.group(1) + t + m.group(2),
                           page)
    return page


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("source")
    parser.add_argument("out")
    parser.add_argument("--random", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", default=[])
    args = parser.parse_args()
    begin = time.monotonic()
    sets = [s for s in ev.sets(args.random)
            if not args.only or s.name in args.only]
    with tempfile.TemporaryDirectory(prefix="reproduce.") as directory:
        results = run_all(args, sets, directory)
    os.makedirs(args.out, exist_ok=True)
    blocks, data = ev.report(args, sets, results)
    blocks["time"] = (f"The last run took {time.monotonic() - begin:.0f} s.\n")
    with open(os.path.join(args.source, "docs", "evaluation.md"),
              encoding="utf-8") as file:
        page = replace_blocks(file.read(), blocks)
    with open(os.path.join(args.out, "evaluation.md"), "w",
              encoding="utf-8") as file:
        file.write(page)
    with open(os.path.join(args.out, "evaluation.json"), "w",
              encoding="utf-8") as file:
        json.dump(data, file, separators=(",", ":"))
        file.write("\n")
    ev.draw(os.path.join(args.out, "evaluation.svg"), sets, results)


if __name__ == "__main__":
    main()
