/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fake agent: gives each process that attaches a new random allotment every
 * few milliseconds, to disturb the runtime library as much as an agent can; with
 * --fixed it only renews the lease, as an agent with a single job.  With --domain N,
 * each N CPUs that follow each other are an LLC domain, else all are one.
 *
 * Speaks just enough of protocol/message.h to answer "attach", and writes the
 * allotment page as protocol/layout.h demands.  On SIGTERM it prints one line,
 * attached=N toggles=N followed=N: processes, allotments written, and processes
 * whose report page says that they have put one into effect. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>

#include "protocol/layout.h"

enum { CLIENTS_MAX = 256, REQUEST_MAX = 65536 };

struct client {
    int fd; /* socket; -1: slot is free */
    struct cosched_allotment *allotment;
    struct cosched_report *report;
};

struct toggler {
    int listener;
    struct client clients[CLIENTS_MAX];
    struct cosched_cpuset granted; /* CPUs this program itself may use */
    int fixed;                     /* the allotment stays what was granted */
    unsigned int domain;           /* CPUs of an LLC domain */
    unsigned long attached;
    unsigned long toggles;
    unsigned long followed;
};

static void fatal(const char *what)
{
    fprintf(stderr, "toggler: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A random subset of FROM, never empty. */
static void random_subset(const struct cosched_cpuset *from, struct cosched_cpuset *to)
{
    int any = 0;

    while (!any) {
        for (unsigned int i = 0; i < COSCHED_MAX_CPUS / 64; i++) {
            uint64_t r = (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
            to->word[i] = from->word[i] & r;
            any |= to->word[i] != 0;
        }
    }
}

/* Publish CPUS in the page P by its sequence lock and wake who waits on it. */
static void publish(struct cosched_allotment *p, const struct cosched_cpuset *cpus)
{
    uint32_t generation = p->generation;

    __atomic_store_n(&p->generation, generation + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (unsigned int i = 0; i < COSCHED_MAX_CPUS / 64; i++)
        __atomic_store_n(&p->cpus.word[i], cpus->word[i], __ATOMIC_RELAXED);
    __atomic_store_n(&p->changed_ns, now_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&p->heartbeat_ns, now_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&p->generation, generation + 2, __ATOMIC_RELEASE);
    syscall(SYS_futex, &p->generation, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void *make_page(const char *name, size_t size, int *fd)
{
    void *page;

    *fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0 || ftruncate(*fd, (off_t)size) != 0)
        fatal(name);
    page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (page == MAP_FAILED || fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        fatal(name);
    return page;
}

/* Answer an attach request on C with its two pages. */
static void attach(struct toggler *t, struct client *c)
{
    static char text[] = "{\"v\":1,\"ok\":true}";
    int fds[2];
    union { char bytes[CMSG_SPACE(sizeof fds)]; struct cmsghdr align; } control = {0};
    struct iovec iov = {.iov_base = text, .iov_len = sizeof text - 1};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
                         .msg_controllen = sizeof control.bytes};
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

    c->allotment = make_page("allotment", sizeof *c->allotment, &fds[0]);
    c->report = make_page("report", sizeof *c->report, &fds[1]);
    *c->allotment = (struct cosched_allotment){
        .magic = COSCHED_ALLOTMENT_MAGIC, .version = COSCHED_LAYOUT_VERSION,
        .size = sizeof *c->allotment, .lease_ns = 1000000000u,
        .llc_domains = COSCHED_MAX_CPUS / t->domain, .granted = t->granted};
    for (unsigned int i = 0; i < COSCHED_MAX_CPUS; i++)
        c->allotment->llc_domain[i] = (uint16_t)(i / t->domain);
    publish(c->allotment, &t->granted);
    if (fcntl(fds[0], F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0)
        fatal("allotment: seal");
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(cmsg), fds, sizeof fds);
    if (sendmsg(c->fd, &msg, MSG_NOSIGNAL) >= 0)
        t->attached++;
    close(fds[0]);
    close(fds[1]);
}

static void hang_up(struct toggler *t, struct client *c)
{
    if (c->allotment) {
        /* Beyond the allotment it attached with, whose generation is 2. */
        t->followed += c->report->magic == COSCHED_REPORT_MAGIC &&
                       c->report->applied_generation > 2;
        munmap(c->allotment, sizeof *c->allotment);
        munmap(c->report, sizeof *c->report);
    }
    close(c->fd);
    *c = (struct client){.fd = -1};
}

static void serve(struct toggler *t, struct client *c)
{
    static char text[REQUEST_MAX + 1];
    ssize_t n = recv(c->fd, text, REQUEST_MAX, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        hang_up(t, c);
        return;
    }
    text[n] = '\0';
    if (!strstr(text, "\"attach\"") || c->allotment) {
        fprintf(stderr, "toggler: refused: %s\n", text);
        hang_up(t, c);
        return;
    }
    attach(t, c);
}

static void welcome(struct toggler *t)
{
    int fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC);

    for (int i = 0; fd >= 0 && i < CLIENTS_MAX; i++) {
        if (t->clients[i].fd < 0) {
            t->clients[i].fd = fd;
            return;
        }
    }
    if (fd >= 0)
        close(fd);
}

static void toggle(struct toggler *t)
{
    for (int i = 0; i < CLIENTS_MAX; i++) {
        struct cosched_cpuset cpus;

        if (!t->clients[i].allotment)
            continue;
        if (t->fixed) {
            __atomic_store_n(&t->clients[i].allotment->heartbeat_ns, now_ns(), __ATOMIC_RELAXED);
            continue;
        }
        random_subset(&t->granted, &cpus);
        publish(t->clients[i].allotment, &cpus);
        t->toggles++;
    }
}

/* Serve until SIGTERM or SIGINT, which arrive on SIGNALS. */
static void loop(struct toggler *t, int signals, uint64_t period_ns)
{
    uint64_t next = now_ns() + period_ns;

    for (;;) {
        struct pollfd poll_fds[CLIENTS_MAX + 2] = {
            {.fd = signals, .events = POLLIN}, {.fd = t->listener, .events = POLLIN}};
        uint64_t now = now_ns();
        uint64_t wait = next > now ? next - now : 0;
        struct timespec timeout = {.tv_sec = (time_t)(wait / 1000000000u),
                                   .tv_nsec = (long)(wait % 1000000000u)};

        for (int i = 0; i < CLIENTS_MAX; i++)
            poll_fds[i + 2] = (struct pollfd){.fd = t->clients[i].fd, .events = POLLIN};
        if (ppoll(poll_fds, CLIENTS_MAX + 2, &timeout, NULL) < 0 && errno != EINTR)
            fatal("poll");
        if (poll_fds[0].revents)
            return;
        for (int i = 0; i < CLIENTS_MAX; i++)
            if (poll_fds[i + 2].revents)
                serve(t, &t->clients[i]);
        if (poll_fds[1].revents)
            welcome(t);
        if (now_ns() >= next) {
            toggle(t);
            next = now_ns() + period_ns;
        }
    }
}

static void listen_at(struct toggler *t, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof address.sun_path) {
        fprintf(stderr, "toggler: --socket %s: path is too long\n", path);
        exit(2);
    }
    strcpy(address.sun_path, path);
    t->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (t->listener < 0 || bind(t->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(t->listener, 64) != 0)
        fatal(path);
}

static int open_signals(void)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (fd < 0)
        fatal("signalfd");
    return fd;
}

static void own_cpus(struct cosched_cpuset *cpus)
{
    if (syscall(SYS_sched_getaffinity, 0, sizeof *cpus, cpus->word) < 0)
        fatal("sched_getaffinity");
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"socket", required_argument, NULL, 's'},
                                            {"period-us", required_argument, NULL, 'p'},
                                            {"fixed", no_argument, NULL, 'f'},
                                            {"seed", required_argument, NULL, 'r'},
                                            {"domain", required_argument, NULL, 'd'},
                                            {NULL, 0, NULL, 0}};
    static struct toggler t = {.domain = COSCHED_MAX_CPUS};
    const char *socket_path = NULL;
    uint64_t period_us = 3000;
    int option, signals;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 's': socket_path = optarg; break;
        case 'p': period_us = strtoul(optarg, NULL, 10); break;
        case 'f': t.fixed = 1; break;
        case 'd': t.domain = (unsigned int)strtoul(optarg, NULL, 10); break;
        case 'r': srandom((unsigned int)strtoul(optarg, NULL, 10)); break;
        default: return 2;
        }
    }
    if (!socket_path || !period_us || t.domain - 1 >= COSCHED_MAX_CPUS) {
        fprintf(stderr, "usage: toggler --socket PATH [--period-us N] [--seed N] [--fixed]"
                        " [--domain N]\n");
        return 2;
    }
    for (int i = 0; i < CLIENTS_MAX; i++)
        t.clients[i].fd = -1;
    own_cpus(&t.granted);
    signals = open_signals();
    listen_at(&t, socket_path);
    printf("ready\n");
    fflush(stdout);
    loop(&t, signals, period_us * 1000);
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (t.clients[i].fd >= 0)
            hang_up(&t, &t.clients[i]);
    unlink(socket_path);
    printf("attached=%lu toggles=%lu followed=%lu\n", t.attached, t.toggles, t.followed);
    return 0;
}
