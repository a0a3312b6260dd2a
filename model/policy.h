/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Allocation policies: who gets which CPU of the pool. */

#ifndef COSCHED_MODEL_POLICY_H
#define COSCHED_MODEL_POLICY_H

/* Concept
 *
 * A policy is a pure function from the machine, the pool, the jobs' present regions and its own
 * state to an owner for each CPU of the pool.  Agent and simulator call the same code.  Equal
 * state, input and options (a seed is an option) give equal output.
 *
 * A decision has one of three modes:
 *
 *   space    each CPU has one owner at most; every job has at least one CPU
 *   turns    as space, but a job without CPUs is parked until a later decision; ask again when a
 *            job begins or ends and, if `rotates`, with the next `slice` number when a slice is
 *            over
 *   native   nobody owns a CPU: every job may use the whole pool and the kernel shares the time
 *
 * Rules for every policy, applied by policy_decide(), which all callers use:
 *   - Each CPU of the pool has one owner, or none when every job is at its maximum or the node at
 *     its power budget; no other CPU has one.
 *   - Each job has at least min_cores (>= 1) if the pool is large enough for all, and never more
 *     than max_cores.  A job in a serial region has one core.
 *   - The unit of allocation is an LLC domain where the pool has at least as many whole ones as
 *     there are parallel jobs, else a core (corun also gives out single cores: to a job of which
 *     nothing is known, and where it predicts a gain).
 *   - CPUs stay with their job where the counts allow it, unless that leaves jobs scattered; CPUs
 *     of a job are packed on few LLC domains near its memory (model/policy/search/placement.h).
 *     Searching policies move cores where that is predicted to be better, nupoco where the LLC is
 *     used unevenly.
 *   - Fairness: of K jobs none is predicted to be slower than 1/K of its speed alone by more than
 *     a margin (policy_input.fairness_percent).
 *   - Energy: jobs that want least energy have no more cores than that takes, and the node draws
 *     no more than its budget (options "cost" and "power"; model/policy/power.h).
 *   - Hysteresis: while the situation is the same, the division changes only if the predicted
 *     gain exceeds a margin (option "hysteresis").
 *
 * There must be at least as many CPUs in the pool as jobs; with more jobs the caller lets them
 * take turns (turns_select()).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/machine.h"
#include "model/station.h"
#include "model/status.h"
#include "model/workload.h"

#define POLICY_REASON_MAX 256
#define POLICY_NOBODY (-1)   /* owner[]: in the pool, nobody's */
#define POLICY_NO_CPU (-2)   /* owner[]: not in the pool */
#define POLICY_MAX_JOBS 64

enum policy_mode {
    POLICY_SPACE,
    POLICY_TURNS,
    POLICY_NATIVE,
};

/* ---- what goes in ------------------------------------------------------ */

/* What was counted of a job while it ran in one parallel region at a time: sums that only grow,
 * so that two decisions differ by what it did in between. */
struct policy_counted {
    double us;           /* time */
    double computing_us; /* of all its cores in which they computed */
    double serving_us;   /* of all controllers that its requests take */
};

/* What was measured of a job, beside its profile.  Unknown numbers are NAN,
 * unknown arrays NULL; policy_facts_init() sets all so. */
struct policy_facts {
    /* Throughput of the present region at several numbers of cores, in any
     * one unit; points with different cores. */
    const struct station_sample *points; /* [point_count] */
    size_t point_count;
    /* Share of its cores' busy time in which they compute, 0..1: since its
     * loop has as many cores in the same LLC domains as now, without what
     * threads waited for each other; NAN: not known. */
    double cpu_share;
    /* Work that is left, in core-seconds: of computing, as profiles count it,
     * so that a job of predicted speed S needs remaining / S seconds. */
    double remaining;
    /* The same as the time in seconds that the rest of the job takes when it
     * has all its cores to itself; not used where `remaining` is known. */
    double left_s;
    /* What the job has done so far as time alone, likewise. */
    double done_s;
    /* Seconds that it takes alone on the whole pool for what it does in one second on
     * SHARED_CORES while others run, as measured over most of its regions. */
    double alone_need;
    size_t shared_cores; /* 0: none were measured */
    /* LLC accesses and misses per us of its cores on each LLC domain, since the
     * last decision; an entry is NAN where it is not known. */
    const double *llc_access; /* [llc_domains] */
    const double *llc_miss;   /* [llc_domains] */
    struct policy_counted counted; /* all 0: nothing */
};

/* Nothing is known. */
void policy_facts_init(struct policy_facts *facts);

/* What a job wants the least of. */
enum policy_objective { POLICY_AS_SITE, POLICY_LEAST_TIME, POLICY_LEAST_ENERGY, POLICY_LEAST_EDP };

struct policy_job {
    uint32_t id;                    /* tells jobs apart, and for the reason */
    enum region_kind kind;         /* present region */
    const struct workload *profile; /* NULL: not known yet; its rates say where
                                       its memory lies */
    size_t min_cores;               /* >= 1 */
    size_t max_cores;               /* >= min_cores */
    double weight;                  /* > 0, 1 is normal */
    uint64_t region;               /* another number: another region */
    const struct policy_facts *facts; /* NULL: none */
    bool pinned; /* its threads have fixed parts of the work: the slowest of its
                   cores sets the pace */
    size_t threads; /* equal parts of its work, which go to its cores in rounds
                       (workload_rounds()); 0: it can be divided at will */
    bool grows; /* it touches new memory, which will stay where its cores are now */
    enum policy_objective objective; /* POLICY_AS_SITE: option "cost" */
};

struct policy_workspace;
struct policy_state;

struct policy_input {
    const struct machine *machine;
    const struct policy_job *jobs; /* [job_count] in order of arrival, each
                                      with its own id */
    size_t job_count;              /* >= 1, <= POLICY_MAX_JOBS */
    const int *owner; /* [machine->cpus] present owners: index into jobs,
                         POLICY_NOBODY or POLICY_NO_CPU */
    struct policy_workspace *workspace; /* NULL: a new one per decision */
    const double *options;      /* [policy_option_count()], NULL: defaults */
    int fairness_percent; /* margin of the fairness bound: a job may be so much
                             slower than its fair share; 100: no bound */
    struct policy_state *state; /* NULL: remembers nothing */
    uint64_t slice;             /* number of the present turn */
    bool terse; /* no reason is wanted of a periodic decision that moves
                   nothing: to word it takes as long as to decide so */
};

/* ---- what comes out ---------------------------------------------------- */

struct policy_decision {
    int *owner; /* [machine->cpus], the caller's array; filled on success.  In
                   native mode nobody owns a CPU of the pool. */
    enum policy_mode mode;
    bool rotates; /* turns: others run in the next slice */
    bool kept;    /* hysteresis held the division that there was */
    bool periodic; /* decide again in the next epoch, whatever happens */
    double *relative_speed; /* [job_count] predicted speed relative to that had the job
                               begun alone on all cores; NULL: not wanted.  The
                               caller's array */
    size_t moved; /* CPUs that get another owner (nobody included) */
    double system_util;             /* predicted NuUtil (thesis 4.7), or 0 */
    char reason[POLICY_REASON_MAX]; /* one sentence with its numbers; "" where
                                       the input's `terse` says so */
};

/* ---- policies ---------------------------------------------------------- */

/* An option of a policy; its value is a number. */
struct policy_option {
    const char *name; /* as typed: NAME:VALUE */
    const char *help; /* one line */
    double initial, low, high;
    const char *words; /* "a|b|c": words for 0, 1, 2, or NULL */
};

/* Options that every policy has, before its own.  Index into
 * policy_input.options. */
enum {
    POLICY_HYSTERESIS, /* predicted gain below which the division stays */
    POLICY_COST,       /* objective of jobs that have none, less POLICY_LEAST_TIME */
    POLICY_POWER,      /* budget of the node in watts; 0: none */
    POLICY_CONCURRENCY, /* for the caller, who knows how many cores are of use: an
                           enum concurrency_kind */
    POLICY_MAPPING,    /* for the caller, once it is decided who has how many cores: 0 none, or
                          1 + enum mapping_rule */
    POLICY_OWN,        /* the policy's own options begin here */
};

#define POLICY_FAIRNESS_PERCENT 25 /* where nobody says another margin */
#define POLICY_OPTIONS_MAX 16 /* of a policy, common ones included */

/* What a policy's decide() fills. */
struct policy_proposal {
    enum policy_mode mode; /* POLICY_SPACE at first */
    size_t *cores; /* [job_count], the sum at most the pool's size.  Space:
                      within minima and maxima.  Turns: 0 for who waits. */
    bool placed;   /* LAYOUT says on which LLC domains */
    size_t *layout; /* [llc_domains * job_count] cores of job j on LLC domain i at
                       i * job_count + j: its sums are CORES, and no LLC domain
                       has more than the pool has there */
    bool keeps;    /* not placed: who has cores keeps them, however scattered */
    bool rotates, periodic; /* as in the decision; a policy that is
                                        periodic need not say so */
    bool own_rules; /* the policy has seen to fairness and hysteresis itself */
    bool kept;      /* hysteresis held the present division, */
    double passed;  /* which this part of its value would have been gained by */
    double system_util;
    double figure[6]; /* the policy's, from decide() to explain() */
};

struct policy {
    const char *name; /* as in slurm.conf */
    const char *help; /* one line */
    const struct policy_option *options; /* ended by a NULL name; NULL: none */
    bool profiles; /* decides better once regions have been measured, */
    bool turns;    /* and once it is known what each does on the whole pool, */
    bool caches;   /* and how many of its cores should share a cache */
    bool pages;    /* interleaved pages should follow cores (model/colocation.h) */
    bool periodic; /* decides anew in each epoch, not only when the situation
                      has changed */

    /* Memory between decisions, for one node of MACHINE and up to
     * POLICY_MAX_JOBS jobs; NULL when out of memory.  Both NULL: none. */
    void *(*init)(const struct machine *machine);
    void (*free)(void *memory);

    /* Decide.  Called by policy_decide() with options, a workspace whose pool
     * is counted, and jobs whose bounds fit the pool.  MEMORY is init()'s. */
    enum model_status (*decide)(const struct policy_input *input, void *memory,
                                struct policy_proposal *proposal);

    /* What the policy maximises, for COUNTS like a proposal's layout (NULL, or
     * NAN as the answer: no hysteresis).  Called after decide(). */
    double (*value)(const struct policy_input *input, void *memory,
                    const size_t *counts);

    /* The numbers that decided, as a clause of the reason without a full
     * stop: "predicted system utilisation 1.77".  At most SIZE bytes. */
    void (*explain)(const struct policy_input *input,
                    const struct policy_proposal *proposal, char *text,
                    size_t size);
};

/* All policies, terminated by NULL. */
extern const struct policy *const policies[];

/* The policy called NAME, or NULL. */
const struct policy *policy_find(const char *name);

/* Number of options of POLICY, the common ones included, and one of them. */
size_t policy_option_count(const struct policy *policy);
const struct policy_option *policy_option(const struct policy *policy,
                                          size_t index);

/* Set VALUES[POLICY_OPTIONS_MAX] to the defaults. */
void policy_options_init(const struct policy *policy, double *values);

/* Apply "NAME:VALUE;NAME:VALUE" to VALUES.  MODEL_EINVAL and *BAD (the entry
 * that is wrong; its end is the next ';' or the end of TEXT) for an unknown
 * name, or a value that is no number or word or is out of range; VALUES are
 * then as before. */
enum model_status policy_options_parse(const struct policy *policy,
                                       const char *text, double *values,
                                       const char **bad);

/* Work space for decisions on up to JOBS (>= 1) jobs on MACHINE, which must
 * outlive it and not change: with it a decision allocates nothing.  NULL when
 * out of memory or MACHINE is bad. */
struct policy_workspace *policy_workspace_new(const struct machine *machine,
                                              size_t jobs);

/* Takes NULL. */
void policy_workspace_free(struct policy_workspace *workspace);

/* What POLICY remembers of a node that is MACHINE, which must outlive it and
 * not change: nothing so far.  NULL when out of memory. */
struct policy_state *policy_state_new(const struct policy *policy,
                                      const struct machine *machine);

/* Takes NULL. */
void policy_state_free(struct policy_state *state);

/* Decide with POLICY and place the result.  MODEL_EINVAL for bad input (no
 * CPU per job, owners out of range, bad machine or profile, two jobs of one
 * id, a workspace of another machine or for fewer jobs, the state of another
 * policy or machine). */
enum model_status policy_decide(const struct policy *policy,
                                const struct policy_input *input,
                                struct policy_decision *out);

/* Turns for more jobs than cores.  Of JOBS jobs (in a fixed order) with CORES
 * cores, mark those that run in slice number SLICE (0, 1, ...): a window that
 * moves round robin, so that over JOBS slices each job runs CORES times. */
void turns_select(size_t jobs, size_t cores, uint64_t slice, bool *runs);

#endif /* COSCHED_MODEL_POLICY_H */
