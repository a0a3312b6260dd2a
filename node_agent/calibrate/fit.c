/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From calibration runs to service times. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/calibrate/calibrate.h"

#define PER_PAIR (KERNELS * CALIBRATE_STRIDES + 1)
#define LINE_STRIDE 3 /* in calibrate_strides */
#define FULL        0.95 /* as fast as that is no slower */

const size_t calibrate_strides[CALIBRATE_STRIDES] = {8, 16, 32, 64, 128};

struct calibration *calibration_new(size_t llc_domains, size_t numa_nodes)
{
    struct calibration *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->llc_domains = llc_domains;
    c->numa_nodes = numa_nodes;
    c->run = calloc((llc_domains + 1) * numa_nodes * PER_PAIR, sizeof(*c->run));
    if (c->run)
        return c;
    calibration_free(c);
    return NULL;
}

void calibration_free(struct calibration *c)
{
    if (!c)
        return;
    free(c->run);
    free(c);
}

struct calibrate_run *calibration_run(const struct calibration *c,
                                      size_t llc_domain, size_t memory,
                                      enum kernel kernel, size_t stride)
{
    return &c->run[(llc_domain * c->numa_nodes + memory) * PER_PAIR +
                   kernel * CALIBRATE_STRIDES + stride];
}

struct calibrate_run *calibration_half(const struct calibration *c, size_t llc_domain,
                                       size_t memory)
{
    return calibration_run(c, llc_domain, memory, KERNELS, 0);
}

/* Requests per microsecond. */
static double rate(const struct calibrate_run *run)
{
    return run->us > 0 ? (run->reads + run->writes + run->prefetches) / run->us : 0;
}

double calibration_peak_gb_s(const struct calibration *c, size_t memory)
{
    double most = 0;

    for (size_t i = 0; i <= c->llc_domains; i++)
        most = fmax(most, rate(calibration_run(c, i, memory, KERNEL_LOAD, LINE_STRIDE)));
    return most * KERNEL_LINE * 1e-3;
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

/* Add RUN. */
static void add(struct list *list, const struct calibrate_run *run, size_t stride)
{
    /* Without counters, several accesses per line are computing as much as
     * waiting: no service time. */
    if (!(run->us > 0) ||
        (!run->counted && calibrate_strides[stride] < KERNEL_LINE))
        return;
    list->run[list->count++] = (struct fit_run){.reads = run->reads,
                                                .writes = run->writes,
                                                .prefetches = run->prefetches,
                                                .busy_us = run->us,
                                                .weight = run->us};
}

/* Do half of the cores of DOMAIN get as much of MEMORY?  Not known where nothing was measured. */
static bool full(const struct calibration *c, size_t domain, size_t memory)
{
    double half = rate(calibration_half(c, domain, memory));
    double all = rate(calibration_run(c, domain, memory, KERNEL_LOAD, LINE_STRIDE));

    return half >= FULL * all;
}

/* The domains that load controller MEMORY: at home there; memory without CPUs, over one link. */
static bool loads(const struct machine *m, size_t domain, size_t memory)
{
    for (size_t i = 0; i < m->llc_domains; i++)
        if (m->local_node[i] == (int)memory)
            return m->local_node[domain] == (int)memory;
    return m->route[domain * m->numa_nodes + memory].links == 1;
}

/* Of KERNEL and STRIDE, the most that MEMORY served; *FROM: to whom. */
static const struct calibrate_run *most(const struct calibration *c, const struct machine *m,
                                        size_t memory, enum kernel kernel, size_t stride,
                                        size_t *from)
{
    const struct calibrate_run *best = calibration_run(c, c->llc_domains, memory, kernel, stride);

    *from = c->llc_domains;
    for (size_t i = 0; i < m->llc_domains; i++) {
        const struct calibrate_run *run = calibration_run(c, i, memory, kernel, stride);
        if (loads(m, i, memory) && rate(run) > rate(best)) {
            best = run;
            *from = i;
        }
    }
    return best;
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
        size_t from;
        list->count = 0;
        for (enum kernel k = 0; k < KERNELS; k++)
            for (size_t s = 0; s < CALIBRATE_STRIDES; s++)
                add(list, most(c, m, j, k, s, &from), s);
        if (!fit(list, &m->controller_service[j], "NUMA node", j, notes))
            continue;
        m->controller_service_us[j] = m->controller_service[j].read_us;
        most(c, m, j, KERNEL_LOAD, LINE_STRIDE, &from);
        if (!full(c, from, j))
            note(notes, "NUMA node %zu: not loaded fully; its times are at most these\n", j);
    }
}

/* Adds the runs over LINK alone; returns whether all of these loaded it fully. */
static bool collect_link(const struct calibration *c, const struct machine *m, size_t link,
                         struct list *list)
{
    bool all = true;

    for (size_t i = 0; i < m->llc_domains; i++)
        for (size_t j = 0; j < m->numa_nodes; j++) {
            const struct machine_route *r = &m->route[i * m->numa_nodes + j];
            size_t from, before = list->count;
            if (r->links != 1 || r->link[0] != link)
                continue;
            for (enum kernel k = 0; k < KERNELS; k++)
                for (size_t s = 0; s < CALIBRATE_STRIDES; s++)
                    add(list, calibration_run(c, i, j, k, s), s);
            double near = rate(most(c, m, j, KERNEL_LOAD, LINE_STRIDE, &from));
            double far = rate(calibration_run(c, i, j, KERNEL_LOAD, LINE_STRIDE));
            if (list->count > before)
                all &= full(c, i, j) && far < FULL * near;
        }
    return all;
}

static void fit_links(const struct calibration *c, struct machine *m,
                      struct list *list, struct notes *notes)
{
    for (size_t l = 0; l < m->links; l++) {
        list->count = 0;
        bool loaded = collect_link(c, m, l, list);
        if (!fit(list, &m->link_service[l], "link", l, notes))
            continue;
        m->link_service_us[l] = m->link_service[l].read_us;
        if (!loaded)
            note(notes, "link %zu: not loaded fully; its times are at most these\n", l);
    }
}

int calibration_fit(const struct calibration *c,
                    struct machine_description *d, char *text, size_t size,
                    struct errtext *err)
{
    size_t runs = (c->llc_domains + 1) * c->numa_nodes * PER_PAIR;
    struct list list = {.run = calloc(runs, sizeof(*list.run))};
    struct notes notes = {text, size, 0};
    bool any = false;

    text[0] = '\0';
    for (size_t i = 0; i < runs; i++)
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
