#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""learn: Python on NumPy and scikit-learn, whose wheels bring OpenMP libraries of their own."""

import argparse
import json
import os
import sys
import time

try:
    import numpy
    from sklearn.cluster import KMeans
    from sklearn.ensemble import HistGradientBoostingClassifier
except ImportError as error:
    sys.exit(f"learn.py: {error}: run `pip install numpy scikit-learn` first")

POINTS = {"S": 2000, "W": 20000, "A": 100000, "B": 400000, "C": 1600000}
FEATURES, CLUSTERS = 16, 8


def points(count):
    """Points around the corners of a cube, and the corner that each belongs to."""
    random = numpy.random.default_rng(314159265)
    label = numpy.arange(count) % CLUSTERS
    x = random.random((count, FEATURES), dtype=numpy.float32)
    for bit in range(3):
        x[:, bit] += 8 * (label >> bit & 1)
    return x, label


def compute(x, label):
    """Why the result is wrong, or None."""
    found = KMeans(CLUSTERS, init=x[:CLUSTERS], n_init=1, max_iter=20).fit_predict(x)
    if (found != label).any():
        return f"{(found != label).sum()} of {len(x)} points are in the wrong cluster"
    trained = HistGradientBoostingClassifier(max_iter=5, early_stopping=False).fit(x, label)
    score = trained.score(x, label)
    return None if score > 0.999 else f"the classifier is right for {score:.1%} only"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--class", dest="size", choices=POINTS, default="A", metavar="S|W|A|B|C",
                        help="size of the problem (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="compute N times")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    if args.repeat < 1:
        parser.error(f"--repeat: {args.repeat} is not positive")
    x, label = points(POINTS[args.size])
    begin, wrong = time.monotonic(), None
    for _ in range(args.repeat):
        wrong = wrong or compute(x, label)
    spent = time.monotonic() - begin
    if wrong:
        print(f"learn: {wrong}", file=sys.stderr)
    result = {"result": "FAIL" if wrong else "PASS", "program": "learn", "class": args.size,
              "time_s": round(spent, 6), "threads": len(os.sched_getaffinity(0)),
              "repeat": args.repeat, "mpoints_per_s": 1e-6 * len(x) * args.repeat / spent}
    if args.json:
        print(json.dumps(result))
    else:
        print("{result} {program} class={class} time_s={time_s:.3f} threads={threads} "
              "repeat={repeat} mpoints_per_s={mpoints_per_s:.4g}".format(**result))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
