# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Many jobs in few rows: by user, by program, by region, by mix.

Each function returns a list of dicts of the same keys, ready to be listed.
What is not known of any job is None; a sum over jobs counts those of which the
value is known, and `recorded` says of how many jobs there is a record.
"""

from reporting import mix as mixes


def _known(jobs, attribute):
    values = (getattr(job, attribute) for job in jobs)
    return [value for value in values if value is not None]


def _sum(jobs, attribute):
    values = _known(jobs, attribute)
    return round(sum(values), 2) if values else None


def _mean(values, digits=2):
    return round(sum(values) / len(values), digits) if values else None


def _share(jobs):
    """Core-seconds held of those allocated, over jobs where both are known."""
    both = [(j.core_s, j.alloc_core_s) for j in jobs
            if j.core_s is not None and j.alloc_core_s]
    allocated = sum(b for _, b in both)
    return round(sum(a for a, _ in both) / allocated, 3) if allocated else None


def _common(jobs):
    """What is said of any set of jobs."""
    return {
        "jobs": len(jobs),
        "recorded": sum(j.record is not None for j in jobs),
        "mean_wait_s": _mean(_known(jobs, "wait_s"), 1),
        "mean_turnaround_s": _mean(_known(jobs, "turnaround_s"), 1),
        "mean_cores": _mean(_known(jobs, "mean_cores")),
        "core_s": _sum(jobs, "core_s"),
        "alloc_core_s": _sum(jobs, "alloc_core_s"),
        "core_share": _share(jobs),
        "billed": _sum(jobs, "billed"),
        "mean_slowdown": _mean(_known(jobs, "slowdown"), 3),
        "worst_slowdown": max(_known(jobs, "slowdown"), default=None),
        "energy_j": _sum(jobs, "energy_j"),
    }


def _collect(jobs, key):
    sets = {}
    for job in jobs:
        sets.setdefault(key(job), []).append(job)
    return sets


def by_user(jobs):
    sets = _collect(jobs, lambda j: (j.cluster, j.user))
    return [{"cluster": cluster, "user": user, **_common(members)}
            for (cluster, user), members in sorted(sets.items())]


def by_account(jobs):
    sets = _collect(jobs, lambda j: (j.cluster, j.account))
    return [{"cluster": cluster, "account": account, **_common(members)}
            for (cluster, account), members in sorted(sets.items())]


def by_region(jobs):
    """A row for each parallel region of a program that records name, with the time in
    it, those with most first."""
    rows = {}
    for job in jobs:
        for hot in job.agent.get("hot") or ():
            key = job.cluster, job.agent.get("program"), hot["region"]
            row = rows.setdefault(key, {
                "cluster": job.cluster, "program": key[1], "region": key[2], "jobs": 0,
                "parallel_s": 0.0, "all_s": 0.0})
            row["jobs"] += 1
            row["parallel_s"] += hot["share"] * (job.parallel_s or 0)
            row["all_s"] += job.parallel_s or 0
    for row in rows.values():
        whole = row.pop("all_s")
        row["share"] = round(row["parallel_s"] / whole, 3) if whole else None
        row["parallel_s"] = round(row["parallel_s"], 2)
    return sorted(rows.values(), key=lambda row: -row["parallel_s"])


def by_program(jobs):
    """A row for each user's program, with the mean slowdown beside others."""
    by_number = {(j.cluster, j.raw): j for j in jobs}
    sets = _collect(jobs, lambda j: (j.cluster, j.user, j.name or "", j.program))
    rows = []
    for (cluster, user, name, _), members in sorted(
            sets.items(), key=lambda item: (item[0][:3], str(item[0][3]))):
        rows.append({
            "cluster": cluster, "user": user, "name": name,
            "arguments": " ".join(members[0].program[3])
            if members[0].program else "",
            **_common(members),
            "alone_s": min(_known(members, "alone_s"), default=None),
            "beside": _beside(members, by_number)})
    return rows


def _beside(members, by_number):
    """Name of a partner's program -> mean slowdown of MEMBERS beside it."""
    found = {}
    for job in members:
        if job.slowdown is None:
            continue
        keys = ((job.cluster, str(number)) for number in job.partners or ())
        names = {by_number[key].name for key in keys if key in by_number}
        for name in names:
            found.setdefault(name or "", []).append(job.slowdown)
    return {name: _mean(values, 3) for name, values in sorted(found.items())}


def mix_row(mix):
    """A mix as a row."""
    jobs = mix.jobs
    return {
        "jobs": [j.job for j in jobs],
        "names": [j.name for j in jobs],
        "submit": min(_known(jobs, "submit"), default=None),
        "not_ended": mix.not_ended,
        "makespan_s": mix.makespan_s,
        "total_turnaround_s": mix.total_turnaround_s,
        "core_s": mix.core_s,
        "alloc_core_s": mix.alloc_core_s,
        "node_core_s": mix.node_core_s,
        "in_turn_s": mix.in_turn_s,
        "hmean": mix.hmean,
        "hmean_error": mix.hmean_error,
        "ntt": mix.ntt,
        "ntt_error": mix.ntt_error,
        "normalised_turnaround": mix.normalised_turnaround,
        "normalised_turnaround_error": mix.normalised_turnaround_error,
        "native_jobs": [j.job for j in mix.native.jobs] if mix.native else None,
        "energy_j": mix.energy_j,
        "energy_delay_js": mix.energy_delay_js,
    }


def by_mix(jobs, past):
    """A row for each mix; PAST may hold native runs of the same programs."""
    found = mixes.connected(jobs)
    mixes.find_native(found, [*jobs, *past])
    return [mix_row(mix) for mix in found]
