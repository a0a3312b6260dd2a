/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A process that attached: its two shared pages and what they say. */

#include "node_agent/core/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/core/host.h"
#include "node_agent/core/job.h"
#include "node_agent/core/task_maps.h"

static struct record_totals sum_up(const struct report_view *view)
{
    struct record_totals all = {.regions = view->used, .preempted = (double)view->preempted};

    for (uint32_t i = 0; i < view->used; i++) {
        all.steps += (double)view->regions[i].entries;
        all.barriers += (double)view->regions[i].barriers;
        all.waited_s += (double)view->regions[i].idle_ns * 1e-9;
    }
    return all;
}

/* A process that was attached before takes what is in its page into the next one. */
static void take_up(struct process *p)
{
    for (size_t i = 0; i < JOB_PAGES; i++) {
        struct report *left = p->job->left[i];
        if (left && report_pid(left) == p->pid &&
            report_read(left, p->pid, p->previous, NULL) == 0)
            p->before = sum_up(p->previous);
    }
    memset(p->previous, 0, sizeof(*p->previous));
}

struct process *process_attach(struct job *job, pid_t pid,
                               const struct topology *topology,
                               uint64_t lease_ns, struct errtext *err)
{
    const struct machine *machine = topology_machine(topology);
    struct process *p;

    if (job->process_count >= JOB_ATTACHED) {
        errtext_set(err, EDQUOT, "job %u: %d of its processes have attached on this node, and "
                    "JOB_ATTACHED allows no more", job->id, JOB_ATTACHED);
        return NULL;
    }
    if (!(p = calloc(1, sizeof(*p)))) {
        errtext_set(err, ENOMEM, "attach: out of memory");
        return NULL;
    }
    p->job = job;
    p->pid = pid;
    p->pidfd = -1;
    if ((p->pidfd = host_process_hold(pid, &p->start)) < 0) {
        errtext_set(err, ESRCH, "pid %d: no such process", (int)pid);
        goto fail;
    }
    if (!(p->view = calloc(1, sizeof(*p->view))) ||
        !(p->previous = calloc(1, sizeof(*p->previous)))) {
        errtext_set(err, ENOMEM, "attach: out of memory");
        goto fail;
    }
    take_up(p);
    p->view->region = p->previous->region = COSCHED_REGION_SERIAL;
    if (!(p->allotment = allotment_new(&job->granted, lease_ns,
                                       topology_llc_domains(topology),
                                       machine->cpus, machine->llc_domains,
                                       err)) ||
        !(p->report = report_new(err)))
        goto fail;
    /* Where nobody counts it, as in a simulation, it may have used all. */
    p->cpu_ns = host_process_cpu_ns(pid);
    p->cpu_rate = p->cpu_ns == UINT64_MAX ? COSCHED_MAX_CPUS : 0;
    p->next = job->processes;
    job->processes = p;
    job->process_count++;
    job->growth = (struct growth){0}; /* look now, whatever those before it did */
    return p;
fail:
    process_detach(p);
    return NULL;
}

static uint64_t total_entries(const struct report_view *view)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < view->used; i++)
        sum += view->regions[i].entries;
    return sum;
}

/* Serial since the agent first saw it so, with no region begun since: the
 * process' own time stamp only tells two regions apart. */
static void note_serial(struct process *p, bool ready, uint32_t region, uint64_t begun_ns,
                        uint64_t now_ns)
{
    bool serial = ready && region == COSCHED_REGION_SERIAL;

    if (serial && (!p->serial || begun_ns != p->begun_ns))
        p->serial_since_ns = now_ns;
    p->serial = serial;
    p->begun_ns = begun_ns;
}

int process_observe(struct process *p, uint64_t now_ns, struct errtext *err)
{
    struct report_view *fresh = p->previous;

    if (p->bad)
        return 0;
    if (report_read(p->report, p->pid, fresh, err) < 0) {
        /* Freed of all trust: from now on held as if it had not attached. */
        p->bad = true;
        p->serial = false;
        return -1;
    }
    p->previous = p->view;
    p->view = fresh;
    if (fresh->team > p->team)
        p->team = fresh->team;
    note_serial(p, fresh->ready, fresh->region, fresh->region_begin_ns, now_ns);
    return 0;
}

void process_glance(struct process *p, uint64_t now_ns)
{
    uint32_t region;
    uint64_t begun_ns;

    if (!p->bad && report_glance(p->report, &region, &begun_ns))
        note_serial(p, true, region, begun_ns, now_ns);
}

uint64_t process_serial_ns(const struct process *p, uint64_t now_ns)
{
    return p->serial && !p->bad ? now_ns - p->serial_since_ns : 0;
}

const struct cosched_region *process_long_region(const struct process *p,
                                                   uint64_t now_ns,
                                                   uint64_t min_ns)
{
    const struct report_view *v = p->view;

    if (p->bad || !v->ready || v->region == COSCHED_REGION_SERIAL)
        return NULL;
    /* The entry that collects the overflow is no region of its own. */
    if (v->region == COSCHED_REGION_OVERFLOW)
        return NULL;
    const struct cosched_region *s = &v->regions[v->region];
    if (now_ns > v->region_begin_ns && now_ns - v->region_begin_ns >= min_ns)
        return s;
    if (s->entries > 1 && s->time_ns / (s->entries - 1) >= min_ns)
        return s;
    return NULL;
}

uint32_t process_region(const struct process *p)
{
    const struct report_view *v = p->view, *b = p->previous;

    return !p->bad && v->ready && b->ready && v->region == b->region && v->region < v->used
               ? v->region
               : COSCHED_REGION_SERIAL;
}

static double forward(uint64_t now, uint64_t before)
{
    return now > before ? (double)(now - before) : 0.0;
}

/* True when R is wanted: ALL regions, or the one at OFFSET of object OBJECT_ID. */
static bool is_wanted(const struct cosched_region *r, bool all, uint64_t object_id,
                      uint64_t offset)
{
    return all || (r->object_id == object_id && r->offset == offset);
}

void process_add_work(const struct process *p, bool all, uint64_t object_id,
                      uint64_t offset, double work[COUNTERS_UNITS], double *idle_ns)
{
    static const struct cosched_region nothing;

    if (p->bad)
        return;
    for (uint32_t i = 0; i < p->view->used; i++) {
        const struct cosched_region *s = &p->view->regions[i];
        const struct cosched_region *b =
            i < p->previous->used ? &p->previous->regions[i] : &nothing;
        if (!is_wanted(s, all, object_id, offset))
            continue;
        work[COUNTERS_ITERATIONS] += forward(s->iterations, b->iterations);
        work[COUNTERS_BARRIERS] += forward(s->barriers, b->barriers);
        work[COUNTERS_ULTS] += forward(s->ults, b->ults);
        work[COUNTERS_ENTRIES] += forward(s->entries, b->entries);
        *idle_ns += forward(s->idle_ns, b->idle_ns);
    }
}

bool process_hands_out(const struct process *p, bool all, uint64_t object_id, uint64_t offset)
{
    const struct report_view *v = p->view;

    for (uint32_t i = 0; i < v->used; i++)
        if (v->regions[i].iterations && is_wanted(&v->regions[i], all, object_id, offset))
            return true;
    return false;
}

double process_take_cpu(struct process *p, uint64_t now_ns)
{
    uint64_t cpu_ns = host_process_cpu_ns(p->pid);
    double elapsed_ns = p->cpu_read_ns ? forward(now_ns, p->cpu_read_ns) : 1e9;
    double used_ns = p->cpu_rate * elapsed_ns;

    if (cpu_ns != UINT64_MAX) {
        used_ns = forward(cpu_ns, p->cpu_ns);
        if (p->cpu_read_ns && elapsed_ns > 0)
            p->cpu_rate = used_ns / elapsed_ns;
        p->cpu_ns = cpu_ns;
    }
    p->cpu_read_ns = now_ns;
    return used_ns * 1e-9;
}

void process_add_totals(const struct process *p, struct record_totals *totals)
{
    struct record_totals now = sum_up(p->view), before = p->before;

    /* A page that is no report counts no more; a program executed meanwhile begins at 0. */
    if (p->bad)
        return;
    if (now.steps < before.steps || now.regions < before.regions)
        before = (struct record_totals){0};
    totals->regions += now.regions - before.regions;
    totals->steps += now.steps - before.steps;
    totals->barriers += now.barriers - before.barriers;
    totals->waited_s += now.waited_s - before.waited_s;
    totals->preempted += now.preempted - before.preempted;
    if (p->team > totals->threads)
        totals->threads = p->team;
}

bool process_got_on(const struct process *p)
{
    const struct report_view *v = p->view, *b = p->previous;

    if (p->bad || !v->ready || !b->ready)
        return false;
    if (v->region != b->region || v->used != b->used)
        return true;
    if (v->region >= v->used)
        return total_entries(v) != total_entries(b);
    const struct cosched_region *now = &v->regions[v->region];
    const struct cosched_region *before = &b->regions[v->region];
    return now->iterations != before->iterations ||
           now->barriers != before->barriers || now->ults != before->ults ||
           now->entries != before->entries;
}

bool process_acked(const struct process *p)
{
    return p->bad || !p->view->ready ||
           report_applied(p->report) == allotment_generation(p->allotment);
}

void process_detach(struct process *p)
{
    int saved = errno;

    for (struct process **q = &p->job->processes; *q; q = &(*q)->next)
        if (*q == p) {
            *q = p->next;
            p->job->process_count--;
            break;
        }
    host_process_release(p->pidfd, p->exit_source);
    allotment_free(p->allotment);
    report_free(p->report);
    task_maps_free(p->maps);
    free(p->view);
    free(p->previous);
    free(p);
    errno = saved;
}
