# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Ratios of times with 95 % confidence intervals, and when they are known well enough.

Modes are measured in rounds: each round runs every mode once, in random order.  A ratio is taken
within a round, so that what changes slowly (temperature, other users) changes both of its times.
Ratios are averaged as logarithms, whose errors are nearer to a normal distribution."""

import math

# Student's t for a two-sided 95 % interval, by degrees of freedom.
T95 = (0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
       2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)


def quantile(freedom):
    return T95[freedom] if freedom < len(T95) else 1.96 + 2.5 / freedom


class Estimate:
    """Geometric mean of RATIOS; low and high bound its 95 % interval (None: one ratio only)."""

    def __init__(self, ratios):
        logs = [math.log(r) for r in ratios]
        mean = sum(logs) / len(logs)
        self.value, self.count, self.half = math.exp(mean), len(logs), None
        self.low = self.high = None
        if len(logs) > 1:
            variance = sum((x - mean) ** 2 for x in logs) / (len(logs) - 1)
            self.half = quantile(len(logs) - 1) * math.sqrt(variance / len(logs))
            self.low, self.high = math.exp(mean - self.half), math.exp(mean + self.half)

    def known(self, width):
        """Is the interval within a relative WIDTH on each side?"""
        return self.half is not None and math.expm1(self.half) <= width

    def record(self):
        return {"ratio": self.value, "low": self.low, "high": self.high, "rounds": self.count}


def ratio(rounds, mode, reference, what):
    """Estimate of WHAT (a function of a run) under MODE relative to REFERENCE over ROUNDS, a list
    of {mode: run}; None where no round has both."""
    pairs = [(what(r[mode]), what(r[reference])) for r in rounds
             if mode in r and reference in r]
    return Estimate([a / b for a, b in pairs]) if pairs else None


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])


def worded(estimate, other):
    """How much earlier or later something ends than OTHER: the rest of a sentence about it."""
    if estimate is None:
        return f"was not compared with {other}"
    if estimate.low is None:
        return f"was measured once only, {estimate.value:.2f} of the time of {other}"
    if estimate.low <= 1 <= estimate.high:
        return (f"shows no difference to {other} "
                f"(within {100 * math.expm1(estimate.half):.0f} %)")
    percent = 100 * abs(1 - estimate.value)
    error = 50 * (estimate.high - estimate.low)
    return (f"ends {percent:.0f} % ± {error:.0f} "
            f"{'earlier' if estimate.value < 1 else 'later'} than {other}")
