/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What came of a simulated node: filled while it runs, and when it is done. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/cpulist.h"
#include "simulator/virtual_host.h"
#include "simulator/vnode_private.h"

struct vnode_result *vnode_result_new(const struct vnode_config *c)
{
    struct vnode_result *r = calloc(1, sizeof(*r));
    const struct machine *m = c->machine;

    if (!r)
        return NULL;
    r->trace_fd = -1;
    r->scenario = c->scenario;
    memcpy(r->policy, c->options.policy, sizeof(r->policy));
    r->cpus = m->cpus;
    r->controllers = m->numa_nodes;
    r->links = m->links;
    r->job = calloc(c->scenario->jobs, sizeof(*r->job));
    r->utilisation = calloc(m->numa_nodes + m->links, sizeof(*r->utilisation));
    if (!r->job || !r->utilisation) {
        vnode_result_free(r);
        return NULL;
    }
    return r;
}

static double seconds(uint64_t ns)
{
    return (double)(ns - VIRTUAL_BEGIN_NS) * 1e-9;
}

int vnode_result_changed(struct vnode *n)
{
    static const struct cosched_cpuset none;
    struct vnode_result *r = n->result;

    for (size_t j = 0; j < n->jobs; j++) {
        struct vjob *v = &n->job[j];
        const struct cosched_cpuset *now = v->job ? &v->job->cpus : &none;
        struct cosched_cpuset fresh = *now;
        if (cpuset_equal(now, &n->before[j]))
            continue;
        if (r->changes == n->room) {
            size_t room = n->room ? 2 * n->room : 64;
            void *grown = realloc(r->change, room * sizeof(*r->change));
            if (!grown)
                return -1;
            r->change = grown;
            n->room = room;
        }
        cpuset_andnot(&fresh, &n->before[j]);
        r->moved_cpus += (size_t)cpuset_count(&fresh);
        n->before[j] = *now;
        r->change[r->changes++] = (struct vnode_change){
            seconds(host_now_ns(n->host)), j, *now};
    }
    return 0;
}

int vnode_result_finish(struct vnode *n, struct errtext *err)
{
    struct vnode_result *r = n->result;
    double first = INFINITY, last = 0, busy = 0, work = 0;

    for (size_t j = 0; j < n->jobs; j++) {
        const struct vjob *v = &n->job[j];
        r->job[j] = (struct vnode_job){
            .name = v->what->name,
            .arrival_s = seconds(v->arrival_ns),
            .end_s = seconds(v->end_ns),
            .turnaround_s = (double)(v->end_ns - v->arrival_ns) * 1e-9,
            .core_s = v->core_s,
            .busy_s = v->busy_s,
            .work_s = v->work_s,
            .moves = v->changes,
        };
        first = fmin(first, r->job[j].arrival_s);
        last = fmax(last, r->job[j].end_s);
        busy += v->busy_s;
        work += v->work_s;
    }
    r->makespan_s = last - first;
    r->cores = n->node.cores;
    r->core_util = busy / ((double)r->cores * r->makespan_s);
    r->compute_util = work / ((double)r->cores * r->makespan_s);
    for (size_t i = 0; i < r->controllers + r->links; i++)
        r->utilisation[i] = n->util_s[i] / r->makespan_s;
    r->decisions = decisions_count(n->decisions);
    if (r->decisions)
        r->decide_mean_us /= (double)r->decisions;
    r->log = decisions_json(n->decisions, 0);
    r->solved = virtual_memory_solved(n->rates.memory);
    r->asked = virtual_memory_asked(n->rates.memory);
    r->trace_fd = trace_write(n->trace, 0, host_now_ns(n->host), err);
    return r->log && r->trace_fd >= 0 ? 0 : -1;
}

void vnode_result_free(struct vnode_result *r)
{
    if (!r)
        return;
    int saved = errno;
    if (r->trace_fd >= 0)
        close(r->trace_fd);
    json_decref(r->log);
    free(r->job);
    free(r->utilisation);
    free(r->change);
    free(r);
    errno = saved;
}
