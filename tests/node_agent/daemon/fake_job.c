/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A job process for tests: attaches, obeys its allotment, reports. */

/* usage: fake_job SOCKET JOB [KEY=VALUE]...
 *   uid=N       become this user first
 *   kind=serial|parallel (default)   what it reports to be doing
 *   hostile=1   fills its report page with garbage
 *   rate=X      iterations per second on one core that it reports
 *   rho=X       effective load of its memory, which bounds its speedup
 *   ignore=1    never obeys nor acknowledges
 *   layout=N    says that it knows the pages up to version N
 *   version=N   writes its report page in that version
 *   lease=1     looks whether its lease ends while the agent is there
 * Prints "attached GENERATION", then "cpus LIST" whenever its allotment
 * changes, "lost" when the connection ends; attaches again every 20 ms. */

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "model/station.h"
#include "protocol/cpulist.h"
#include "protocol/layout.h"
#include "protocol/message.h"

struct fake {
    const char *socket;
    unsigned job;
    bool serial, hostile, ignore, lease;
    double rate, rho;
    char more[40];    /* of the request */
    unsigned version; /* of the report page */
    int fd;
    const struct cosched_allotment *allotment;
    struct cosched_report *report;
};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The agent beats, or has gone: we may have been stopped since it replied. */
static bool is_fresh(const struct fake *f)
{
    struct pollfd p = {.fd = f->fd, .events = POLLIN};

    return __atomic_load_n(&f->allotment->heartbeat_ns, __ATOMIC_RELAXED) +
                   f->allotment->lease_ns >= now_ns() ||
           poll(&p, 1, 0) > 0;
}

static int attach(struct fake *f, bool *refused)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    static struct message_packet packet;
    char request[192];

    *refused = false;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->socket);
    f->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (f->fd < 0)
        return -1;
    packet.size = 0; /* nothing but an answer is a refusal */
    snprintf(request, sizeof(request),
             "{\"v\":1,\"op\":\"attach\",\"job\":%u,\"pid\":%d,\"threads\":4%s}",
             f->job, (int)getpid(), f->more);
    if (connect(f->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        message_send(f->fd, request, strlen(request), NULL, 0, NULL) < 0 ||
        message_receive(f->fd, &packet, NULL) <= 0 || packet.nfds != 2) {
        if (packet.size) {
            printf("refused %s\n", packet.text);
            *refused = true;
        }
        close(f->fd);
        return -1;
    }
    /* The agent's page must not be writable for us in any way. */
    void *writable = mmap(NULL, sizeof(*f->allotment), PROT_READ | PROT_WRITE,
                          MAP_SHARED, packet.fds[0], 0);
    if (writable != MAP_FAILED || write(packet.fds[0], "x", 1) == 1 ||
        ftruncate(packet.fds[0], 0) == 0)
        printf("BAD: the allotment page is writable\n");
    f->allotment = mmap(NULL, sizeof(*f->allotment), PROT_READ, MAP_SHARED,
                        packet.fds[0], 0);
    f->report = mmap(NULL, sizeof(*f->report), PROT_READ | PROT_WRITE,
                     MAP_SHARED, packet.fds[1], 0);
    close(packet.fds[0]);
    close(packet.fds[1]);
    if (f->allotment == MAP_FAILED || f->report == MAP_FAILED ||
        f->allotment->magic != COSCHED_ALLOTMENT_MAGIC || !is_fresh(f))
        printf("BAD: pages cannot be used\n");
    return 0;
}

static void fill_report(struct fake *f)
{
    struct cosched_report *r = f->report;

    r->version = f->version;
    r->size = sizeof(*r);
    r->pid = (uint32_t)getpid();
    r->mode = COSCHED_MODE_DONOR;
    r->team = 4;
    r->regions_used = 1;
    r->region = f->serial ? COSCHED_REGION_SERIAL : 0;
    r->region_begin_ns = now_ns();
    r->regions[0].object_id = 0x1234;
    r->regions[0].offset = 0x40;
    r->regions[0].entries = 1;
    __atomic_store_n(&r->magic, COSCHED_REPORT_MAGIC, __ATOMIC_RELEASE);
    if (f->hostile)
        memset(r, 0xa5, sizeof(*r));
}

/* A consistent copy of the allotment's CPUs; its generation. */
static uint32_t read_allotment(const struct fake *f, struct cosched_cpuset *cpus)
{
    uint32_t before, after;

    do {
        before = __atomic_load_n(&f->allotment->generation, __ATOMIC_ACQUIRE);
        for (size_t i = 0; i < COSCHED_MAX_CPUS / 64; i++)
            cpus->word[i] = __atomic_load_n(&f->allotment->cpus.word[i],
                                            __ATOMIC_ACQUIRE);
        after = __atomic_load_n(&f->allotment->generation, __ATOMIC_RELAXED);
    } while (before != after || before & 1);
    return before;
}

/* Obey and report until the connection ends. */
static void serve(struct fake *f)
{
    struct pollfd poller = {.fd = f->fd, .events = POLLIN};
    struct cosched_cpuset cpus, last = {{0}};
    uint64_t begin = now_ns();
    double done = 0;
    char list[4096];
    bool first = true;

    while (poll(&poller, 1, 1) == 0) {
        uint32_t generation = read_allotment(f, &cpus);
        uint64_t now = now_ns();
        if (first || !cpuset_equal(&cpus, &last)) {
            printf("cpus %s\n", cpulist_format(&cpus, list, sizeof(list)));
            last = cpus;
            first = false;
        }
        if (f->lease && !is_fresh(f))
            printf("BAD: the lease has ended\n");
        if (f->ignore || f->hostile)
            continue;
        if (!cpuset_empty(&cpus))
            cpuset_set_affinity(0, &cpus);
        __atomic_store_n(&f->report->applied_generation, generation,
                         __ATOMIC_RELEASE);
        size_t cores = (size_t)cpuset_count(&cpus);
        if (cores)
            done += f->rate * station_speedup(cores, f->rho) *
                    (double)(now - begin) * 1e-9;
        begin = now;
        __atomic_store_n(&f->report->regions[0].iterations, (uint64_t)done,
                         __ATOMIC_RELAXED);
    }
    printf("lost\n");
    munmap((void *)f->allotment, sizeof(*f->allotment));
    munmap(f->report, sizeof(*f->report));
    close(f->fd);
}

int main(int argc, char **argv)
{
    struct fake f = {.rate = 10000, .version = COSCHED_LAYOUT_VERSION};
    bool refused;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 3)
        return 2;
    f.socket = argv[1];
    f.job = (unsigned)atoi(argv[2]);
    for (int i = 3; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        if (!value)
            return 2;
        value++;
        if (!strncmp(argv[i], "uid=", 4)) {
            if (setgid((gid_t)atoi(value)) < 0 || setuid((uid_t)atoi(value)) < 0)
                return 3;
        } else if (!strncmp(argv[i], "kind=", 5)) {
            f.serial = !strcmp(value, "serial");
        } else if (!strncmp(argv[i], "hostile=", 8)) {
            f.hostile = true;
        } else if (!strncmp(argv[i], "ignore=", 7)) {
            f.ignore = true;
        } else if (!strncmp(argv[i], "lease=", 6)) {
            f.lease = true;
        } else if (!strncmp(argv[i], "layout=", 7)) {
            snprintf(f.more, sizeof(f.more), ",\"layout\":%.20s", value);
        } else if (!strncmp(argv[i], "version=", 8)) {
            f.version = (unsigned)atoi(value);
        } else if (!strncmp(argv[i], "rate=", 5)) {
            f.rate = atof(value);
        } else if (!strncmp(argv[i], "rho=", 4)) {
            f.rho = atof(value);
        } else {
            return 2;
        }
    }
    for (;;) {
        if (attach(&f, &refused) == 0) {
            printf("attached\n");
            fill_report(&f);
            serve(&f);
        } else if (refused) {
            return 4;
        }
        usleep(20000);
    }
}
