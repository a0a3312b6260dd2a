# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Several jobs together: what sharing gained or cost them.

A mix is what was named on the command line, or all jobs that are connected by
having shared a node, as the agent's records tell.

- makespan: last end - first submission
- in turn: sum of the jobs' run times alone on the node
- Hmean: harmonic mean of the jobs' speedups, run time alone by turnaround
- NTT: first start to last end, relative to the same programs under native time
  sharing
- normalised turnaround: total turnaround, likewise
"""

from plainclass import dataclass

import turnaround


@dataclass
class Mix:
    jobs: list
    native: "Mix | None" = None     # the same programs, shared by the kernel

    @property
    def not_ended(self):
        return [j.job for j in self.jobs if not j.ended]

    @property
    def complete(self):
        """Do we know when all were submitted and ended?"""
        return all(j.turnaround_s is not None for j in self.jobs)

    @property
    def makespan_s(self):
        if not self.complete:
            return None
        return max(j.end for j in self.jobs) - min(j.submit for j in self.jobs)

    @property
    def total_turnaround_s(self):
        if not self.complete:
            return None
        return sum(j.turnaround_s for j in self.jobs)

    @property
    def in_turn_s(self):
        """The jobs one after the other, each with the node for itself; None if
        they ran on several."""
        if any(j.alone_s is None for j in self.jobs) or \
                len({(j.cluster, j.nodes) for j in self.jobs}) > 1:
            return None
        return round(sum(j.alone_s for j in self.jobs), 2)

    @property
    def hmean(self):
        if not self.complete or \
                any(not j.turnaround_s or not j.alone_s for j in self.jobs):
            return None
        return round(turnaround.hmean_speedup(
            [j.turnaround_s for j in self.jobs],
            [j.alone_s for j in self.jobs]), 3)

    @property
    def hmean_error(self):
        """How wrong it may be, since each time is wrong by up to a second."""
        if self.hmean is None:
            return None
        slowdowns = [j.turnaround_s / j.alone_s for j in self.jobs]
        errors = [s * (1 / j.turnaround_s +
                       (1 / j.alone_s if j.alone_by == "run" else 0))
                  for s, j in zip(slowdowns, self.jobs)]
        return round(self.hmean * sum(errors) / sum(slowdowns), 3)

    @property
    def total_time_s(self):
        """From the first start to the last end."""
        if not self.complete or any(j.start is None for j in self.jobs):
            return None
        return max(j.end for j in self.jobs) - min(j.start for j in self.jobs)

    @property
    def ntt(self):
        return self._to_native("total_time_s")

    @property
    def ntt_error(self):
        """The same of NTT."""
        return self._to_native_error("total_time_s", 1)

    @property
    def normalised_turnaround(self):
        return self._to_native("total_turnaround_s")

    @property
    def normalised_turnaround_error(self):
        return self._to_native_error("total_turnaround_s", len(self.jobs))

    def _to_native(self, attribute):
        mine = getattr(self, attribute)
        native = self.native and getattr(self.native, attribute)
        if mine is None or not native:
            return None
        return round(mine / native, 3)

    def _to_native_error(self, attribute, times):
        """Each of TIMES times, of the mix and of native, is wrong by up to 1 s."""
        ratio = self._to_native(attribute)
        if not ratio:
            return None
        return round(ratio * times * (1 / getattr(self, attribute) +
                                      1 / getattr(self.native, attribute)), 3)

    @property
    def core_s(self):
        """Core-seconds held."""
        return _sum(j.core_s for j in self.jobs)

    @property
    def alloc_core_s(self):
        """Core-seconds allocated; a shared node counts once for each job."""
        return _sum(j.alloc_core_s for j in self.jobs)

    @property
    def node_core_s(self):
        """Core-seconds of the nodes while any of the jobs ran; they are all
        allocated whole."""
        places = {}
        for job in self.jobs:
            if job.run_s is None or job.alloc_cpus is None:
                return None
            places.setdefault((job.cluster, job.nodes), []).append(job)
        return sum(max(j.alloc_cpus for j in jobs) *
                   _covered([(j.start, j.end) for j in jobs])
                   for jobs in places.values())

    @property
    def energy_j(self):
        return _sum(j.energy_j for j in self.jobs)

    @property
    def energy_delay_js(self):
        if self.energy_j is None or self.makespan_s is None:
            return None
        return round(self.energy_j * self.makespan_s, 1)

    @property
    def programs(self):
        """What makes two mixes runs of the same; None if a job tells none."""
        if any(j.program is None for j in self.jobs):
            return None
        return tuple(sorted(j.program for j in self.jobs))


def _sum(values):
    """None unless all VALUES are known."""
    values = list(values)
    return None if None in values else round(sum(values), 2)


def _covered(intervals):
    """Seconds in at least one of INTERVALS."""
    total, until = 0, float("-inf")
    for start, end in sorted(intervals):
        if end > until:
            total += end - max(start, until)
            until = end
    return total


def connected(jobs):
    """The mixes of JOBS: who shared a node with whom, directly or not.  A job
    that shared with nobody is a mix of one."""
    # The agent names partners by Slurm's own number of the job.
    by_number = {(j.cluster, j.raw): i for i, j in enumerate(jobs)}
    parent = list(range(len(jobs)))

    def root(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, job in enumerate(jobs):
        for partner in job.partners or ():
            other = by_number.get((job.cluster, str(partner)))
            if other is not None:
                parent[root(other)] = root(i)
    sets = {}
    for i, job in enumerate(jobs):
        sets.setdefault(root(i), []).append(job)
    return [Mix(members) for members in sets.values()]


def find_native(mixes, jobs):
    """Give each of MIXES the latest run of the same programs that JOBS hold
    under policy native."""
    runs = {}
    for mix in connected([j for j in jobs if j.policy == "native"]):
        if mix.complete and mix.programs is not None:
            before = runs.get(mix.programs)
            if before is None or _begin(mix) > _begin(before):
                runs[mix.programs] = mix
    for mix in mixes:
        run = runs.get(mix.programs)
        if run and not any(j.policy == "native" for j in mix.jobs):
            mix.native = run


def _begin(mix):
    return min(j.submit for j in mix.jobs)
