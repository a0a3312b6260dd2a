/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The node as counters see it, and a load that makes values move. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "node_agent/counters/counters.h"

void counters_setup_init(struct counters_setup *setup,
                         const struct machine *machine,
                         const struct cosched_cpuset *cpus)
{
    *setup = (struct counters_setup){
        .machine = machine,
        .llc_domain = machine->llc_domain,
        .packages = 1,
        .cpus = cpus,
        .events = COSCHED_EVENTSDIR,
        .libexec = COSCHED_LIBEXECDIR,
        .likwid_socket = COSCHED_RUNDIR "/likwid.sock",
        .sysfs = "/sys",
        .procfs = "/proc",
        .argument = "",
        .load = counters_load,
    };
}

const char *counters_cpu_model(const char *procfs, char *text, size_t size)
{
    char path[512], line[512];
    int family = -1, model = -1, stepping = -1;

    snprintf(path, sizeof(path), "%s/cpuinfo", procfs);
    FILE *file = fopen(path, "re");
    while (file && stepping < 0 && fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');
        if (!colon)
            continue;
        if (!strncmp(line, "cpu family", 10))
            family = atoi(colon + 1);
        else if (!strncmp(line, "model\t", 6) || !strncmp(line, "model ", 6)) {
            if (strncmp(line, "model name", 10))
                model = atoi(colon + 1);
        } else if (!strncmp(line, "stepping", 8))
            stepping = atoi(colon + 1);
    }
    if (file)
        fclose(file);
    if (family < 0 || model < 0)
        return NULL;
    snprintf(text, size, "%d-%d-%d", family, model, stepping < 0 ? 0 : stepping);
    return text;
}

size_t counters_package_nodes(const struct counters_setup *s, size_t package,
                              size_t *nodes)
{
    const struct machine *machine = s->machine;
    size_t count = 0;

    for (size_t m = 0; m < machine->numa_nodes; m++)
        for (size_t c = 0; c < machine->cpus; c++) {
            int n = s->llc_domain[c];
            if (n >= 0 && machine->local_node[n] == (int)m &&
                (s->package ? s->package[c] : 0) == (int)package) {
                nodes[count++] = m;
                break;
            }
        }
    return count;
}

#define LOAD_BYTES (16 << 20) /* more than most caches' share of one core */
#define LOAD_PASSES 3

void counters_load(const struct counters_setup *setup)
{
    volatile char *memory = malloc(LOAD_BYTES);

    (void)setup;
    for (int pass = 0; memory && pass < LOAD_PASSES; pass++)
        for (size_t i = 0; i < LOAD_BYTES; i += SAMPLE_LINE_BYTES)
            memory[i] = (char)(memory[i] + pass);
    free((void *)memory);
    /* Energy counters step each millisecond. */
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}
