/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Speeds of a mix by a closed network with one class per job: fast. */

#include "model/lumped.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 500
#define SETTLED 1e-4
#define LLC_LOSS 0.25 /* so much more is missed by who has next to no cache:
                         assumed, as no profile tells it */
#define MANY_LINKS 64 /* beyond, links are delays without queues: where all
                         nodes are connected each has next to no load */
#define FULL 0.999 /* most that posted requests leave to reads */

struct lumped {
    const struct machine *machine;
    size_t max_jobs, room; /* room: most stations */
    const struct workload *const *profile;
    size_t count;
    size_t groups;
    size_t stations; /* groups, then links that somebody uses */
    size_t *member;  /* [groups] a memory node of each */
    size_t *members; /* [stations] how many */
    size_t *group;   /* [mem_nodes] */
    size_t *station; /* [links] of each link; 0: nobody uses it */
    double *service; /* [stations] us */
    double *read;    /* [max_jobs * room] visits per us of computing */
    double *other;   /* [max_jobs * room] of requests that do not stall */
    double *queue;   /* [max_jobs * room] at groups, then at all links */
    double *total;   /* [room] queue of all */
    double *posted;  /* [room] utilisation */
    double *cores;   /* [max_jobs] */
    double *time;    /* [max_jobs] per unit of computing */
    double *delay;   /* [max_jobs] of that on links without a queue */
    bool *waits;     /* [max_jobs] */
};

struct lumped *lumped_new(const struct machine *machine, size_t jobs)
{
    size_t memories = machine->mem_nodes, room = memories + machine->links;
    struct lumped *l;

    if (!jobs || !(l = calloc(1, sizeof(*l))))
        return NULL;
    l->machine = machine;
    l->max_jobs = jobs;
    l->room = room;
    l->member = calloc(2 * memories + room + machine->links,
                       sizeof(*l->member));
    l->service = calloc(3 * jobs * room + 3 * room + 3 * jobs,
                        sizeof(*l->service));
    l->waits = calloc(jobs, sizeof(*l->waits));
    if (!l->member || !l->service || !l->waits) {
        lumped_free(l);
        return NULL;
    }
    l->group = l->member + memories;
    l->members = l->group + memories;
    l->station = l->members + room;
    l->read = l->service + room;
    l->other = l->read + jobs * room;
    l->queue = l->other + jobs * room;
    l->total = l->queue + jobs * room;
    l->posted = l->total + room;
    l->cores = l->posted + room;
    l->time = l->cores + jobs;
    l->delay = l->time + jobs;
    return l;
}

void lumped_free(struct lumped *l)
{
    if (!l)
        return;
    free(l->member);
    free(l->service);
    free(l->waits);
    free(l);
}

/* True when all jobs treat the memory nodes A and B alike. */
static bool alike(const struct lumped *l, size_t a, size_t b)
{
    if (l->machine->controller_service_us[a] !=
        l->machine->controller_service_us[b])
        return false;
    for (size_t j = 0; j < l->count; j++) {
        const struct workload_rate *rate = l->profile[j]->rate;
        if (rate[a].mrr_per_us != rate[b].mrr_per_us ||
            rate[a].read_per_us != rate[b].read_per_us)
            return false;
    }
    return true;
}

static void find_groups(struct lumped *l)
{
    l->groups = 0;
    for (size_t m = 0; m < l->machine->mem_nodes; m++) {
        size_t g = 0;
        while (g < l->groups && !alike(l, l->member[g], m))
            g++;
        if (g == l->groups) {
            l->member[g] = m;
            l->members[g] = 0;
            l->groups++;
        }
        l->members[g]++;
        l->group[m] = g;
    }
}

void lumped_prepare(struct lumped *l, const struct workload *const *profile,
                    size_t count)
{
    l->profile = profile;
    l->count = count;
    find_groups(l);
    memset(l->waits, 0, count * sizeof(*l->waits));
    memset(l->queue, 0, count * l->room * sizeof(*l->queue));
    for (size_t j = 0; j < count; j++)
        l->time[j] = 1;
}

void lumped_waits(struct lumped *l, size_t job)
{
    l->waits[job] = true;
}

/* A posted request takes so much of the time of a read. */
static double posted_cost(const struct machine_service *service)
{
    return (service->write_us + service->prefetch_us) / 2 / service->read_us;
}

/* Add what PART of job J's cores, on CPU node I, asks of the links. */
static void visit_links(struct lumped *l, size_t j, size_t i, double part)
{
    const struct machine *machine = l->machine;

    for (size_t m = 0; m < machine->mem_nodes; m++) {
        const struct machine_route *route =
            &machine->route[i * machine->mem_nodes + m];
        const struct workload_rate *rate = &l->profile[j]->rate[m];
        double read = part * rate->read_per_us;
        double other = part * fmax(0, rate->mrr_per_us - rate->read_per_us);
        if (!(rate->mrr_per_us > 0))
            continue;
        for (size_t k = 0; k < route->links; k++) {
            size_t link = route->link[k], s = l->station[link];
            struct machine_service service =
                machine_link_service(machine, link);
            if (machine->links > MANY_LINKS) {
                l->delay[j] += read * service.read_us;
                continue;
            }
            if (!s) {
                s = l->station[link] = l->stations++;
                l->members[s] = 1;
                l->service[s] = service.read_us;
                for (size_t o = 0; o < l->count; o++)
                    l->read[o * l->room + s] = l->other[o * l->room + s] = 0;
            }
            l->read[j * l->room + s] += read;
            l->other[j * l->room + s] += other * posted_cost(&service);
        }
    }
}

/* How many times as often job J misses on CPU node I for those who use the
 * last-level cache there, too: it has the part of it that its accesses have. */
static double misses_more(const struct lumped *l, const size_t *counts,
                          size_t i, size_t j)
{
    double mine = 0, all = 0;

    for (size_t k = 0; k < l->count; k++) {
        double uses = (double)counts[i * l->count + k] *
                      l->profile[k]->llc_per_us;
        all += uses;
        if (k == j)
            mine = uses;
    }
    return mine > 0 ? 1 + LLC_LOSS * (1 - mine / all) : 1;
}

/* Cores of each job, and what each of them asks of every station. */
static void take_counts(struct lumped *l, const size_t *counts)
{
    size_t nodes = l->machine->cpu_nodes;

    memset(l->cores, 0, l->count * sizeof(*l->cores));
    memset(l->delay, 0, l->count * sizeof(*l->delay));
    memset(l->station, 0, l->machine->links * sizeof(*l->station));
    l->stations = l->groups;
    for (size_t j = 0; j < l->count; j++) {
        for (size_t g = 0; g < l->groups; g++) {
            struct machine_service service =
                machine_controller_service(l->machine, l->member[g]);
            const struct workload_rate *rate =
                &l->profile[j]->rate[l->member[g]];
            l->service[g] = service.read_us;
            l->read[j * l->room + g] = rate->read_per_us;
            l->other[j * l->room + g] =
                fmax(0, rate->mrr_per_us - rate->read_per_us) *
                posted_cost(&service);
        }
        for (size_t i = 0; i < nodes; i++)
            l->cores[j] += (double)counts[i * l->count + j];
        double more = 0;
        for (size_t i = 0; i < nodes; i++) {
            double part = (double)counts[i * l->count + j];
            if (!(part > 0))
                continue;
            part *= misses_more(l, counts, i, j) / l->cores[j];
            more += part;
            visit_links(l, j, i, part);
        }
        for (size_t g = 0; g < l->groups && l->cores[j] > 0; g++) {
            l->read[j * l->room + g] *= more;
            l->other[j * l->room + g] *= more;
        }
    }
}

/* Queues and posted utilisation of all jobs. */
static void add_up(struct lumped *l)
{
    memset(l->total, 0, l->stations * sizeof(*l->total));
    memset(l->posted, 0, l->stations * sizeof(*l->posted));
    for (size_t j = 0; j < l->count; j++) {
        if (!(l->cores[j] > 0))
            continue;
        double speed = l->cores[j] / l->time[j];
        for (size_t s = 0; s < l->stations; s++) {
            l->total[s] += l->queue[j * l->room + s];
            l->posted[s] += speed * l->other[j * l->room + s] * l->service[s];
        }
    }
}

/* Renew job J; returns the relative change of its time. */
static double renew(struct lumped *l, size_t j)
{
    double time = 1 + l->delay[j], before = l->time[j], full = 0, own = 1 / l->cores[j];
    const double *read = &l->read[j * l->room];
    const double *other = &l->other[j * l->room];
    double *queue = &l->queue[j * l->room];

    for (size_t s = 0; s < l->stations; s++) {
        double seen = l->total[s] - queue[s] * own;
        double response = read[s] * l->service[s] * (1 + seen) /
                          (1 - fmin(l->posted[s], FULL));
        if (other[s] > 0)
            full = fmax(full, l->posted[s] / FULL);
        time += (double)l->members[s] * response;
        l->total[s] -= queue[s];
        queue[s] = response; /* so far per unit of computing */
    }
    /* Where posted requests would saturate, all who make them wait. */
    time = fmax(time, before * full);
    for (size_t s = 0; s < l->stations; s++) {
        queue[s] *= l->cores[j] / time;
        l->total[s] += queue[s]; /* for the next job of this round */
    }
    l->time[j] = time;
    return fabs(time - before) / time;
}

/* Time that a unit of computing of job J spends on links from CPU node I. */
static double link_time(const struct lumped *l, size_t j, size_t i)
{
    const struct machine *machine = l->machine;
    double sum = 0;

    for (size_t m = 0; m < machine->mem_nodes; m++) {
        const struct machine_route *route =
            &machine->route[i * machine->mem_nodes + m];
        double read = l->profile[j]->rate[m].read_per_us;
        for (size_t k = 0; k < route->links && read > 0; k++) {
            size_t s = l->station[route->link[k]];
            double visits = l->read[j * l->room + s];
            if (!s)
                sum += read * machine_link_service(machine, route->link[k])
                                  .read_us;
            else if (visits > 0)
                sum += read / visits * l->queue[j * l->room + s] *
                       l->time[j] / l->cores[j];
        }
    }
    return sum;
}

/* How many times as long as on average a unit of computing of job J takes on the
 * worst of its CPU nodes. */
static double worst_node(const struct lumped *l, const size_t *counts, size_t j)
{
    double worst = 0, mean = 0;

    for (size_t i = 0; i < l->machine->cpu_nodes; i++) {
        double part = (double)counts[i * l->count + j] / l->cores[j];
        if (!(part > 0))
            continue;
        double time = link_time(l, j, i) * misses_more(l, counts, i, j);
        worst = fmax(worst, time);
        mean += part * time;
    }
    return 1 + (worst - mean) / l->time[j];
}

void lumped_predict(struct lumped *l, const size_t *counts, double *speed)
{
    double change = 1;
    size_t before = l->stations;

    take_counts(l, counts);
    /* The solution before is the first guess, where it has the stations. */
    for (size_t j = 0; j < l->count; j++)
        for (size_t s = before; s < l->stations; s++)
            l->queue[j * l->room + s] = 0;
    for (int round = 0; round < ROUNDS && change > SETTLED; round++) {
        change = 0;
        add_up(l);
        for (size_t j = 0; j < l->count; j++)
            if (l->cores[j] > 0)
                change = fmax(change, renew(l, j));
    }
    for (size_t j = 0; j < l->count; j++)
        speed[j] = l->cores[j] > 0 ? l->cores[j] / l->time[j] : 0;
    for (size_t j = 0; j < l->count; j++)
        if (l->waits[j] && l->cores[j] > 0)
            speed[j] /= worst_node(l, counts, j);
}
