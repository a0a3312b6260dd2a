# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""The ways in which a mix can run: what a site does today, and co-scheduled."""

from evaluation import EvaluationError

POLICIES = ("corun", "nupoco")      # by default
OF_SOME = ("equal", "weights")      # that not every mix or node has


class Mode:
    def __init__(self, name, text, policy=None, in_turn=False, shares=None, env=None,
                 groups=None):
        self.name, self.text, self.policy, self.in_turn = name, text, policy, in_turn
        self.shares = shares        # CPUs of each job; None: all have all
        self.groups = groups        # weights.Place for a cgroup of each job, or None
        self.env = env or {}

    def parts(self, jobs, cpus):
        """The CPUs of each job."""
        if not self.shares:
            return [set(cpus)] * jobs
        ordered, parts = sorted(cpus), []
        for share in self.shares:
            parts.append(set(ordered[:share]))
            ordered = ordered[share:]
        return parts


def _splits(jobs, count):
    """Divisions of COUNT CPUs: the equal one first, then those with half of what is left over
    moved to each job in turn."""
    equal = [count // jobs + (i < count % jobs) for i in range(jobs)]
    found = [equal]
    for favoured in range(jobs):
        move = max(1, count // (2 * jobs))
        shares = list(equal)
        for other in range(jobs):
            taken = min(move, shares[other] - 1) if other != favoured else 0
            shares[other] -= taken
            shares[favoured] += taken
        if shares not in found:
            found.append(shares)
    return found


def of_mix(mix, cpus, policies, place=None):
    """All modes for MIX on so many CPUS; PLACE: where cgroups with weights may be made."""
    jobs = len(mix.jobs)
    modes = [Mode("native", "time sharing"),
             Mode("passive", "time sharing with passive waiting",
                  env={"OMP_WAIT_POLICY": "passive"}),
             Mode("batch", "one after the other", in_turn=True)]
    if place:
        modes.append(Mode("weights", "time sharing with equal CPU weights", groups=place))
    if jobs <= cpus:
        for number, shares in enumerate(_splits(jobs, cpus)):
            name = "equal" if number == 0 else "split-" + "-".join(map(str, shares))
            modes.append(Mode(name, "a static split into " + " and ".join(map(str, shares)),
                              shares=shares))
    modes += [Mode(policy, f"co-scheduled by {policy}", policy=policy) for policy in policies]
    return modes


def chosen(modes, names):
    """Those of MODES that NAMES lists (None: all).  native is the reference: always there."""
    if names is None:
        return modes
    known = {mode.name: mode for mode in modes}
    for name in names:
        if name not in known and name not in OF_SOME:
            raise EvaluationError(f"--modes: {name} is not one of {', '.join(known)}")
    return [mode for mode in modes if mode.name in names or mode.name == "native"]
