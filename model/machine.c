/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Description of a NUMA machine. */

#include "model/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Jobs that share a machine, at least. */
#define SHARED_BY 2

struct machine *machine_new(size_t cpus, size_t llc_domains, size_t numa_nodes)
{
    struct machine *m = calloc(1, sizeof(*m));

    if (!m || !cpus || !llc_domains || !numa_nodes)
        goto fail;
    m->cpus = cpus;
    m->llc_domains = llc_domains;
    m->numa_nodes = numa_nodes;
    m->llc_domain = calloc(cpus, sizeof(*m->llc_domain));
    m->local_node = calloc(llc_domains, sizeof(*m->local_node));
    m->controller_service_us =
        calloc(numa_nodes, sizeof(*m->controller_service_us));
    m->route = calloc(llc_domains * numa_nodes, sizeof(*m->route));
    if (!m->llc_domain || !m->local_node || !m->controller_service_us || !m->route)
        goto fail;
    for (size_t cpu = 0; cpu < cpus; cpu++)
        m->llc_domain[cpu] = -1;
    for (size_t i = 0; i < llc_domains; i++)
        m->local_node[i] = (int)(i * numa_nodes / llc_domains);
    for (size_t j = 0; j < numa_nodes; j++)
        m->controller_service_us[j] = MACHINE_DEFAULT_SERVICE_US;
    return m;
fail:
    machine_free(m);
    return NULL;
}

bool machine_has_power(const struct machine *machine)
{
    return machine->power.core_w > 0;
}

static bool power_valid(const struct machine_power *p)
{
    return p->idle_w >= 0 && p->domain_w >= 0 && p->core_w >= 0 && p->stalled_w >= 0 &&
           p->request_nj >= 0 &&
           isfinite(p->idle_w + p->domain_w + p->core_w + p->stalled_w + p->request_nj);
}

static bool times_valid(const double *times, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(times[i] > 0) || !isfinite(times[i]))
            return false;
    return true;
}

static bool services_valid(const struct machine_service *service, size_t count)
{
    for (size_t i = 0; service && i < count; i++) {
        double times[] = {service[i].read_us, service[i].write_us,
                          service[i].prefetch_us};
        if (!times_valid(times, 3))
            return false;
    }
    return true;
}

enum model_status machine_check(const struct machine *m)
{
    if (!m->cpus || !m->llc_domains || !m->numa_nodes ||
        !times_valid(m->controller_service_us, m->numa_nodes) ||
        !times_valid(m->link_service_us, m->links) ||
        !power_valid(&m->power) ||
        !services_valid(m->controller_service, m->numa_nodes) ||
        !services_valid(m->link_service, m->links))
        return MODEL_EINVAL;
    for (size_t cpu = 0; cpu < m->cpus; cpu++)
        if (m->llc_domain[cpu] < -1 || m->llc_domain[cpu] >= (int)m->llc_domains)
            return MODEL_EINVAL;
    for (size_t i = 0; i < m->llc_domains; i++)
        if (m->local_node[i] < 0 || m->local_node[i] >= (int)m->numa_nodes)
            return MODEL_EINVAL;
    for (size_t r = 0; r < m->llc_domains * m->numa_nodes; r++)
        for (size_t l = 0; l < m->route[r].links; l++)
            if (m->route[r].link[l] >= m->links)
                return MODEL_EINVAL;
    return MODEL_OK;
}

double machine_service_mix(const struct machine_service *service, double reads,
                           double writes, double prefetches)
{
    double sum = reads + writes + prefetches;

    if (!(sum > 0))
        return service->read_us;
    return service->read_us * (reads / sum) +
           service->write_us * (writes / sum) +
           service->prefetch_us * (prefetches / sum);
}

struct machine_service machine_controller_service(const struct machine *m,
                                                  size_t memory)
{
    double plain = m->controller_service_us[memory];

    return m->controller_service
               ? m->controller_service[memory]
               : (struct machine_service){plain, plain, plain};
}

struct machine_service machine_link_service(const struct machine *m,
                                            size_t link)
{
    double plain = m->link_service_us[link];

    return m->link_service ? m->link_service[link]
                           : (struct machine_service){plain, plain, plain};
}

double machine_interleaved_gain(const struct machine *m)
{
    double link[m->links + 1], each = 1 / (double)m->numa_nodes, busiest = 0, mean = 0;
    double of_cpu = each / (double)machine_all_cpus(m);

    memset(link, 0, sizeof(link));
    for (size_t i = 0; i < m->llc_domains; i++) {
        double part = of_cpu * (double)machine_node_cpus(m, i);
        for (size_t k = 0; k < m->numa_nodes; k++) {
            const struct machine_route *route = &m->route[i * m->numa_nodes + k];
            for (size_t n = 0; n < route->links; n++)
                link[route->link[n]] += part * m->link_service_us[route->link[n]];
        }
    }
    for (size_t k = 0; k < m->links; k++)
        busiest = fmax(busiest, link[k]);
    for (size_t k = 0; k < m->numa_nodes; k++) {
        busiest = fmax(busiest, each * m->controller_service_us[k]);
        mean += each * m->controller_service_us[k];
    }
    return mean / busiest;
}

/* Links by default are as fast as controllers, which real ones seldom are. */
static bool is_described(const struct machine *m)
{
    for (size_t k = 0; k < m->numa_nodes; k++)
        if (m->controller_service_us[k] != MACHINE_DEFAULT_SERVICE_US)
            return true;
    return false;
}

bool machine_interleaves(const struct machine *m)
{
    return is_described(m) && machine_interleaved_gain(m) > SHARED_BY;
}

size_t machine_node_cpus(const struct machine *m, size_t node)
{
    size_t count = 0;

    for (size_t cpu = 0; cpu < m->cpus; cpu++)
        count += m->llc_domain[cpu] == (int)node;
    return count;
}

size_t machine_all_cpus(const struct machine *m)
{
    size_t count = 0;

    for (size_t cpu = 0; cpu < m->cpus; cpu++)
        count += m->llc_domain[cpu] >= 0;
    return count;
}

double machine_route_us(const struct machine *m, size_t llc_domain,
                        size_t numa_node)
{
    const struct machine_route *route =
        &m->route[llc_domain * m->numa_nodes + numa_node];
    double sum = 0;

    for (size_t l = 0; l < route->links; l++)
        sum += m->link_service_us[route->link[l]];
    return sum;
}

void machine_free(struct machine *m)
{
    if (!m)
        return;
    for (size_t r = 0; m->route && r < m->llc_domains * m->numa_nodes; r++)
        free(m->route[r].link);
    free(m->route);
    free(m->link_service);
    free(m->controller_service);
    free(m->link_service_us);
    free(m->controller_service_us);
    free(m->local_node);
    free(m->llc_domain);
    free(m);
}
