/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters: what the node's hardware can tell about its jobs, and how. */

#ifndef COSCHED_COUNTERS_H
#define COSCHED_COUNTERS_H

/* Concept
 *
 * A backend (one file, one descriptor) counts on the node and knows nothing of regions or
 * profiles:
 *
 *     open ──> assign (each change of allotments) ──> sample ──> ... ──> close
 *
 * sample() delivers the increments since the last sample, or since open().  The agent
 * samples each epoch and right before it changes an allotment, so each core had one job in
 * each interval; attribute.h then says what each job did, and counters_profile() makes
 * profiles of it: from one DoP where LLC misses or traffic per job are counted, else from
 * reported work at two or more DoPs (`progress`).
 *
 * A backend survives what goes wrong while it runs: CPUs go offline or come back, permission
 * is withdrawn, another tool takes the counters.  Values concerned are NAN, and sample()
 * returns -1 with the reason once, then 0.  It never blocks, prints or exits, and keeps no
 * pointer but to the setup.
 *
 * Several backends may be open: the chosen one, and supplements (energy, traffic by job) that
 * fill in what it leaves NAN.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/machine.h"
#include "model/workload.h"
#include "node_agent/counters/measure.h"
#include "node_agent/counters/sample.h"
#include "common/errtext.h"
#include "protocol/layout.h"

/* What a backend may or may not measure. */
enum counters_metric {
    COUNTERS_CYCLES,        /* per CPU */
    COUNTERS_STALLED,
    COUNTERS_INSTRUCTIONS,
    COUNTERS_LLC_ACCESSES,
    COUNTERS_READ_MISSES,
    COUNTERS_LOCALITY,      /* misses local and remote */
    COUNTERS_MEMORY_READS,  /* per NUMA node */
    COUNTERS_MEMORY_WRITES,
    COUNTERS_PREFETCHES,
    COUNTERS_TRAFFIC,       /* per LLC domain and NUMA node */
    COUNTERS_JOB_TRAFFIC,   /* per job */
    COUNTERS_JOB_LLC,
    COUNTERS_THREADS,       /* per thread and NUMA node */
    COUNTERS_ENERGY,        /* per package */
    COUNTERS_WORK,          /* from the jobs' own reports */
    COUNTERS_METRICS,       /* number of metrics */
};

struct counters_ability {
    bool can;
    bool shared;   /* of a whole socket or NUMA node: all jobs together */
    char why[160]; /* the event that gives it, or why not */
};

/* A job and the CPUs that it has from now on. */
struct counters_job {
    uint32_t id;
    struct cosched_cpuset cpus;
};

struct counters_backend;
struct topology;

/* The node.  All pointers outlive the counters. */
struct counters_setup {
    const struct machine *machine; /* the model's */
    bool calibrated;       /* its service times were measured */
    const int *llc_domain;   /* [machine->cpus] of all CPUs, -1: hole */
    const int *package;    /* [machine->cpus] likewise; NULL: all are in 0 */
    size_t packages;       /* >= 1 */
    const struct cosched_cpuset *cpus; /* to count on */
    const char *cpu_model; /* "family-model-stepping" for event sets: "6-85-7";
                              NULL: unknown */
    const char *events;    /* directory of event sets */
    const char *libexec;   /* directory of helper programs */
    const char *likwid_socket; /* where likwid's helper is started by others;
                                  NULL: nowhere */
    const struct topology *topology; /* knows the kernel's numbers of NUMA nodes; NULL: the
                                        machine's are */
    bool threads;          /* requests of threads are wanted (they cost something) */
    const char *sysfs;     /* "/sys" */
    const char *procfs;    /* "/proc" */
    const char *argument;  /* what follows "NAME:" in the specification, "" */
    const struct counters_backend *const *backends; /* NULL: counters_backends;
                              others for tests */
    const struct counters_backend *replay; /* recording/recording.h has it; only its
                              name chooses it; NULL: there is none */
    void (*load)(const struct counters_setup *setup); /* make values move:
                              counters_load(), or another */
};

enum {
    COUNTERS_AUTO = 1,       /* `auto` may choose it */
    COUNTERS_SUPPLEMENT = 2, /* fills in what the chosen one lacks */
    COUNTERS_COMPLETE = 4,   /* not to be mixed with others */
    COUNTERS_STILL = 8,      /* need not move to be good: has no values */
    COUNTERS_EXCLUSIVE = 16, /* programs registers itself: a second user of
                                counters, of any backend, would disturb it */
};

/* What a profile is from. */
enum counters_fit_source {
    FIT_OF_WORK,     /* the jobs' work at several DoPs */
    FIT_OF_REQUESTS, /* counted requests: exact */
};

/* A profile and how sure it is. */
struct counters_fit {
    double rho;       /* effective load of the busiest station */
    double low, high; /* its confidence interval; equal to rho: not known; high
                         may be INFINITY */
    bool compute_bound; /* rho cannot be told from zero, or might as well be */
    size_t points;    /* DoPs that it is from */
    enum counters_fit_source from;
};

struct counters_backend {
    const char *name; /* as in --counters */
    const char *help; /* one line */
    unsigned flags;
    /* Start counting on SETUP->cpus.  *STATE is the backend's own.  -1 with
     * errno ENOTSUP (not here), EACCES/EPERM (not permitted), EBUSY (another
     * tool has the counters), EINVAL (argument) or another, and the reason. */
    int (*open)(const struct counters_setup *setup, void **state,
                struct errtext *err);
    /* The jobs have other CPUs from now on.  May be NULL. */
    int (*assign)(void *state, const struct counters_job *jobs, size_t count,
                  struct errtext *err);
    /* Set what was counted in *SAMPLE, which comes with all values NAN and its
     * time set.  May be NULL: nothing is.  -1: as above; what was set counts. */
    int (*sample)(void *state, struct sample *sample, struct errtext *err);
    /* Fill ABILITY[COUNTERS_METRICS], which comes with nothing possible and no
     * reasons. */
    void (*describe)(const void *state, struct counters_ability *ability);
    void (*close)(void *state);
};

/* All backends in order of precision, terminated by NULL. */
extern const struct counters_backend *const counters_backends[];
extern const struct counters_backend counters_perf;
extern const struct counters_backend counters_progress;

/* Counters without hardware: a workload for MACHINE from the work in MEASURE, at
 * two DoPs or more.  NULL with errno EAGAIN when there is not enough data (FIT
 * says what is known so far if its points are not 0), EDOM when the data cannot be
 * explained. */
struct workload *progress_fit(const struct machine *machine,
                              const struct measure *measure,
                              struct counters_fit *fit, struct errtext *err);

struct counters;

/* Open what SPECIFICATION says: "auto", or a backend's NAME or NAME:ARGUMENT.
 * `auto` takes the first that opens and whose values move under a load of a few
 * milliseconds.  Supplements are added in both cases.  `progress` always takes
 * part with its fit.  REASON (may be NULL, REASON_SIZE bytes) says what was
 * chosen and why others were passed over.  NULL with errno EINVAL (no such
 * backend), that of the backend's open(), or ENOTSUP when none works. */
struct counters *counters_open(const char *specification,
                               const struct counters_setup *setup,
                               char *reason, size_t reason_size,
                               struct errtext *err);

/* Name of the chosen backend, e.g. "perf"; with all that are open: "perf +
 * powercap". */
const char *counters_name(const struct counters *counters);
const char *counters_names(const struct counters *counters);

/* The setup that it was opened with. */
const struct counters_setup *counters_setup(const struct counters *counters);

/* What the open backends together can measure; ABILITY[COUNTERS_METRICS]. */
void counters_describe(const struct counters *counters,
                       struct counters_ability *ability);

/* DoPs that a profile needs: 1 while hardware counts for it, else 2. */
size_t counters_points(const struct counters *counters);

/* True when a backend needs the jobs' CPUs. */
bool counters_follow(const struct counters *counters);

/* Jobs' CPUs from now on. */
int counters_assign(struct counters *counters, const struct counters_job *jobs,
                    size_t count, struct errtext *err);

/* What happened in the last ELAPSED_NS: the sample, the counters' own, valid until the next call.
 * -1 is no failure: *ERR says once what can no longer be measured. */
int counters_sample(struct counters *counters, uint64_t elapsed_ns,
                    const struct sample **sample, struct errtext *err);

/* A profile from MEASURE: from its loop profiles of at least ENOUGH_NS, else
 * from its work.  Errors as of progress_fit(). */
struct workload *counters_profile(const struct counters *counters,
                                  const struct measure *measure,
                                  uint64_t enough_ns, struct counters_fit *fit,
                                  struct errtext *err);

/* Takes NULL. */
void counters_close(struct counters *counters);

/* "cycles", "stalled", ... as in coschedctl counters. */
const char *counters_metric_name(enum counters_metric metric);

/* "family-model-stepping" of this machine's CPUs as PROCFS has it, in TEXT.  NULL
 * where it does not tell (no x86). */
const char *counters_cpu_model(const char *procfs, char *text, size_t size);

/* The NUMA nodes of PACKAGE, ascending, in NODES [machine->numa_nodes]; their
 * number. */
size_t counters_package_nodes(const struct counters_setup *setup,
                              size_t package, size_t *nodes);

/* Load memory and core for a few milliseconds of CPU time, on one CPU of SETUP if possible. */
void counters_load(const struct counters_setup *setup);

/* The setup for MACHINE with all CPUs of CPUS in one package, and everything
 * else as on the node itself. */
void counters_setup_init(struct counters_setup *setup,
                         const struct machine *machine,
                         const struct cosched_cpuset *cpus);

#endif /* COSCHED_COUNTERS_H */
