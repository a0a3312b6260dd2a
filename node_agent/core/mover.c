/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Moves CPUs between jobs. */

#include "node_agent/core/mover.h"

#include "common/clock.h"
#include "node_agent/core/affinity.h"
#include "node_agent/core/division.h"
#include "node_agent/core/process.h"
#include "protocol/cpulist.h"

/* How long runtimes have to obey by themselves: a revoked worker leaves at its
 * next scheduling point, about 30 us away; 5 ms are half of what a job may have
 * to wait for cores that became free. */
#define ACK_LIMIT_NS (5 * NS_PER_MS)
#define ACK_POLL_NS (200 * NS_PER_US)

/* One runtime in fifty is late, because the kernel lets a busy thread end its
 * time slice before the thread that is to obey.  A CPU has to be free within a
 * millisecond: its threads are then moved from here, which needs no answer. */
#define FORCE_NS (NS_PER_MS / 2)

/* A runtime may wake a thread on its old CPU just after it has acknowledged:
 * look again this often before the next epoch does. */
#define RECHECKS 3
#define RECHECK_NS (3 * NS_PER_MS)

void mover_init(struct mover *m, const struct mover_parts *parts)
{
    *m = (struct mover){.p = *parts};
}

void mover_stop(struct mover *m)
{
    host_timer_stop(&m->ack_timer);
    host_timer_stop(&m->recheck_timer);
}

/* Tell JOB's processes which of its CPUs are theirs. */
static void write_parts(const struct mover *m, struct job *job, bool parked,
                        uint64_t now_ns)
{
    division_make(m->p.topology, job, now_ns);
    for (struct process *p = job->processes; p; p = p->next)
        allotment_write(p->allotment, &p->part, parked, now_ns);
}

/* Put CPUS into effect for JOB: pages, held processes, trace. */
static void apply(struct mover *m, struct job *job,
                  const struct cosched_cpuset *cpus, bool parked,
                  uint64_t now_ns)
{
    job->cpus = *cpus;
    job->changed_ns = now_ns;
    job->unsettled = true;
    m->applied = true;
    write_parts(m, job, parked, now_ns);
    if (!cpuset_empty(cpus) && job_kept(job))
        affinity_hold(m->p.enforcer, job);
    trace_allotment(m->p.trace, now_ns, job->id, cpus,
                    topology_count_cores(m->p.topology, cpus));
}

void mover_divide_again(struct mover *m, struct job *job, uint64_t now_ns)
{
    job->undivided = m->moving;
    if (!m->moving)
        write_parts(m, job, job->parked, now_ns);
}

void mover_divide_changing(struct mover *m, uint64_t now_ns)
{
    for (struct job *j = m->p.jobs->first; j; j = j->next)
        if (j->undivided || (j->processes && j->processes->next))
            mover_divide_again(m, j, now_ns);
}

/* First phase for one job: keep only what it has now and may have next. */
static void shrink(struct mover *m, struct job *job, bool parked,
                   uint64_t now_ns)
{
    struct cosched_cpuset keep = job->cpus;

    cpuset_and(&keep, &job->target);
    if (parked && !job->parked) {
        job->parked = true;
        apply(m, job, &keep, true, now_ns);
        enforcer_park(m->p.enforcer, job);
        return;
    }
    if (cpuset_equal(&keep, &job->cpus))
        return;
    apply(m, job, &keep, false, now_ns);
    job->shrunk = true;
    for (struct process *p = job->processes; p; p = p->next)
        p->must_ack = true;
}

/* True when every process of JOB that lost CPUs has said so. */
static bool job_acked(const struct job *job)
{
    for (const struct process *p = job->processes; p; p = p->next)
        if (p->must_ack && !process_acked(p))
            return false;
    return true;
}

static bool all_acked(const struct mover *m)
{
    for (struct job *j = m->p.jobs->first; j; j = j->next)
        if (!job_acked(j))
            return false;
    return true;
}

static void on_recheck(void *arg)
{
    struct mover *m = arg;

    m->rechecks--;
    for (struct job *j = m->p.jobs->first; j; j = j->next) {
        if (j->recheck && job_live(j) && !m->moving)
            affinity_move_strays(m->p.enforcer, j);
        j->recheck = j->recheck && m->rechecks > 0;
    }
    if (m->rechecks > 0)
        host_timer_start(m->p.host, &m->recheck_timer, RECHECK_NS, on_recheck,
                         m);
}

static void recheck_later(struct mover *m)
{
    m->rechecks = RECHECKS;
    host_timer_start(m->p.host, &m->recheck_timer, RECHECK_NS, on_recheck, m);
}

/* Tell all processes whether more CPUs come to their jobs, after these have what they have now. */
static void say_who_grows(const struct mover *m)
{
    for (struct job *j = m->p.jobs->first; j; j = j->next) {
        struct cosched_cpuset comes = j->target;
        cpuset_andnot(&comes, &j->cpus);
        for (struct process *p = j->processes; p; p = p->next)
            allotment_write_grows(p->allotment, !cpuset_empty(&comes));
    }
}

/* Second phase: everybody who lost is out; now the others get theirs. */
static void grow_all(struct mover *m)
{
    uint64_t now_ns = host_now_ns(m->p.host);

    for (struct job *j = m->p.jobs->first; j; j = j->next) {
        if (j->shrunk) {
            affinity_move_strays(m->p.enforcer, j);
            j->recheck = true;
            recheck_later(m);
        }
        j->shrunk = false;
        for (struct process *p = j->processes; p; p = p->next)
            p->must_ack = false;
    }
    for (struct job *j = m->p.jobs->first; j; j = j->next) {
        bool parked = job_live(j) && cpuset_empty(&j->target) && j->parked;
        if (!parked && (j->parked || !cpuset_equal(&j->cpus, &j->target))) {
            apply(m, j, &j->target, false, now_ns);
            if (j->parked)
                enforcer_unpark(m->p.enforcer, j);
            j->parked = false;
        }
    }
    say_who_grows(m);
    m->moving = false;
    host_timer_stop(&m->ack_timer);
    if (!m->applied)
        return;
    m->p.moved(m->p.arg);
    m->applied = false;
}

static void on_ack_timer(void *arg)
{
    struct mover *m = arg;
    uint64_t now_ns = host_now_ns(m->p.host);

    if (all_acked(m) || now_ns >= m->ack_deadline_ns) {
        grow_all(m);
        return;
    }
    if (!m->forced && now_ns + ACK_LIMIT_NS - FORCE_NS >= m->ack_deadline_ns) {
        m->forced = true;
        for (struct job *j = m->p.jobs->first; j; j = j->next)
            if (!job_acked(j))
                affinity_move_strays(m->p.enforcer, j);
    }
    if (host_timer_start(m->p.host, &m->ack_timer, ACK_POLL_NS, on_ack_timer,
                         m) < 0)
        grow_all(m); /* nobody would come back */
}

void mover_move(struct mover *m, const bool *parked, struct job **jobs, size_t count)
{
    uint64_t now_ns = host_now_ns(m->p.host);

    for (struct job *j = m->p.jobs->first; j; j = j->next)
        if (!job_live(j) || j->suspended) {
            cpuset_zero(&j->target);
            if (!cpuset_empty(&j->cpus))
                apply(m, j, &j->target, j->suspended, now_ns);
            j->parked = j->turns = false;
        }
    for (size_t i = 0; i < count; i++)
        shrink(m, jobs[i], parked[i], now_ns);
    if (all_acked(m)) {
        grow_all(m);
        return;
    }
    if (!m->moving) {
        m->ack_deadline_ns = now_ns + ACK_LIMIT_NS;
        m->forced = false;
    }
    m->moving = true;
    say_who_grows(m);
    if (host_timer_start(m->p.host, &m->ack_timer, ACK_POLL_NS, on_ack_timer,
                         m) < 0)
        grow_all(m); /* nobody would come back */
}
