/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedd-likwid: the only program with liblikwid, so that it can only take
 * itself down.  protocol/likwid_message.h is what it speaks. */

#include <errno.h>
#include <fcntl.h>
#include <likwid.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "protocol/cpulist.h"
#include "common/fd.h"
#include "protocol/likwid_message.h"

#define LOCK_FILE "/var/run/likwid.lock"

/* When the agent is gone and the library hangs, nobody else ends us. */
#define HANG_S 60

static const char *lock_file = LOCK_FILE;
static int signal_pipe[2];

static struct {
    int cpus;
    int cpu[COSCHED_MAX_CPUS];
    int sets;
    int group[LIKWID_SETS]; /* LIKWID's number of it */
    int events[LIKWID_SETS]; /* that were asked for */
    int event[LIKWID_SETS][LIKWID_EVENTS]; /* LIKWID's numbers of them */
    int first[LIKWID_SETS]; /* column of its first event */
    int columns;
    uint64_t missing[LIKWID_SETS];
    int active; /* set; -1: not open */
    uint64_t period_ns;
    uint64_t since_ns;    /* the active set is counted, and not collected */
    uint64_t answered_ns; /* last COUNTS */
    uint64_t running_ns[LIKWID_SETS];
    double *count; /* [cpus][columns] */
} open_sets = {.active = -1};

/* ---- messages ----------------------------------------------------------- */

/* Receive SIZE bytes; false when there is nobody to send them. */
static bool receive(void *data, size_t size)
{
    return fd_read_all(LIKWID_MESSAGE_FD, data, size) == (ssize_t)size;
}

/* Two parts, the second may be empty. */
static bool send_parts(enum likwid_message_type type, uint32_t serial,
                       const void *data, size_t size, const void *more,
                       size_t more_size)
{
    struct likwid_header h = {
        .magic = LIKWID_MESSAGE_MAGIC,
        .version = LIKWID_MESSAGE_VERSION,
        .type = (uint16_t)type,
        .bytes = (uint32_t)(size + more_size),
        .serial = serial,
    };

    return fd_write_all(LIKWID_MESSAGE_FD, &h, sizeof(h)) == 0 &&
           fd_write_all(LIKWID_MESSAGE_FD, data, size) == 0 &&
           fd_write_all(LIKWID_MESSAGE_FD, more, more_size) == 0;
}

__attribute__((format(printf, 3, 4))) static bool
send_failed(uint32_t serial, int error, const char *format, ...)
{
    struct likwid_failed f = {.error = error};
    va_list ap;

    va_start(ap, format);
    vsnprintf(f.text, sizeof(f.text), format, ap);
    va_end(ap);
    send_parts(LIKWID_FAILED, serial, &f, sizeof(f), NULL, 0);
    return false;
}

/* ---- the lock ----------------------------------------------------------- */

/* LIKWID's rule: whoever owns the file may count.  Unlike LIKWID itself, what
 * cannot be checked is taken for locked, and the file looked at is the file
 * opened. */
static bool lock_free(uint32_t serial)
{
    struct stat st;
    int fd = open(lock_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT)
        return true;
    if (fd < 0)
        return send_failed(serial, EBUSY, "%s: %s", lock_file,
                           strerror(errno));
    int rc = fstat(fd, &st);
    close(fd);
    if (rc < 0)
        return send_failed(serial, EBUSY, "%s: %s", lock_file,
                           strerror(errno));
    if (st.st_uid == geteuid())
        return true;
    return send_failed(serial, EBUSY, "%s is of uid %u: counters are locked",
                       lock_file, (unsigned)st.st_uid);
}

/* ---- counting ----------------------------------------------------------- */

static bool say_hello(void)
{
    struct likwid_hello hello = {.family = 0};

    if (topology_init() != 0)
        return send_failed(0, ENOTSUP, "topology_init failed");
    CpuInfo_t info = get_cpuInfo();
    CpuTopology_t topology = get_cpuTopology();
    hello.family = info->family;
    hello.model = info->model;
    hello.intel = info->isIntel != 0;
    snprintf(hello.brand, sizeof(hello.brand), "%s",
             info->osname ? info->osname : "");
    snprintf(hello.arch, sizeof(hello.arch), "%s",
             info->short_name ? info->short_name : "");
    for (uint32_t i = 0; i < topology->numHWThreads; i++) {
        const HWThread *t = &topology->threadPool[i];
        /* LIKWID's "apicId" is the operating system's number. */
        if (t->apicId < COSCHED_MAX_CPUS && t->inCpuSet)
            cpuset_add(&hello.online, (int)t->apicId);
    }
    return send_parts(LIKWID_HELLO, 0, &hello, sizeof(hello), NULL, 0);
}

/* Increments since the last collection of SET, which was counted until NOW. */
static void collect(int set, uint64_t now)
{
    for (int c = 0; c < open_sets.cpus; c++)
        for (int e = 0; e < open_sets.events[set]; e++)
            open_sets.count[c * open_sets.columns + open_sets.first[set] + e] +=
                perfmon_getLastResult(open_sets.group[set],
                                      open_sets.event[set][e], c);
    open_sets.running_ns[set] += now - open_sets.since_ns;
    open_sets.since_ns = now;
}

/* Nothing counted yet; events that never are stay NAN. */
static void restart_counts(uint64_t now)
{
    for (int c = 0; c < open_sets.cpus; c++)
        for (int s = 0; s < open_sets.sets; s++)
            for (int e = 0; e < open_sets.events[s]; e++)
                open_sets.count[c * open_sets.columns + open_sets.first[s] +
                                e] =
                    open_sets.missing[s] >> e & 1 ? NAN : 0;
    memset(open_sets.running_ns, 0, sizeof(open_sets.running_ns));
    open_sets.answered_ns = now;
}

/* Add an event of SET, TEXT "EVENT:COUNTER...".  LIKWID has events of its own
 * among ours (the fixed counters that were not asked for), so ours are found by
 * their counters. */
static bool add_event(int set, const char *text)
{
    int group = open_sets.group[set], e = open_sets.events[set];
    const char *counter = strchr(text, ':');
    size_t length = counter ? strcspn(++counter, ":,") : 0;
    int number = perfmon_getNumberOfEvents(group);

    if (!length || e == LIKWID_EVENTS)
        return false;
    for (int i = 0; i < number; i++) {
        const char *name = perfmon_getCounterName(group, i);
        /* With the options, where there are any. */
        if (!name || strcspn(name, ":") != length ||
            strncmp(name, counter, length))
            continue;
        open_sets.event[set][e] = i;
        if (isnan(perfmon_getResult(group, i, 0)))
            open_sets.missing[set] |= UINT64_C(1) << e;
        open_sets.events[set]++;
        return true;
    }
    open_sets.missing[set] |= UINT64_C(1) << e;
    open_sets.events[set]++;
    return true;
}

static bool add_sets(const struct likwid_open *o, uint32_t serial)
{
    for (int s = 0; s < (int)o->sets; s++) {
        int group = perfmon_addEventSet(o->set[s]);
        if (group < 0)
            return send_failed(serial, ENOTSUP,
                               "event set %d: none of its events can be "
                               "counted (%d)",
                               s + 1, group);
        open_sets.group[s] = group;
        open_sets.first[s] = open_sets.columns;
        open_sets.sets++;
        for (const char *at = o->set[s]; at; at = strchr(at, ',')) {
            at += *at == ',';
            if (!add_event(s, at))
                return send_failed(serial, EINVAL,
                                   "event set %d: \"%.40s\" is no event",
                                   s + 1, at);
        }
        open_sets.columns += open_sets.events[s];
    }
    return true;
}

static bool start(const struct likwid_open *o, uint32_t serial)
{
    int rc = perfmon_init(open_sets.cpus, open_sets.cpu);

    if (rc < 0)
        return send_failed(serial, rc < -1 ? -rc : ENOTSUP,
                           "perfmon_init failed (%d%s%s)", rc,
                           rc < -1 ? ": " : "", rc < -1 ? strerror(-rc) : "");
    if (!add_sets(o, serial))
        return false;
    if ((rc = perfmon_setupCounters(open_sets.group[0])) < 0 ||
        (rc = perfmon_startCounters()) < 0)
        return send_failed(serial, EIO, "counting cannot start (%d)", rc);
    open_sets.count = calloc((size_t)open_sets.cpus * (size_t)open_sets.columns,
                             sizeof(double));
    if (!open_sets.count)
        return send_failed(serial, ENOMEM, "out of memory");
    open_sets.active = 0;
    open_sets.since_ns = clock_ns();
    restart_counts(open_sets.since_ns);
    return true;
}

/* Registers are read directly by root where the kernel has the msr module. */
static enum likwid_mode choose_mode(uint32_t wanted)
{
    if (wanted == LIKWID_DIRECT || wanted == LIKWID_DAEMON)
        return (enum likwid_mode)wanted;
    return access("/dev/cpu/0/msr", R_OK | W_OK) == 0 ? LIKWID_DIRECT
                                                      : LIKWID_DAEMON;
}

static bool do_open(const struct likwid_open *o, uint32_t serial)
{
    struct likwid_opened reply = {.mode = choose_mode(o->mode)};
    CpuTopology_t topology = get_cpuTopology();

    if (open_sets.active >= 0 || open_sets.sets || o->sets < 1 ||
        o->sets > LIKWID_SETS)
        return send_failed(serial, EINVAL, "not a message to open");
    for (uint32_t s = 0; s < o->sets; s++)
        if (!memchr(o->set[s], '\0', sizeof(o->set[s])))
            return send_failed(serial, EINVAL, "an event set has no end");
    if (!lock_free(serial))
        return false;
    for (int cpu = cpuset_next(&o->cpus, -1); cpu >= 0;
         cpu = cpuset_next(&o->cpus, cpu))
        for (uint32_t i = 0; i < topology->numHWThreads; i++)
            if (topology->threadPool[i].apicId == (uint32_t)cpu &&
                topology->threadPool[i].inCpuSet) {
                reply.cpu[open_sets.cpus] = (int16_t)cpu;
                open_sets.cpu[open_sets.cpus++] = cpu;
            }
    if (!open_sets.cpus)
        return send_failed(serial, ENODEV, "no CPU of the pool is online");
    /* Whoever started us may have them set; they overrule other tools. */
    unsetenv("LIKWID_FORCE_SETUP");
    unsetenv("LIKWID_FORCE");
    if (o->force)
        setenv("LIKWID_FORCE", "1", 1);
    HPMmode(reply.mode == LIKWID_DIRECT ? ACCESSMODE_DIRECT
                                        : ACCESSMODE_DAEMON);
    open_sets.period_ns = o->period_ns;
    if (!start(o, serial))
        return false;
    reply.cpus = (uint32_t)open_sets.cpus;
    reply.sets = o->sets;
    for (uint32_t s = 0; s < o->sets; s++) {
        reply.events[s] = (uint32_t)open_sets.events[s];
        reply.missing[s] = open_sets.missing[s];
    }
    return send_parts(LIKWID_OPENED, serial, &reply, sizeof(reply), NULL, 0);
}

static bool do_sample(uint32_t serial)
{
    struct likwid_counts reply = {.interval_ns = 0};

    if (open_sets.active < 0)
        return send_failed(serial, EINVAL, "nothing is open");
    if (!lock_free(serial))
        return false;
    int rc = perfmon_readCounters();
    uint64_t now = clock_ns();
    if (rc < 0)
        return send_failed(serial, EIO,
                           "the counters can no longer be read (%d)", rc);
    collect(open_sets.active, now);
    memcpy(reply.running_ns, open_sets.running_ns, sizeof(reply.running_ns));
    reply.interval_ns = now - open_sets.answered_ns;
    bool sent = send_parts(LIKWID_COUNTS, serial, &reply, sizeof(reply),
                           open_sets.count,
                           (size_t)open_sets.cpus * (size_t)open_sets.columns *
                               sizeof(double));
    restart_counts(now);
    return sent;
}

/* The next set's turn. */
static bool turn(void)
{
    int old = open_sets.active, next = (old + 1) % open_sets.sets;

    if (!lock_free(0))
        return false;
    int rc = perfmon_switchActiveGroup(open_sets.group[next]);
    if (rc < 0)
        return send_failed(0, EIO, "event set %d cannot be counted (%d)",
                           next + 1, rc);
    collect(old, clock_ns());
    open_sets.active = next;
    return true;
}

/* ---- the loop ----------------------------------------------------------- */

static bool serve(void)
{
    static struct likwid_open o;
    struct likwid_header h;

    if (!receive(&h, sizeof(h)))
        return false;
    if (h.magic != LIKWID_MESSAGE_MAGIC || h.version != LIKWID_MESSAGE_VERSION)
        return send_failed(h.serial, EPROTO, "version %u is not %d",
                           (unsigned)h.version, LIKWID_MESSAGE_VERSION);
    if (h.type == LIKWID_SAMPLE && h.bytes == 0)
        return do_sample(h.serial);
    if (h.type == LIKWID_OPEN && h.bytes == sizeof(o))
        return receive(&o, sizeof(o)) && do_open(&o, h.serial);
    return send_failed(h.serial, EPROTO, "message %u of %u bytes is unknown",
                       (unsigned)h.type, (unsigned)h.bytes);
}

static int wait_ms(void)
{
    if (open_sets.active < 0 || open_sets.sets < 2)
        return -1;
    uint64_t next = open_sets.since_ns + open_sets.period_ns, now = clock_ns();

    return next > now ? (int)((next - now + 999999) / 1000000) : 0;
}

static void run(void)
{
    struct pollfd fds[] = {{.fd = LIKWID_MESSAGE_FD, .events = POLLIN},
                           {.fd = signal_pipe[0], .events = POLLIN}};
    bool going = say_hello();

    while (going) {
        alarm(0);
        int n = poll(fds, 2, wait_ms());
        alarm(HANG_S);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0 && fds[1].revents)
            return;
        if (n > 0 && fds[0].revents)
            going = serve();
        else if (n == 0)
            going = turn();
    }
}

static void on_signal(int number)
{
    int saved = errno;
    ssize_t n = write(signal_pipe[1], "", 1);

    (void)number;
    (void)n;
    errno = saved;
}

static int usage(FILE *out, int status)
{
    fprintf(out,
            "usage: coschedd-likwid [--lock FILE]\n\n"
            "Started by coschedd with a socket as file descriptor 3.\n\n"
            "  --lock FILE  whose owner alone may count (" LOCK_FILE ")\n");
    return status;
}

int main(int argc, char **argv)
{
    struct sigaction act = {.sa_handler = on_signal};
    struct stat st;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    if (argc == 3 && strcmp(argv[1], "--lock") == 0)
        lock_file = argv[2];
    else if (argc != 1) {
        fprintf(stderr, "coschedd-likwid: %s: unknown, or its value is "
                "missing\n", argv[1]);
        return usage(stderr, 2);
    }
    if (fstat(LIKWID_MESSAGE_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
        fprintf(stderr, "coschedd-likwid: file descriptor 3 is no socket\n");
        return usage(stderr, 2);
    }
    /* LIKWID's access daemon, which outlives us, must not hold it open. */
    fcntl(LIKWID_MESSAGE_FD, F_SETFD, FD_CLOEXEC);
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
        return 1;
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, SIG_DFL);
    alarm(HANG_S);
    run();
    /* Leave the counters as they were found. */
    alarm(HANG_S);
    perfmon_finalize();
    _exit(0);
}
