#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A day of random jobs on a cluster whose nodes two jobs share: what choosing partners is worth.

usage: placement_day.py [--machine NAME] [--nodes N] [--seeds N] [--load X] [--json]

A job runs at the speed that the model predicts for the pair (slurm_conf/placement.py).  Free nodes
come first in each way; partners are chosen among nodes with one job:
  first    the first node, as Slurm does by itself
  class    one whose class of jobs complements the new one's, else the first
  gain     one of those with the greatest predicted gain, else the first
Slurm's queue is served in order.  What a way gains is its time over that of "first"."""

import argparse
import heapq
import json
import os
import random
import statistics
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "slurm_conf"))

import placement        # noqa: E402

DAY = 86400.0
MEAN_S = 3600.0         # a job alone on its node
LEVELS = (1, 3, 3, 2, 2, 2, 3)      # weights of levels 0 to 6
CLASS = ("serial", "compute", "compute", "mixed", "mixed", "memory", "memory")
ALSO_SUITS = {"memory": ("compute", "serial"), "mixed": ("compute", "serial"),
              "compute": ("memory", "mixed"), "serial": ("memory", "mixed", "compute")}


def jobs_of(seed, nodes, load):
    """[(submission, level, seconds alone)] of a day, LOAD times what the nodes do one by one."""
    draw = random.Random(seed)
    jobs, now = [], 0.0
    while True:
        now += draw.expovariate(load * nodes / MEAN_S)
        if now >= DAY:
            return jobs
        jobs.append((now, draw.choices(range(len(LEVELS)), LEVELS)[0],
                     draw.expovariate(1 / MEAN_S)))


class Cluster:
    def __init__(self, table, nodes, way):
        self.table, self.way = table, way
        self.jobs = [[] for _ in range(nodes)]      # [[level, work left, submission]]
        self.since, self.version = [0.0] * nodes, [0] * nodes
        self.ends, self.turnarounds, self.last = [], [], 0.0

    def speed(self, node, job):
        other = next((o for o in self.jobs[node] if o is not job), None)
        return self.table.speeds[job[0]][other[0]] if other else 1.0

    def advance(self, node, now):
        """What the node's jobs have done until NOW."""
        for job in self.jobs[node]:
            job[1] -= (now - self.since[node]) * self.speed(node, job)
        self.since[node] = now

    def plan(self, node, now):
        """Note when the node's next job ends."""
        self.version[node] += 1
        for job in self.jobs[node]:
            heapq.heappush(self.ends, (now + max(0.0, job[1]) / self.speed(node, job), node,
                                       self.version[node]))

    def choose(self, level):
        """A node for a job of LEVEL, or None."""
        one = None
        for node, jobs in enumerate(self.jobs):
            if not jobs:
                return node
            if len(jobs) == 1 and one is None:
                one = node
        if self.way == "first" or one is None:
            return one
        single = [node for node, jobs in enumerate(self.jobs) if len(jobs) == 1]
        if self.way == "class":
            good = [n for n in single if CLASS[self.jobs[n][0][0]] in ALSO_SUITS[CLASS[level]]]
        else:
            features = {n: placement.of_node([self.jobs[n][0][0]]) for n in single}
            suit = self.table.partners(level, set(features.values()))
            good = [n for n in single if features[n] in suit]
        return good[0] if good else one

    def start(self, node, job, now):
        self.advance(node, now)
        self.jobs[node].append(job)
        self.plan(node, now)

    def end(self, node, now):
        self.advance(node, now)
        job = min(self.jobs[node], key=lambda j: j[1] / self.speed(node, j))
        self.jobs[node].remove(job)
        self.turnarounds.append(now - job[2])
        self.last = now
        self.plan(node, now)


def simulate(table, jobs, nodes, way):
    """(makespan, mean turnaround) in seconds."""
    cluster, queue, arrivals = Cluster(table, nodes, way), [], iter(jobs)
    arrival = next(arrivals, None)
    while arrival or cluster.ends:
        if cluster.ends and (not arrival or cluster.ends[0][0] <= arrival[0]):
            now, node, version = heapq.heappop(cluster.ends)
            if version != cluster.version[node]:
                continue
            cluster.end(node, now)
        else:
            now = arrival[0]
            queue.append([arrival[1], arrival[2], now])
            arrival = next(arrivals, None)
        while queue:
            node = cluster.choose(queue[0][0])
            if node is None:
                break
            cluster.start(node, queue.pop(0), now)
    assert len(cluster.turnarounds) == len(jobs)
    return cluster.last, statistics.mean(cluster.turnarounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--machine", help="compute the table of this machine by coschedmodel "
                        "[the built-in one, of two EPYC 7763]")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--load", type=float, default=1.1,
                        help="work submitted, in what the nodes do without sharing [%(default)s]")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    table = placement.compute(placement.Model(options.machine)) if options.machine \
        else placement.DEFAULT
    ratios = {"class": [], "gain": []}
    for seed in range(options.seeds):
        jobs = jobs_of(seed, options.nodes, options.load)
        first = simulate(table, jobs, options.nodes, "first")
        for way, found in ratios.items():
            own = simulate(table, jobs, options.nodes, way)
            found.append([mine / theirs for mine, theirs in zip(own, first)])
    result = {way: {name: round(statistics.median(column), 4) for name, column in
                    zip(("makespan", "turnaround"), zip(*found))}
              for way, found in ratios.items()}
    if options.json:
        print(json.dumps(result, indent=1))
        return
    print(f"{options.nodes} nodes, load {options.load:g}, medians of {options.seeds} days, "
          "relative to the first node")
    for way, row in result.items():
        print(f"{way:6} makespan {row['makespan']:.3f}  mean turnaround {row['turnaround']:.3f}")


if __name__ == "__main__":
    main()
