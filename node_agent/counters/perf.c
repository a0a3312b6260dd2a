/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters through perf_event_open(2): core events per CPU, memory controllers,
 * energy. */

#include "node_agent/counters/perf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node_agent/counters/perf_events.h"
#include "node_agent/counters/perf_sysfs.h"
#include "protocol/cpulist.h"

/* A CPU that could not be counted is tried again after so many samples: about
 * once a second at the usual epoch. */
#define RETRY_SAMPLES 20

#define PERF_NONE SIZE_MAX

/* Events that are counted together or not at all. */
struct perf_group {
    size_t count;
    int fd[PERF_ROLES]; /* the first is the leader */
    enum perf_role role[PERF_ROLES];
    uint64_t value[PERF_ROLES]; /* as last read */
    uint64_t enabled, running;  /* ns, likewise */
};

struct perf_cpu {
    struct perf_group group[PERF_ROLES];
    size_t groups; /* 0: not counted now */
    int outcome;   /* of the last sample, to tell news */
};

enum uncore_kind { PERF_READS, PERF_WRITES };

#define PERF_MAX_UNCORES 256

/* One event of a memory controller. */
struct perf_uncore {
    enum uncore_kind kind;
    size_t node; /* NUMA node */
    int fd;
    bool lost; /* not counted in the last sample */
    uint64_t value, enabled, running;
};

struct perf {
    const struct perf_source *source;
    const struct counters_setup *setup;
    size_t encoding[PERF_ROLES]; /* PERF_NONE: not counted */
    struct perf_cpu *cpu;        /* [machine->cpus] */
    struct perf_uncore uncore[PERF_MAX_UNCORES];
    size_t uncores;
    bool uncore_told; /* that one of them is gone */
    int uncore_error; /* errno of the first that did not open */
    uint64_t samples;
};

/* ---- the kernel --------------------------------------------------------- */

static int kernel_open(void *arg, struct perf_event_attr *attr, int cpu,
                       int group)
{
    (void)arg;
    return (int)syscall(SYS_perf_event_open, attr, -1, cpu, group,
                        PERF_FLAG_FD_CLOEXEC);
}

static ssize_t kernel_read(void *arg, int fd, void *data, size_t size)
{
    (void)arg;
    return read(fd, data, size);
}

static void kernel_close(void *arg, int fd)
{
    (void)arg;
    close(fd);
}

const struct perf_source perf_kernel = {kernel_open, kernel_read, kernel_close,
                                        NULL};

/* Open an event, its values alone or for a GROUP, as perf_event_open(2). */
static int open_event(const struct perf *p, uint32_t type,
                      const uint64_t config[3], bool group, int cpu, int leader)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = type,
        .config = config[0],
        .config1 = config[1],
        .config2 = config[2],
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
                       PERF_FORMAT_TOTAL_TIME_RUNNING |
                       (group ? PERF_FORMAT_GROUP : 0),
    };

    return p->source->open(p->source->arg, &attr, cpu, leader);
}

/* ---- controllers and packages -------------------------------------------- */

/* Names under which drivers describe what we look for. */
static const struct {
    enum uncore_kind kind;
    const char *prefix; /* of the PMU */
    const char *event;
} known[] = {
    {PERF_READS, "uncore_imc", "cas_count_read"},
    {PERF_READS, "uncore_imc", "data_reads"},
    {PERF_READS, "uncore_imc_free_running", "data_read"},
    {PERF_WRITES, "uncore_imc", "cas_count_write"},
    {PERF_WRITES, "uncore_imc", "data_writes"},
    {PERF_WRITES, "uncore_imc_free_running", "data_write"},
};

/* The PMUs that have one known event. */
struct search {
    struct perf *perf;
    size_t entry; /* of known[] */
    char name[PERF_MAX_UNCORES][PERF_PMU_NAME_MAX];
    size_t count;
};

static void collect(void *arg, const char *pmu)
{
    struct search *s = arg;
    struct perf_pmu_event event;

    if (s->count < PERF_MAX_UNCORES &&
        perf_sysfs_event(s->perf->setup->sysfs, pmu, known[s->entry].event,
                         &event, NULL) == 0)
        strcpy(s->name[s->count++], pmu);
}

static size_t package_of(const struct counters_setup *setup, int cpu,
                         size_t position)
{
    if ((size_t)cpu < setup->machine->cpus && setup->package &&
        setup->package[cpu] >= 0)
        return (size_t)setup->package[cpu];
    /* A CPU outside the pool: the mask has one CPU per package, in order. */
    return position < setup->packages ? position : setup->packages - 1;
}

/* NUMA node of the controller BOX of BOXES in PACKAGE. */
static size_t memory_of(const struct counters_setup *setup, size_t package,
                        size_t box, size_t boxes)
{
    size_t nodes[setup->machine->numa_nodes];
    size_t count = counters_package_nodes(setup, package, nodes);

    return count ? nodes[box * count / boxes] : SIZE_MAX;
}

/* Increment of U, NAN when it was not counted. */
static double increment(const struct perf *p, struct perf_uncore *u,
                        double *coverage)
{
    uint64_t data[3];

    if (p->source->read(p->source->arg, u->fd, data, sizeof(data)) !=
        sizeof(data))
        return NAN;
    double count = sample_scale(sample_wrap(u->value, data[0], 64),
                                sample_wrap(u->enabled, data[1], 64),
                                sample_wrap(u->running, data[2], 64), coverage);
    u->value = data[0];
    u->enabled = data[1];
    u->running = data[2];
    return count;
}

static void open_on(struct search *s, size_t box, int cpu, size_t position)
{
    struct perf *p = s->perf;
    struct perf_uncore *u = &p->uncore[p->uncores];
    struct perf_pmu_event event;
    size_t package = package_of(p->setup, cpu, position);

    if (p->uncores == PERF_MAX_UNCORES ||
        perf_sysfs_event(p->setup->sysfs, s->name[box], known[s->entry].event,
                         &event, NULL) < 0)
        return;
    *u = (struct perf_uncore){.kind = known[s->entry].kind};
    u->node = memory_of(p->setup, package, box, s->count);
    if (u->node == SIZE_MAX)
        return;
    u->fd = open_event(p, event.type, event.config, false, cpu, -1);
    if (u->fd < 0) {
        p->uncore_error = p->uncore_error ? p->uncore_error : errno;
        return;
    }
    increment(p, u, &(double){1}); /* from here on */
    p->uncores++;
}

static bool has_kind(const struct perf *p, enum uncore_kind kind)
{
    for (size_t i = 0; i < p->uncores; i++)
        if (p->uncore[i].kind == kind)
            return true;
    return false;
}

static void uncore_open(struct perf *p)
{
    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
        struct search s = {.perf = p, .entry = k};
        if (has_kind(p, known[k].kind))
            continue;
        perf_sysfs_list(p->setup->sysfs, known[k].prefix, collect, &s);
        for (size_t box = 0; box < s.count; box++) {
            struct cosched_cpuset cpus = {{1}};
            size_t position = 0;
            perf_sysfs_cpus(p->setup->sysfs, s.name[box], &cpus);
            for (int c = -1; (c = cpuset_next(&cpus, c)) >= 0;)
                open_on(&s, box, c, position++);
        }
    }
}

/* Where U belongs in SAMPLE. */
static double *place(struct sample *sample, const struct perf_uncore *u)
{
    return u->kind == PERF_READS ? &sample->memory[u->node].reads
                                 : &sample->memory[u->node].writes;
}

static int uncore_sample(struct perf *p, struct sample *sample,
                         struct errtext *err)
{
    bool lost = false;

    for (size_t i = 0; i < p->uncores; i++) {
        struct perf_uncore *u = &p->uncore[i];
        double count = increment(p, u, &sample->coverage);
        u->lost = isnan(count);
        lost |= u->lost;
        *place(sample, u) = sample_add(*place(sample, u), count);
    }
    /* A sum that lacks a part is no sum. */
    for (size_t i = 0; i < p->uncores; i++)
        if (p->uncore[i].lost)
            *place(sample, &p->uncore[i]) = NAN;
    bool news = lost && !p->uncore_told;
    p->uncore_told = lost;
    if (!news)
        return 0;
    return errtext_set(err, EBUSY, "perf: a memory controller's counter is taken "
                                   "by another tool or gone");
}

static void set_why(struct counters_ability *a, const char *why)
{
    snprintf(a->why, sizeof(a->why), "%s", why);
}

static void uncore_describe(const struct perf *p,
                            struct counters_ability *ability)
{
    static const struct {
        enum uncore_kind kind;
        enum counters_metric metric;
        const char *can, *cannot;
    } text[] = {
        {PERF_READS, COUNTERS_MEMORY_READS, "uncore_imc, reads",
         "sysfs describes no memory controller (uncore_imc*)"},
        {PERF_WRITES, COUNTERS_MEMORY_WRITES, "uncore_imc, writes",
         "sysfs describes no memory controller (uncore_imc*)"},
    };

    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        struct counters_ability *a = &ability[text[i].metric];
        a->can = has_kind(p, text[i].kind);
        a->shared = a->can;
        set_why(a, a->can            ? text[i].can
                   : p->uncore_error ? strerror(p->uncore_error)
                                     : text[i].cannot);
    }
}

static void uncore_close(struct perf *p)
{
    for (size_t i = 0; i < p->uncores; i++)
        p->source->close(p->source->arg, p->uncore[i].fd);
    p->uncores = 0;
}

/* ---- opening ------------------------------------------------------------ */

static int open_encoding(const struct perf *p, size_t encoding, int cpu,
                         int leader)
{
    const struct perf_encoding *e = &perf_encodings[encoding];
    uint64_t config[3] = {e->config, 0, 0};

    return open_event(p, e->type, config, true, cpu, leader);
}

static void close_cpu(const struct perf *p, struct perf_cpu *c)
{
    for (size_t g = 0; g < c->groups; g++)
        for (size_t i = c->group[g].count; i-- > 0;)
            p->source->close(p->source->arg, c->group[g].fd[i]);
    c->groups = 0;
}

/* Add one event to the CPU's last group, or to a new one where that is full. */
static int add_event(const struct perf *p, struct perf_cpu *c, int cpu,
                     enum perf_role role, size_t encoding)
{
    struct perf_group *g = c->groups ? &c->group[c->groups - 1] : NULL;
    int fd = g ? open_encoding(p, encoding, cpu, g->fd[0]) : -1;

    if (fd < 0 && c->groups < PERF_ROLES) {
        fd = open_encoding(p, encoding, cpu, -1);
        if (fd < 0)
            return -1;
        g = &c->group[c->groups++];
        memset(g, 0, sizeof(*g));
    }
    if (fd < 0)
        return -1;
    g->fd[g->count] = fd;
    g->role[g->count++] = role;
    return 0;
}

static void start_group(const struct perf *p, struct perf_group *g)
{
    uint64_t data[3 + PERF_ROLES];
    size_t size = (3 + g->count) * sizeof(*data);

    if (p->source->read(p->source->arg, g->fd[0], data, size) !=
        (ssize_t)size)
        return;
    g->enabled = data[1];
    g->running = data[2];
    memcpy(g->value, data + 3, g->count * sizeof(*data));
}

/* Open the chosen encodings on CPU. */
static int open_cpu(struct perf *p, int cpu)
{
    struct perf_cpu *c = &p->cpu[cpu];

    c->groups = 0;
    for (enum perf_role r = 0; r < PERF_ROLES; r++)
        if (p->encoding[r] != PERF_NONE &&
            add_event(p, c, cpu, r, p->encoding[r]) < 0) {
            int saved = errno;
            close_cpu(p, c);
            errno = saved;
            return -1;
        }
    for (size_t g = 0; g < c->groups; g++)
        start_group(p, &c->group[g]);
    return 0;
}

/* Find the encoding of each role on a CPU that counts.  Returns the errno of
 * the first event where none opens, 0 when any does. */
static int choose(struct perf *p, int cpu)
{
    bool any = false;
    int first = 0;

    for (enum perf_role r = 0; r < PERF_ROLES; r++)
        p->encoding[r] = PERF_NONE;
    for (size_t e = 0; e < perf_encodings_count; e++) {
        enum perf_role r = perf_encodings[e].role;
        if (r >= PERF_ROLES || p->encoding[r] != PERF_NONE ||
            !perf_encoding_is_for(&perf_encodings[e], p->setup->cpu_model))
            continue;
        int fd = open_encoding(p, e, cpu, -1);
        if (fd < 0) {
            first = first ? first : errno;
            continue;
        }
        p->source->close(p->source->arg, fd);
        p->encoding[r] = e;
        any = true;
    }
    return any ? 0 : first ? first : ENOENT;
}

static int refuse(const struct perf *p, int errnum, struct errtext *err)
{
    char level[32] = "?";

    perf_sysfs_line(p->setup->procfs, "sys/kernel/perf_event_paranoid", level,
                    sizeof(level));
    switch (errnum) {
    case EACCES:
    case EPERM:
        return errtext_set(err, EACCES,
                           "perf: not permitted (perf_event_paranoid is %s; "
                           "needs root, CAP_PERFMON or 0)",
                           level);
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
    case EINVAL:
        return errtext_set(err, ENOTSUP,
                           "perf: the kernel knows no hardware counters of "
                           "this CPU (a virtual machine without them?)");
    case ENOSYS:
        return errtext_set(err, ENOTSUP, "perf: this kernel has no perf "
                                         "events");
    case EMFILE:
        return errtext_set(err, errnum, "perf: too many open files; raise the "
                                        "limit of descriptors");
    default:
        return errtext_set(err, errnum, "perf: %s", strerror(errnum));
    }
}

int perf_open(const struct perf_source *source,
              const struct counters_setup *setup, void **state,
              struct errtext *err)
{
    struct perf *p = calloc(1, sizeof(*p));
    int first = cpuset_next(setup->cpus, -1), problem;

    if (!p || !(p->cpu = calloc(setup->machine->cpus, sizeof(*p->cpu)))) {
        perf_close(p);
        return errtext_set(err, ENOMEM, "perf: out of memory");
    }
    p->source = source;
    p->setup = setup;
    problem = choose(p, first);
    for (int c = first; !problem && c >= 0; c = cpuset_next(setup->cpus, c))
        if ((size_t)c < setup->machine->cpus && open_cpu(p, c) < 0 &&
            errno != ENODEV && errno != ENXIO) /* offline: tried again */
            problem = errno;
    uncore_open(p);
    if (problem && (problem == EMFILE || !p->uncores)) {
        refuse(p, problem, err);
        int saved = errno;
        perf_close(p);
        errno = saved;
        return -1;
    }
    if (problem) /* controllers alone are something */
        for (enum perf_role r = 0; r < PERF_ROLES; r++)
            p->encoding[r] = PERF_NONE;
    *state = p;
    return 0;
}

void perf_close(void *state)
{
    struct perf *p = state;

    if (!p)
        return;
    for (size_t c = 0; p->cpu && c < p->setup->machine->cpus; c++)
        close_cpu(p, &p->cpu[c]);
    if (p->source)
        uncore_close(p);
    free(p->cpu);
    free(p);
}

/* ---- sampling ----------------------------------------------------------- */

static double *value_of(struct sample_cpu *cpu, enum perf_role role)
{
    double *const value[PERF_ROLES] = {
        [PERF_CYCLES] = &cpu->cycles,
        [PERF_INSTRUCTIONS] = &cpu->instructions,
        [PERF_MISSES] = &cpu->read_misses,
        [PERF_STALLED] = &cpu->stalled,
        [PERF_REMOTE] = &cpu->remote_misses,
        [PERF_LLC] = &cpu->llc_accesses,
    };

    return value[role];
}

enum outcome { COUNTED, STARVED, GONE };

/* Read group G into CPU. */
static enum outcome read_group(const struct perf *p, struct perf_group *g,
                               struct sample_cpu *cpu, double *coverage)
{
    uint64_t data[3 + PERF_ROLES];
    size_t size = (3 + g->count) * sizeof(*data);

    if (p->source->read(p->source->arg, g->fd[0], data, size) !=
            (ssize_t)size ||
        data[0] != g->count)
        return GONE;
    double enabled = sample_wrap(g->enabled, data[1], 64);
    double running = sample_wrap(g->running, data[2], 64);
    for (size_t i = 0; i < g->count && running > 0; i++)
        *value_of(cpu, g->role[i]) = sample_scale(
            sample_wrap(g->value[i], data[3 + i], 64), enabled, running,
            coverage);
    g->enabled = data[1];
    g->running = data[2];
    memcpy(g->value, data + 3, g->count * sizeof(*data));
    /* The kernel stops the time of events on a CPU that went offline, and does
     * not start them again with it. */
    if (!(enabled > 0))
        return GONE;
    return running > 0 ? COUNTED : STARVED;
}

static int read_cpu(struct perf *p, int cpu, struct sample *sample,
                    struct errtext *err)
{
    struct perf_cpu *c = &p->cpu[cpu];
    enum outcome worst = COUNTED;

    if (!c->groups) {
        if (p->samples % RETRY_SAMPLES == 0 && open_cpu(p, cpu) == 0)
            c->outcome = COUNTED; /* from the next sample on */
        return 0;
    }
    for (size_t g = 0; g < c->groups; g++) {
        enum outcome o = read_group(p, &c->group[g], &sample->cpu[cpu],
                                    &sample->coverage);
        worst = o > worst ? o : worst;
    }
    enum outcome before = c->outcome;
    c->outcome = worst;
    if (worst == GONE)
        close_cpu(p, c);
    if (worst <= before)
        return 0;
    return worst == GONE
               ? errtext_set(err, ENODEV,
                             "perf: CPU %d went offline; it is not counted "
                             "until it is back",
                             cpu)
               : errtext_set(err, EBUSY,
                             "perf: the counters of CPU %d are taken by "
                             "another tool",
                             cpu);
}

int perf_sample(void *state, struct sample *sample, struct errtext *err)
{
    struct perf *p = state;
    int rc = 0;

    p->samples++;
    for (int c = -1; (c = cpuset_next(p->setup->cpus, c)) >= 0;)
        if ((size_t)c < sample->cpus &&
            p->encoding[PERF_CYCLES] != PERF_NONE &&
            read_cpu(p, c, sample, rc ? NULL : err) < 0)
            rc = -1;
    if (uncore_sample(p, sample, rc ? NULL : err) < 0)
        rc = -1;
    return rc;
}

void perf_describe(const void *state, struct counters_ability *ability)
{
    static const enum counters_metric metric[PERF_ROLES] = {
        [PERF_CYCLES] = COUNTERS_CYCLES,
        [PERF_INSTRUCTIONS] = COUNTERS_INSTRUCTIONS,
        [PERF_STALLED] = COUNTERS_STALLED,
        [PERF_MISSES] = COUNTERS_READ_MISSES,
        [PERF_REMOTE] = COUNTERS_LOCALITY,
        [PERF_LLC] = COUNTERS_LLC_ACCESSES,
    };
    const struct perf *p = state;

    for (enum perf_role r = 0; r < PERF_ROLES; r++) {
        struct counters_ability *a = &ability[metric[r]];
        a->can = p->encoding[r] != PERF_NONE;
        set_why(a, a->can ? perf_encodings[p->encoding[r]].name
                          : "no event of this CPU that the kernel opens");
    }
    set_why(&ability[COUNTERS_PREFETCHES], "controllers count them as reads");
    set_why(&ability[COUNTERS_TRAFFIC], "the kernel describes no such event");
    set_why(&ability[COUNTERS_JOB_TRAFFIC], "see resctrl");
    set_why(&ability[COUNTERS_JOB_LLC], "see resctrl");
    set_why(&ability[COUNTERS_ENERGY], "see powercap");
    uncore_describe(p, ability);
}

static int open_kernel(const struct counters_setup *setup, void **state,
                       struct errtext *err)
{
    return perf_open(&perf_kernel, setup, state, err);
}

const struct counters_backend counters_perf = {
    .name = "perf",
    .help = "the kernel's perf events: cores and memory controllers",
    .flags = COUNTERS_AUTO,
    .open = open_kernel,
    .sample = perf_sample,
    .describe = perf_describe,
    .close = perf_close,
};
