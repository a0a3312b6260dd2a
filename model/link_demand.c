/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the cores of a job ask of the links between NUMA nodes. */

#include "model/link_demand.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/greater.h"
#include "model/locality.h"

/* A row for each job and LLC domain. */
struct rows {
    bool *known;    /* [jobs * llc_domains] */
    double *read;   /* [jobs * llc_domains * links] */
    double *posted; /* likewise */
    double *delay;  /* [jobs * llc_domains] */
};

struct link_demands {
    const struct machine *machine;
    const struct workload *const *profile;
    size_t count;
    size_t links;    /* with queues */
    double *service; /* [machine->links] of a read, us */
    double *stay;    /* [machine->links] of one that does not stall, half writes, half prefetches */
    struct rows alike; /* were all cores of a job alike */
    struct rows local; /* of local jobs, as they are placed */
    double *asked;   /* [jobs] requests to all NUMA nodes */
    double *near;    /* [jobs * numa_nodes] part of a local job's cores */
    double *spare;   /* [jobs] data of such a job where it has no cores for it */
};

static bool rows_init(struct rows *r, size_t count, size_t links)
{
    r->known = calloc(count, sizeof(*r->known));
    r->read = calloc(2 * count * links + count, sizeof(*r->read));
    if (!r->known || !r->read)
        return false;
    r->posted = r->read + count * links;
    r->delay = r->posted + count * links;
    return true;
}

static void rows_clear(struct rows *r)
{
    free(r->known);
    free(r->read);
}

struct link_demands *link_demands_new(const struct machine *machine, size_t jobs)
{
    size_t links = machine->links, rows = jobs * machine->llc_domains;
    struct link_demands *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->machine = machine;
    d->links = links > LINK_DEMAND_QUEUES ? 0 : links;
    d->service = calloc(2 * links + jobs * (2 + machine->numa_nodes), sizeof(*d->service));
    if (!d->service || !rows_init(&d->alike, rows, d->links) ||
        !rows_init(&d->local, rows, d->links)) {
        link_demands_free(d);
        return NULL;
    }
    d->stay = d->service + links;
    d->asked = d->stay + links;
    d->spare = d->asked + jobs;
    d->near = d->spare + jobs;
    for (size_t k = 0; k < links; k++) {
        struct machine_service service = machine_link_service(machine, k);
        d->service[k] = service.read_us;
        d->stay[k] = machine_service_mix(&service, 0, 1, 1);
    }
    return d;
}

void link_demands_free(struct link_demands *d)
{
    if (!d)
        return;
    rows_clear(&d->alike);
    rows_clear(&d->local);
    free(d->service);
    free(d);
}

size_t link_demands_queues(const struct link_demands *d)
{
    return d->links;
}

void link_demands_prepare(struct link_demands *d, const struct workload *const *profile,
                          size_t count)
{
    d->profile = profile;
    d->count = count;
    memset(d->alike.known, 0, count * d->machine->llc_domains * sizeof(*d->alike.known));
    for (size_t j = 0; j < count; j++)
        d->asked[j] = workload_total(profile[j]).mrr_per_us;
}

/* True when what a core of job J asks depends on where the others are. */
static bool is_local(const struct link_demands *d, size_t j)
{
    return d->profile[j]->locality > 0 && d->asked[j] > 0; /* not where it is unknown */
}

/* The part of job J's data on NUMA node M. */
static double data_at(const struct link_demands *d, size_t j, size_t m)
{
    return d->profile[j]->rate[m].mrr_per_us / d->asked[j];
}

void link_demands_place(struct link_demands *d, size_t j, const size_t *counts)
{
    size_t domains = d->machine->llc_domains, memories = d->machine->numa_nodes;
    double *near = &d->near[j * memories], cores = 0;

    if (!is_local(d, j))
        return;
    memset(&d->local.known[j * domains], 0, domains * sizeof(*d->local.known));
    memset(near, 0, memories * sizeof(*near));
    for (size_t i = 0; i < domains; i++) {
        near[d->machine->local_node[i]] += (double)counts[i * d->count + j];
        cores += (double)counts[i * d->count + j];
    }
    d->spare[j] = 0;
    for (size_t m = 0; m < memories; m++) {
        near[m] /= cores;
        d->spare[j] += greater(0, data_at(d, j, m) - near[m]);
    }
}

/* Row number ROW of R, to be filled. */
static void clear_row(const struct link_demands *d, struct rows *r, size_t row)
{
    r->known[row] = true;
    r->delay[row] = 0;
    memset(&r->read[row * d->links], 0, d->links * sizeof(*r->read));
    memset(&r->posted[row * d->links], 0, d->links * sizeof(*r->posted));
}

/* Add WEIGHT times what a core of job J on LLC domain I asks of NUMA node M, were all cores alike,
 * to its row of R. */
static void add_way(const struct link_demands *d, struct rows *r, size_t j, size_t i, size_t m,
                    double weight)
{
    size_t row = j * d->machine->llc_domains + i;
    const struct machine_route *route = &d->machine->route[i * d->machine->numa_nodes + m];
    const struct workload_rate *rate = &d->profile[j]->rate[m];
    double reads = weight * rate->read_per_us;
    double posted = weight * greater(0, rate->mrr_per_us - rate->read_per_us);

    for (size_t n = 0; n < route->links; n++) {
        size_t k = route->link[n];
        if (!d->links) {
            r->delay[row] += reads * d->service[k];
            continue;
        }
        r->read[row * d->links + k] += reads;
        r->posted[row * d->links + k] += posted * d->stay[k];
    }
}

static void fill_alike(struct link_demands *d, size_t j, size_t i)
{
    clear_row(d, &d->alike, j * d->machine->llc_domains + i);
    for (size_t m = 0; m < d->machine->numa_nodes; m++)
        add_way(d, &d->alike, j, i, m, 1);
}

/* Add WEIGHT times the row of all cores alike to the local one. */
static void add_alike(struct link_demands *d, size_t row, double weight)
{
    struct rows *to = &d->local;
    const struct rows *from = &d->alike;

    to->delay[row] += weight * from->delay[row];
    for (size_t k = row * d->links; k < (row + 1) * d->links; k++) {
        to->read[k] += weight * from->read[k];
        to->posted[k] += weight * from->posted[k];
    }
}

/* Nothing is asked less than never: differences round. */
static void round_up(struct link_demands *d, size_t row)
{
    struct rows *r = &d->local;

    r->delay[row] = greater(0, r->delay[row]);
    for (size_t k = row * d->links; k < (row + 1) * d->links; k++) {
        r->read[k] = greater(0, r->read[k]);
        r->posted[k] = greater(0, r->posted[k]);
    }
}

/* A local job asks for max(0, d_m - c_m) of its own data elsewhere, which is d_m less
 * min(d_m, c_m): as if all cores were alike, but for the few NUMA nodes where it has some. */
static void fill_local(struct link_demands *d, size_t j, size_t i)
{
    size_t memories = d->machine->numa_nodes, row = j * d->machine->llc_domains + i;
    size_t home = (size_t)d->machine->local_node[i];
    const double *near = &d->near[j * memories];
    double locality = d->profile[j]->locality, data = data_at(d, j, home);
    struct locality_own own = locality_own(data, near[home], d->spare[j], locality);

    clear_row(d, &d->local, row);
    add_alike(d, row, 1 - locality + own.away);
    for (size_t m = 0; m < memories && own.away > 0; m++)
        if (near[m] > 0 && data_at(d, j, m) > 0)
            add_way(d, &d->local, j, i, m, -own.away * lesser(1, near[m] / data_at(d, j, m)));
    if (data > 0)
        add_way(d, &d->local, j, i, home, own.here / data);
    round_up(d, row);
}

struct link_demand link_demands_of(struct link_demands *d, size_t j, size_t i)
{
    size_t row = j * d->machine->llc_domains + i;
    const struct rows *r = is_local(d, j) ? &d->local : &d->alike;

    if (!d->alike.known[row])
        fill_alike(d, j, i);
    if (!r->known[row])
        fill_local(d, j, i);
    return (struct link_demand){&r->read[row * d->links], &r->posted[row * d->links],
                                r->delay[row]};
}
