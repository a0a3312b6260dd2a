/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From calibration runs to service times. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "node_agent/calibrate/calibrate.h"

const size_t calibrate_strides[CALIBRATE_STRIDES] = {8, 16, 32, 64, 128};

struct calibration *calibration_new(size_t llc_domains, size_t numa_nodes)
{
    struct calibration *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->llc_domains = llc_domains;
    c->numa_nodes = numa_nodes;
    c->run = calloc(llc_domains * numa_nodes * KERNELS * CALIBRATE_STRIDES,
                    sizeof(*c->run));
    c->peak_gb_s = calloc(numa_nodes, sizeof(*c->peak_gb_s));
    if (c->run && c->peak_gb_s)
        return c;
    calibration_free(c);
    return NULL;
}

void calibration_free(struct calibration *c)
{
    if (!c)
        return;
    free(c->run);
    free(c->peak_gb_s);
    free(c);
}

struct calibrate_run *calibration_run(const struct calibration *c,
                                      size_t llc_domain, size_t memory,
                                      enum kernel kernel, size_t stride)
{
    return &c->run[((llc_domain * c->numa_nodes + memory) * KERNELS + kernel) *
                       CALIBRATE_STRIDES +
                   stride];
}

#ifdef HAVE_GSL
#include "model/analysis/fit.h"

/* Runs for one server. */
struct list {
    struct fit_run *run;
    size_t count;
};

struct notes {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void note(struct notes *n,
                                                       const char *format, ...)
{
    va_list ap;

    if (n->used + 1 >= n->size)
        return;
    va_start(ap, format);
    int got = vsnprintf(n->text + n->used, n->size - n->used, format, ap);
    va_end(ap);
    n->used += got > 0 ? (size_t)got : 0;
    if (n->used >= n->size)
        n->used = n->size - 1;
}

/* Add what the requests of RUN took, US. */
static void add(struct list *list, const struct calibrate_run *run,
                size_t stride, double us)
{
    /* Without counters, several accesses per line are computing as much as
     * waiting: no service time. */
    if (!(run->us > 0) || !(us > 0) ||
        (!run->counted && calibrate_strides[stride] < KERNEL_LINE))
        return;
    list->run[list->count++] = (struct fit_run){.reads = run->reads,
                                                .writes = run->writes,
                                                .prefetches = run->prefetches,
                                                .busy_us = us,
                                                .weight = 1};
}

/* A run without links, for comparison with those of LLC domain NODE with MEMORY: of an LLC
 * domain at home there (3.5), or for memory without CPUs of NODE at its home. */
static const struct calibrate_run *nearest(const struct calibration *c,
                                           const struct machine *m, size_t node,
                                           size_t memory, enum kernel k,
                                           size_t s)
{
    for (size_t i = 0; i < m->llc_domains; i++)
        if (m->local_node[i] == (int)memory)
            return calibration_run(c, i, memory, k, s);
    return calibration_run(c, node, (size_t)m->local_node[node], k, s);
}

/* Runs of LLC domain NODE with MEMORY; LINK: by what they took longer than near it. */
static void collect(const struct calibration *c, const struct machine *m,
                    size_t node, size_t memory, bool link, struct list *list)
{
    for (enum kernel k = 0; k < KERNELS; k++)
        for (size_t s = 0; s < CALIBRATE_STRIDES; s++) {
            const struct calibrate_run *far =
                calibration_run(c, node, memory, k, s);
            const struct calibrate_run *near =
                nearest(c, m, node, memory, k, s);
            add(list, far, s,
                !link          ? far->us
                : near->us > 0 ? far->us - near->us
                               : 0);
        }
}

/* Times from LIST into *SERVICE.  False: there is not one run. */
static bool fit(const struct list *list, struct machine_service *service,
                const char *what, size_t number, struct notes *notes)
{
    struct fit_service result;
    double us = 0, requests = 0;

    for (size_t i = 0; i < list->count; i++) {
        us += list->run[i].busy_us;
        requests += list->run[i].reads + list->run[i].writes +
                    list->run[i].prefetches;
    }
    if (!(requests > 0)) {
        note(notes, "%s %zu: nothing measured; as before\n", what, number);
        return false;
    }
    if (fit_service(list->run, list->count, &result) == MODEL_OK) {
        *service = result.service;
        return true;
    }
    *service = (struct machine_service){us / requests, us / requests,
                                        us / requests};
    note(notes, "%s %zu: reads, writes and prefetches cannot be told apart; "
                "one time for all\n", what, number);
    return true;
}

static void fit_controllers(const struct calibration *c, struct machine *m,
                            struct list *list, struct notes *notes)
{
    for (size_t j = 0; j < m->numa_nodes; j++) {
        list->count = 0;
        for (size_t i = 0; i < m->llc_domains; i++)
            if (m->local_node[i] == (int)j)
                collect(c, m, i, j, false, list);
        /* Memory without CPUs: as its nearest see it, links and all. */
        for (size_t i = 0; !list->count && i < m->llc_domains; i++)
            if (m->route[i * m->numa_nodes + j].links == 1)
                collect(c, m, i, j, false, list);
        if (fit(list, &m->controller_service[j], "NUMA node", j, notes))
            m->controller_service_us[j] = m->controller_service[j].read_us;
    }
}

static void fit_links(const struct calibration *c, struct machine *m,
                      struct list *list, struct notes *notes)
{
    for (size_t l = 0; l < m->links; l++) {
        list->count = 0;
        for (size_t i = 0; i < m->llc_domains; i++)
            for (size_t j = 0; j < m->numa_nodes; j++) {
                const struct machine_route *r = &m->route[i * m->numa_nodes + j];
                if (r->links == 1 && r->link[0] == l)
                    collect(c, m, i, j, true, list);
            }
        if (fit(list, &m->link_service[l], "link", l, notes))
            m->link_service_us[l] = m->link_service[l].read_us;
    }
}

int calibration_fit(const struct calibration *c,
                    struct machine_description *d, char *text, size_t size,
                    struct errtext *err)
{
    size_t pairs = c->llc_domains * c->numa_nodes;
    struct list list = {
        .run = calloc(pairs * KERNELS * CALIBRATE_STRIDES, sizeof(*list.run))};
    struct notes notes = {text, size, 0};
    bool any = false;

    text[0] = '\0';
    for (size_t i = 0; i < pairs * KERNELS * CALIBRATE_STRIDES; i++)
        any |= c->run[i].us > 0;
    if (!list.run || !any) {
        free(list.run);
        return errtext_set(err, any ? ENOMEM : ENODATA, "calibrate: %s",
                           any ? "out of memory" : "nothing was measured");
    }
    fit_controllers(c, d->machine, &list, &notes);
    fit_links(c, d->machine, &list, &notes);
    free(list.run);
    return 0;
}
#else
int calibration_fit(const struct calibration *c,
                    struct machine_description *d, char *text, size_t size,
                    struct errtext *err)
{
    (void)c;
    (void)d;
    (void)text;
    (void)size;
    return errtext_set(err, ENOTSUP, "calibrate: built without GSL");
}
#endif

/* ---- load ---------------------------------------------------------------- */

/* Ticks of all CPUs, idle and not, and the number of CPUs. */
static bool read_stat(const char *procfs, double *busy, double *all,
                      size_t *cpus)
{
    char path[512], line[512];
    unsigned long long v[8] = {0};

    snprintf(path, sizeof(path), "%s/stat", procfs);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    *cpus = 0;
    *busy = *all = 0;
    while (fgets(line, sizeof(line), f) && !strncmp(line, "cpu", 3)) {
        if (line[3] != ' ') {
            ++*cpus;
            continue;
        }
        sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0],
               &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
        for (size_t i = 0; i < 8; i++)
            *all += (double)v[i];
        *busy = *all - (double)(v[3] + v[4]); /* idle, waiting for I/O */
    }
    fclose(f);
    return *cpus > 0;
}

double calibrate_busy(const char *procfs, void (*wait)(void *arg), void *arg)
{
    double busy[2], all[2];
    size_t cpus;

    if (!read_stat(procfs, &busy[0], &all[0], &cpus))
        return -1;
    wait(arg);
    if (!read_stat(procfs, &busy[1], &all[1], &cpus) || !(all[1] > all[0]))
        return -1;
    return (busy[1] - busy[0]) / (all[1] - all[0]) * (double)cpus;
}
