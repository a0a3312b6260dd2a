#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Run the papers' scenarios under every policy and bring
docs/evaluation-simulated.md up to date.

Writes OUT/evaluation.json and .svg, and OUT/evaluation-simulated.md.  The page
is SOURCE's, whose text between `<!-- begin NAME -->` and `<!-- end NAME -->` is
replaced; the rest of it is written by people.  Results are kept in OUT/runs:
what was interrupted goes on where it was."""

import argparse
import json
import os
import re
import sys
import tempfile
import time

import evaluation as ev
import runs

QUICK = ["nupoco-amd", "nupoco-intel", "case-study", "random-amd"]
QUICK_RANDOM = 10
PAGE = "evaluation-simulated.md"


def replace_blocks(page, blocks):
    for name, text in blocks.items():
        pattern = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} "
                             "-->)", re.DOTALL)
        if not pattern.search(page):
            sys.exit(f"reproduce: the page has no block {name}")
        page = pattern.sub(lambda m, t=text: m.group(1) + t + m.group(2),
                           page)
    return page


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", metavar="BUILD", help="with coschedsim")
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("out", metavar="OUT", help="directory")
    parser.add_argument("--random", type=int, metavar="N", default=30,
                        help="random mixes for each machine under all "
                        "policies (30)")
    parser.add_argument("--wide", type=int, metavar="N", default=100,
                        help="random mixes for each machine and seed under "
                        "ours and the simple ways (100)")
    parser.add_argument("--jobs", type=int, metavar="N",
                        default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--only", action="append", default=[], metavar="SET",
                        help="this set; may be given several times")
    parser.add_argument("--quick", action="store_true",
                        help=f"only {', '.join(QUICK)} with {QUICK_RANDOM} "
                        "random mixes")
    args = parser.parse_args()
    if args.quick:
        args.only = args.only or QUICK
        args.random = args.wide = QUICK_RANDOM
    names = {s.name for s in ev.sets(args.random, args.wide)}
    for name in args.only:
        if name not in names:
            parser.error(f"--only {name}: is none of {', '.join(sorted(names))}")
    return args


def main():
    args = arguments()
    begin = time.monotonic()
    sets = [s for s in ev.sets(args.random, args.wide)
            if not args.only or s.name in args.only]
    with tempfile.TemporaryDirectory(prefix="reproduce.") as directory:
        try:
            results, made = runs.run_all(args, sets, directory)
        except runs.Failed as error:
            sys.exit(f"reproduce: {error}")
        except KeyboardInterrupt:
            sys.exit(f"reproduce: interrupted; what is done is kept in "
                     f"{args.out}/runs")
    blocks, data = ev.report(args, sets, results)
    blocks["time"] = (f"The last run simulated {made} scenarios in "
                      f"{time.monotonic() - begin:.0f} s.\n")
    with open(os.path.join(args.source, "docs", PAGE),
              encoding="utf-8") as file:
        page = replace_blocks(file.read(), blocks)
    with open(os.path.join(args.out, PAGE), "w",
              encoding="utf-8") as file:
        file.write(page)
    with open(os.path.join(args.out, "evaluation.json"), "w",
              encoding="utf-8") as file:
        json.dump(data, file, separators=(",", ":"))
        file.write("\n")
    ev.draw(os.path.join(args.out, "evaluation.svg"), sets, results)


if __name__ == "__main__":
    main()
