/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Speeds of a mix by a closed network with one class per job: fast. */

#include "model/aggregated_mva.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/greater.h"
#include "model/link_demand.h"

#define ROUNDS 500
#define SETTLED 1e-6 /* less exactly, searches take noise for gains */
#define NEARLY 1e-3 /* is enough to weigh LLC domains by */
#define LLC_LOSS 0.25 /* so much more is missed by who has next to no cache:
                         assumed, as no profile tells it */
#define FULL 0.999 /* most that posted requests leave to reads */
#define WEIGHINGS 2 /* by then what all LLC domains compute is settled well enough */
#define WORST 3     /* and by then the pace of the worst one */
#define HALF 0.5   /* below, posted requests slow nobody down */

struct aggregated_mva {
    const struct machine *machine;
    size_t max_jobs, scratch; /* room: most stations */
    size_t widest;            /* CPUs of an LLC domain */
    const struct workload *const *profile;
    size_t count;
    size_t groups;
    size_t links;    /* that are stations, after the groups */
    size_t stations; /* groups and links */
    size_t *member;  /* [groups] a NUMA node of each */
    bool *waits;     /* [max_jobs] */
    struct link_demands *demands;
    double cpus;     /* of the machine */
    double *group_posted; /* [groups] us of a posted request */
    /* of a prediction */
    size_t *places;  /* [max_jobs] LLC domains where a job has cores, */
    size_t *place;   /* [max_jobs * llc_domains] which ones, */
    size_t *threads; /* [max_jobs] equal parts of its work; 0: it can be divided at will */
    double *misses;  /* how many times as often it misses there */
    double *members; /* [room] how many stations it stands for */
    double *service; /* [room] us */
    double *read;    /* [max_jobs * stations] visits per us of computing */
    double *load;    /* [max_jobs * stations] time of requests that do not stall */
    double *queue;   /* [max_jobs * stations] at groups, then at all links */
    double *total;   /* [room] queue of all */
    double *posted;  /* [room] utilisation */
    double *wait;    /* [room] service, stretched by what is posted */
    double *crowd;   /* [max_jobs * widest] what 1, 2... of its cores do to its misses */
    double *uses;    /* [llc_domains] accesses to the LLC of all jobs */
    double *cores;   /* [max_jobs] */
    double *response; /* [links] of the job that is weighed: us of a visit */
    double *part;    /* [max_jobs * llc_domains] of a job's work done there */
    double *own;     /* [max_jobs] one of these */
    double *time;    /* [max_jobs] per unit of computing */
    double *speed;   /* [max_jobs] cores / time */
    double *waits_for; /* [max_jobs] how much longer it takes for synchronisation */
    double *delay;   /* [max_jobs] of that on links without a queue */
    double *overlap; /* [max_jobs] part of a response that stalls */
    double *latency; /* [max_jobs] services more that a read takes */
};

/* Divide up the memory, of which there are two pieces. */
static void take_room(struct aggregated_mva *l)
{
    const struct machine *machine = l->machine;
    size_t pairs = l->max_jobs * machine->llc_domains;
    size_t table = l->max_jobs * l->scratch;

    l->places = l->member + machine->numa_nodes;
    l->place = l->places + l->max_jobs;
    l->threads = l->place + pairs;
    l->part = l->misses + pairs;
    l->group_posted = l->part + pairs;
    l->members = l->group_posted + machine->numa_nodes;
    l->service = l->members + l->scratch;
    l->total = l->service + l->scratch;
    l->posted = l->total + l->scratch;
    l->wait = l->posted + l->scratch;
    l->response = l->wait + l->scratch;
    l->read = l->response + l->scratch;
    l->load = l->read + table;
    l->queue = l->load + table;
    l->crowd = l->queue + table;
    l->uses = l->crowd + l->max_jobs * l->widest;
    l->cores = l->uses + machine->llc_domains;
    l->own = l->cores + l->max_jobs;
    l->time = l->own + l->max_jobs;
    l->speed = l->time + l->max_jobs;
    l->delay = l->speed + l->max_jobs;
    l->waits_for = l->delay + l->max_jobs;
    l->overlap = l->waits_for + l->max_jobs;
    l->latency = l->overlap + l->max_jobs;
}

struct aggregated_mva *aggregated_new(const struct machine *machine, size_t jobs)
{
    size_t memories = machine->numa_nodes, nodes = machine->llc_domains;
    struct aggregated_mva *l;

    if (!jobs || !(l = calloc(1, sizeof(*l))))
        return NULL;
    l->machine = machine;
    l->max_jobs = jobs;
    l->cpus = (double)machine_all_cpus(machine);
    if (!(l->demands = link_demands_new(machine, jobs))) {
        aggregated_free(l);
        return NULL;
    }
    for (size_t i = 0; i < nodes; i++)
        if (machine_node_cpus(machine, i) > l->widest)
            l->widest = machine_node_cpus(machine, i);
    l->links = link_demands_queues(l->demands);
    l->scratch = memories + l->links;
    l->member = calloc(memories + 2 * jobs + jobs * nodes, sizeof(*l->member));
    l->waits = calloc(jobs, sizeof(*l->waits));
    l->misses = calloc(2 * jobs * nodes + memories + 6 * l->scratch + 3 * jobs * l->scratch +
                           jobs * l->widest + nodes + 8 * jobs,
                       sizeof(*l->misses));
    if (!l->member || !l->waits || !l->misses) {
        aggregated_free(l);
        return NULL;
    }
    take_room(l);
    return l;
}

void aggregated_free(struct aggregated_mva *l)
{
    if (!l)
        return;
    link_demands_free(l->demands);
    free(l->member);
    free(l->waits);
    free(l->misses);
    free(l);
}

/* True when all jobs treat the NUMA nodes A and B alike. */
static bool alike(const struct aggregated_mva *l, size_t a, size_t b)
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

static void find_groups(struct aggregated_mva *l)
{
    l->groups = 0;
    for (size_t m = 0; m < l->machine->numa_nodes; m++) {
        size_t g = 0;
        while (g < l->groups && !alike(l, l->member[g], m))
            g++;
        if (g == l->groups) {
            l->member[g] = m;
            l->members[g] = 0;
            l->groups++;
        }
        l->members[g] += 1;
    }
}

void aggregated_prepare(struct aggregated_mva *l, const struct workload *const *profile,
                    size_t count)
{
    l->profile = profile;
    l->count = count;
    find_groups(l);
    link_demands_prepare(l->demands, profile, count);
    l->stations = l->groups + l->links;
    for (size_t g = 0; g < l->groups; g++) {
        struct machine_service service = machine_controller_service(l->machine, l->member[g]);
        l->service[g] = service.read_us;
        l->group_posted[g] = machine_service_mix(&service, 0, 1, 1);
    }
    for (size_t k = 0; k < l->links; k++) {
        l->members[l->groups + k] = 1;
        l->service[l->groups + k] = machine_link_service(l->machine, k).read_us;
    }
    for (size_t j = 0; j < count; j++)
        for (size_t n = 0; n < l->widest; n++)
            l->crowd[j * l->widest + n] = workload_crowd(profile[j], n + 1);
    for (size_t j = 0; j < count; j++)
        aggregated_set_stalls(l, j, profile[j]->stall_factor);
    memset(l->waits, 0, count * sizeof(*l->waits));
    memset(l->threads, 0, count * sizeof(*l->threads));
}

void aggregated_waits(struct aggregated_mva *l, size_t job)
{
    l->waits[job] = true;
}

void aggregated_rounds(struct aggregated_mva *l, size_t job, size_t threads)
{
    l->threads[job] = threads;
}

void aggregated_set_stalls(struct aggregated_mva *l, size_t job, double factor)
{
    l->overlap[job] = lesser(1, factor);
    l->latency[job] = greater(0, factor - 1);
}

/* How many times as often job J misses on LLC domain I for its cores there, and for others who use
 * the last-level cache, too: it has the part of it that its accesses have. */
static double misses_more(const struct aggregated_mva *l, const size_t *counts,
                          size_t i, size_t j)
{
    size_t cores = counts[i * l->count + j];
    double mine = (double)cores * l->profile[j]->llc_per_us;
    double crowd = l->crowd[j * l->widest + cores - 1];

    return mine > 0 ? crowd * (1 + LLC_LOSS * (1 - mine / l->uses[i])) : crowd;
}

/* What the cores of job J ask of every station in the mean. */
static void take_job(struct aggregated_mva *l, size_t j)
{
    size_t nodes = l->machine->llc_domains;
    double *read = &l->read[j * l->stations], *load = &l->load[j * l->stations];
    double more = 0;

    l->delay[j] = 0;
    for (size_t s = l->groups; s < l->stations; s++)
        read[s] = load[s] = 0;
    for (size_t n = 0; n < l->places[j]; n++) {
        size_t i = l->place[j * nodes + n];
        double part = l->part[j * nodes + i] * l->misses[j * nodes + i];
        if (!(part > 0))
            continue;
        struct link_demand demand = link_demands_of(l->demands, j, i);
        more += part;
        l->delay[j] += part * demand.delay;
        for (size_t k = 0; k < l->links; k++) {
            read[l->groups + k] += part * demand.read[k];
            load[l->groups + k] += part * demand.posted[k];
        }
    }
    for (size_t g = 0; g < l->groups; g++) {
        const struct workload_rate *rate = &l->profile[j]->rate[l->member[g]];
        read[g] = more * rate->read_per_us;
        load[g] = more * greater(0, rate->mrr_per_us - rate->read_per_us) * l->group_posted[g];
    }
}

/* Where each job has cores, and how many; what all ask of each LLC. */
static void find_places(struct aggregated_mva *l, const size_t *counts)
{
    size_t nodes = l->machine->llc_domains;

    memset(l->cores, 0, l->count * sizeof(*l->cores));
    memset(l->places, 0, l->count * sizeof(*l->places));
    for (size_t i = 0; i < nodes; i++) {
        const size_t *here = &counts[i * l->count];
        l->uses[i] = 0;
        for (size_t j = 0; j < l->count; j++) {
            if (!here[j])
                continue;
            l->place[j * nodes + l->places[j]++] = i;
            l->cores[j] += (double)here[j];
            l->uses[i] += (double)here[j] * l->profile[j]->llc_per_us;
        }
    }
}

static void take_counts(struct aggregated_mva *l, const size_t *counts)
{
    size_t nodes = l->machine->llc_domains;

    find_places(l, counts);
    for (size_t j = 0; j < l->count; j++) {
        for (size_t n = 0; n < l->places[j]; n++) {
            size_t i = l->place[j * nodes + n];
            l->part[j * nodes + i] = (double)counts[i * l->count + j] / l->cores[j];
            l->misses[j * nodes + i] = misses_more(l, counts, i, j);
        }
        l->waits_for[j] = 1 / (1 - workload_sync(l->profile[j], l->cores[j] / l->cpus)) /
                          workload_rounds(l->threads[j], (size_t)l->cores[j]);
        if (l->cores[j] > 0)
            link_demands_place(l->demands, j, counts);
        take_job(l, j);
    }
}

/* Queues and posted utilisation of all jobs; returns the greatest of these. */
static double add_up(struct aggregated_mva *l)
{
    double most = 0;

    for (size_t s = 0; s < l->stations; s++)
        l->total[s] = l->posted[s] = 0;
    for (size_t j = 0; j < l->count; j++) {
        const double *queue = &l->queue[j * l->stations];
        const double *load = &l->load[j * l->stations];
        if (!(l->cores[j] > 0))
            continue;
        for (size_t s = 0; s < l->stations; s++) {
            l->total[s] += queue[s];
            l->posted[s] += l->speed[j] * load[s];
        }
    }
    for (size_t s = 0; s < l->stations; s++) {
        most = greater(most, l->posted[s]);
        l->wait[s] = l->service[s] / (1 - lesser(l->posted[s], FULL));
    }
    return most;
}

/* How full the fullest station is that job J posts requests to. */
static double fullest(const struct aggregated_mva *l, size_t j)
{
    double full = 0;

    for (size_t s = 0; s < l->stations; s++)
        if (l->load[j * l->stations + s] > 0)
            full = greater(full, l->posted[s] / FULL);
    return full;
}

/* Renew job J, where POSTED is the greatest utilisation by posted requests;
 * returns the relative change of its time. */
static double renew(struct aggregated_mva *l, size_t j, double posted)
{
    double overlap = l->overlap[j], latency = l->latency[j];
    double time = 1 + l->delay[j] * (overlap + latency), before = l->time[j];
    const double *read = &l->read[j * l->stations];
    double *queue = &l->queue[j * l->stations];

    for (size_t s = 0; s < l->stations; s++) {
        double seen = l->total[s] - queue[s] * l->own[j] * overlap;
        double response = read[s] * l->wait[s] * (1 + seen);
        time += l->members[s] * (overlap * response + latency * read[s] * l->service[s]);
        l->total[s] -= queue[s];
        queue[s] = response; /* so far per unit of computing */
    }
    time *= l->waits_for[j];
    /* Where posted requests would saturate, all who make them wait. */
    if (posted > HALF)
        time = greater(time, before * fullest(l, j));
    double speed = l->cores[j] / time;
    for (size_t s = 0; s < l->stations; s++) {
        queue[s] *= speed;
        l->total[s] += queue[s]; /* for the next job of this round */
    }
    l->time[j] = time;
    l->speed[j] = speed;
    return fabs(time - before) / time;
}

/* How long a visit of job J to each link takes. */
static void find_responses(struct aggregated_mva *l, size_t j)
{
    const double *read = &l->read[j * l->stations + l->groups];
    const double *queue = &l->queue[j * l->stations + l->groups];
    double each = l->time[j] / l->cores[j];

    for (size_t k = 0; k < l->links; k++)
        l->response[k] = read[k] > 0 ? queue[k] / read[k] * each : 0;
}

/* Time that a unit of computing of that job stalls for links from LLC domain I. */
static double link_time(const struct aggregated_mva *l, size_t j, size_t i)
{
    struct link_demand demand = link_demands_of(l->demands, j, i);
    double overlap = l->overlap[j], latency = l->latency[j];
    double sum = demand.delay * (overlap + latency);

    for (size_t k = 0; k < l->links; k++)
        sum += demand.read[k] *
               (overlap * l->response[k] + latency * l->service[l->groups + k]);
    return sum * l->misses[j * l->machine->llc_domains + i];
}

/* How many times as long as on average a unit of computing of job J takes on the
 * worst of its LLC domains. */
static double worst_node(struct aggregated_mva *l, size_t j)
{
    size_t nodes = l->machine->llc_domains;
    double worst = 0, mean = 0;

    find_responses(l, j);
    for (size_t n = 0; n < l->places[j]; n++) {
        size_t i = l->place[j * nodes + n];
        double time = link_time(l, j, i);
        worst = fmax(worst, time);
        mean += l->part[j * nodes + i] * time;
    }
    return 1 + (worst - mean) / l->time[j];
}

/* Cores with a bad way to memory compute less, and load it less: weigh each LLC
 * domain of job J with what is done there. */
static void weigh_nodes(struct aggregated_mva *l, const size_t *counts, size_t j)
{
    size_t nodes = l->machine->llc_domains, places = l->places[j];
    const size_t *place = &l->place[j * nodes];
    double *part = &l->part[j * nodes], mean = 0, sum = 0;
    double time[nodes];

    find_responses(l, j);
    for (size_t n = 0; n < places; n++) {
        time[n] = link_time(l, j, place[n]);
        mean += part[place[n]] * time[n];
    }
    for (size_t n = 0; n < places; n++) {
        size_t i = place[n];
        double all = greater(1, l->time[j] + time[n] - mean);
        /* Half of the way, lest it swing. */
        part[i] = (part[i] + (double)counts[i * l->count + j] / l->cores[j] *
                                 l->time[j] / all) / 2;
        sum += part[i];
    }
    for (size_t n = 0; n < places; n++)
        part[place[n]] /= sum;
}

/* Speeds with the parts of work that there are, until they change by less than LEAST. */
static void settle(struct aggregated_mva *l, double least)
{
    double change = 1; /* what is there is the first guess */

    for (int round = 0; round < ROUNDS && change > least; round++) {
        double posted = add_up(l);
        change = 0;
        for (size_t j = 0; j < l->count; j++)
            if (l->cores[j] > 0)
                change = greater(change, renew(l, j, posted));
    }
}

/* How often to weigh LLC domains: the pace of the worst one shows every error. */
static int weighings(const struct aggregated_mva *l)
{
    for (size_t j = 0; j < l->count; j++)
        if (l->waits[j] && l->cores[j] > 0)
            return WORST;
    return WEIGHINGS;
}

/* The same every time: who asks before does not matter. */
static void first_guess(struct aggregated_mva *l)
{
    memset(l->queue, 0, l->count * l->stations * sizeof(*l->queue));
    for (size_t j = 0; j < l->count; j++) {
        l->time[j] = 1;
        l->speed[j] = l->cores[j];
        l->own[j] = 1 / l->cores[j];
    }
}

void aggregated_predict(struct aggregated_mva *l, const size_t *counts, double *speed)
{
    take_counts(l, counts);
    first_guess(l);
    settle(l, NEARLY);
    for (int round = weighings(l); round > 0; round--) {
        for (size_t j = 0; j < l->count; j++)
            if (l->places[j] > 1) {
                weigh_nodes(l, counts, j);
                take_job(l, j);
            }
        settle(l, round > 1 ? NEARLY : SETTLED);
    }
    for (size_t j = 0; j < l->count; j++)
        speed[j] = l->cores[j] > 0 ? l->cores[j] / l->time[j] : 0;
    for (size_t j = 0; j < l->count; j++)
        if (l->waits[j] && l->cores[j] > 0)
            speed[j] /= worst_node(l, j);
}

double aggregated_stalls(const struct aggregated_mva *l, size_t job)
{
    return l->time[job] / l->waits_for[job] - 1;
}
