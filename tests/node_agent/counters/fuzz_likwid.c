/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: what the helper with liblikwid sends, as a stream, and the
 * counts in it. */

#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "node_agent/counters/likwid_link.h"
#include "node_agent/counters/likwid_values.h"

static struct counters_setup setup;
static struct sample *sample;
static struct events *events;
static int listener = -1;
static char path[108];

static void set_up(void)
{
    static const int domains[] = {0, 0, 1, 1}, packages[] = {0, 0, 1, 1};
    static const struct cosched_cpuset cpus = {{0xf}};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct machine *machine = machine_new(4, 2, 2);
    struct errtext err = {""};
    char file[1024];

    REQUIRE(machine && getenv("abs_top_srcdir"));
    memcpy(machine->llc_domain, domains, sizeof(domains));
    counters_setup_init(&setup, machine, &cpus);
    setup.packages = 2;
    setup.package = packages;
    snprintf(file, sizeof(file), "%s/node_agent/counters/events/haswellEP.json",
             getenv("abs_top_srcdir"));
    REQUIRE((events = events_load(file, &err)) &&
            (sample = sample_new(4, 2, 2, 2)));
    snprintf(path, sizeof(path), "%s/socket", fuzz_directory());
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(listener >= 0 &&
            bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
    REQUIRE(listen(listener, 4) == 0);
}

static bool counted(double value)
{
    return isnan(value) || value >= 0;
}

static void check_sample(void)
{
    for (size_t c = 0; c < sample->cpus; c++)
        REQUIRE(counted(sample->cpu[c].cycles) &&
                counted(sample->cpu[c].stalled) &&
                counted(sample->cpu[c].instructions) &&
                counted(sample->cpu[c].llc_accesses) &&
                counted(sample->cpu[c].read_misses));
    for (size_t m = 0; m < sample->numa_nodes; m++)
        REQUIRE(counted(sample->memory[m].reads) &&
                counted(sample->memory[m].writes));
    for (size_t p = 0; p < sample->packages; p++)
        REQUIRE(counted(sample->energy_j[p]));
}

/* One message, as the backend takes it. */
static void take(const struct likwid_header *h, const void *data,
                 struct likwid_values **values)
{
    static struct likwid_opened opened;
    struct errtext err = {""};

    REQUIRE(h->type == LIKWID_HELLO || h->type == LIKWID_OPENED ||
            h->type == LIKWID_COUNTS);
    if (h->type == LIKWID_OPENED) {
        likwid_values_free(*values);
        memcpy(&opened, data, sizeof(opened));
        *values = likwid_values_new(events, &setup, &opened, &err);
    } else if (h->type == LIKWID_COUNTS && *values) {
        sample_clear(sample);
        if (likwid_values_set(*values, data, h->bytes, sample, &err) == 0)
            check_sample();
        for (int m = 0; m < EVENTS_METRICS; m++)
            likwid_values_lacks(*values, (enum events_metric)m);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct likwid_values *values = NULL;
    struct likwid_header header;
    const void *message;
    struct errtext err = {""};
    int rc;

    if (listener < 0)
        set_up();
    struct likwid_link *link = likwid_link_connect(path);
    int server = link ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    REQUIRE(link && server >= 0);
    if (size)
        (void)!send(server, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(server);
    while ((rc = likwid_link_receive(link, &header, &message, &err)) > 0)
        take(&header, message, &values);
    REQUIRE(rc < 0);
    fuzz_refused(&err);
    REQUIRE(likwid_link_receive(link, &header, &message, &err) < 0 &&
            errno == EPIPE);
    likwid_values_free(values);
    likwid_link_free(link, 0);
    return 0;
}
