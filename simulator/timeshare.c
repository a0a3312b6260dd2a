/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the kernel's time sharing makes of OpenMP programs on the same cores. */

#include "simulator/timeshare.h"

#include <math.h>
#include <stdbool.h>

#define OUTER_ROUNDS 8  /* with the memory's answer */
#define INNER_ROUNDS 200
#define TOLERANCE 1e-6
#define QUEUE_MOST 64 /* threads on a core that are told apart */
#define SLICES_VARY 0.25 /* by so much are the shortest and longest off */
#define REFILL_PER_US 50.0 /* LLC accesses of what uses its own caches well */

struct timeshare_params timeshare_params(enum timeshare_wait wait,
                                         size_t cores)
{
    /* kernel/sched/fair.c of Linux 3.0 to 6.5: sysctl_sched_latency 6 ms and
     * sysctl_sched_min_granularity 0.75 ms, both times this. */
    double scale = 1 + log2(fmin((double)cores, 8));
    struct timeshare_params p = {
        .slice_s = 3e-3 * scale,
        .min_slice_s = 0.75e-3 * scale,
        .spin_s = 3e-3, /* gomp_spin_count_var: "3 msec" */
        .wake_s = 20e-6,
        .barrier_s = 1e-6,
        .switch_s = 3e-6,
        .refill_s = 100e-6,
        .balance_s = 100e-3,
    };

    if (wait == TIMESHARE_ACTIVE)
        p.spin_s = INFINITY;
    else if (wait == TIMESHARE_PASSIVE)
        p.spin_s = 0;
    return p;
}

/* The threads that one may meet on a core, by how many are runnable at a
 * time. */
struct queue {
    size_t most;
    double part[QUEUE_MOST + 1]; /* of the time with so many */
    double mean;
};

static void queue_empty(struct queue *queue)
{
    queue->most = 0;
    queue->part[0] = 1;
    queue->mean = 0;
}

/* One more, runnable R of the time, independent of the others. */
static void queue_add(struct queue *queue, double r)
{
    queue->mean += r;
    if (r <= 0 || queue->most >= QUEUE_MOST)
        return;
    queue->most++;
    queue->part[queue->most] = 0;
    for (size_t n = queue->most; n > 0; n--)
        queue->part[n] += (queue->part[n - 1] - queue->part[n]) * r;
    queue->part[0] *= 1 - r;
}

/* How many times slower a thread is that shares its core with QUEUE. */
static double queue_slowdown(const struct queue *queue)
{
    double rate = 0;

    if (queue->most >= QUEUE_MOST)
        return 1 + queue->mean;
    for (size_t n = 0; n <= queue->most; n++)
        rate += queue->part[n] / (double)(1 + n);
    return 1 / rate;
}

/* What changes from round to round, of one job. */
struct job_state {
    bool serial;
    double spin_s; /* as of the parameters, 0 if it sleeps */
    double threads;
    double density;  /* threads per core */
    double work_s;   /* from barrier to barrier, of one thread */
    double share;    /* of its core time in which it is not stalled */
    double r;        /* of a team's thread; of a worker where serial */
    double run_s;    /* core time until it gives the core up by itself */
    double k;        /* slowdown, mean over the cores */
    double loss_s;   /* q: for how long, per competitor, it loses its core */
    double need_s;   /* g */
    double period_s; /* W */
};

struct solver {
    const struct timeshare_input *input;
    struct job_state job[SCENARIO_MAX_JOBS];
};

static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* A slice where N threads take turns. */
static double slice_of(const struct timeshare_params *params, double n)
{
    return fmax(params->min_slice_s, params->slice_s * 2 / fmax(n, 2));
}

/* Of threads that are LAYERS per core, spread evenly, how many others one meets
 * on average: most are where there are most. */
static double met_by_one(double layers)
{
    double whole = floor(layers + 1e-9), rest = fmax(0, layers - whole);

    return layers < 1 ? 0 : whole - 1 + rest * (whole + 1) / layers;
}

/* Add COUNT threads per core, a whole number of them certain, with R each. */
static void add_threads(double count, double r, struct queue *queue)
{
    for (; count > 1e-9 && queue->most < QUEUE_MOST; count -= 1)
        queue_add(queue, fmin(count, 1) * r);
}

/* Whom a thread of job SELF meets on its core.  Jobs with a thread for each
 * core are everywhere.  The threads of smaller ones, and that which computes in
 * a serial region, go where there are fewest: they meet each other only when
 * they are more than the cores. */
static void meet(const struct solver *s, size_t self, bool fullest,
                 struct queue *queue)
{
    const struct job_state *me = &s->job[self];
    double lone = 1 / (double)s->input->cores; /* a serial thread */
    double small = 0, runnable = 0;

    queue_empty(queue);
    for (size_t i = 0; i < s->input->count; i++) {
        const struct job_state *other = &s->job[i];
        bool everywhere = other->density >= 1 - 1e-9;

        if (everywhere && i == self) {
            add_threads(fullest ? ceil(other->density - 1e-9) - 1
                                : met_by_one(other->density),
                        other->r, queue);
        } else if (everywhere) {
            add_threads(fullest ? ceil(other->density - 1e-9)
                                : other->density,
                        other->r, queue);
        } else if (i != self) {
            small += other->density;
            runnable += other->density * other->r;
        }
        if (other->serial && i != self) {
            small += lone;
            runnable += everywhere ? lone * (1 - other->r) : lone;
        }
    }
    if (me->serial || me->density < 1 - 1e-9) {
        double mine = me->serial ? lone : me->density, all = small + mine;
        double r = (runnable + mine * (me->serial ? 1 : me->r)) / all;
        add_threads(fullest ? fmax(0, ceil(all - 1e-9) - 1) : met_by_one(all),
                    r, queue);
    } else if (small > 1e-9) {
        add_threads(fullest ? ceil(small - 1e-9) : small, runnable / small,
                    queue);
    }
}

/* For how long one of those whom SELF meets keeps the core. */
static double loss_of(const struct solver *s, size_t self, double k)
{
    double slice = slice_of(s->input->params, k), sum = 0, weight = 0;

    for (size_t i = 0; i < s->input->count; i++) {
        const struct job_state *other = &s->job[i];
        double layers = other->density - (i == self ? 1 : 0);
        double w = fmax(0, layers) * other->r;
        if (other->serial) {
            double lone = i == self ? 0 : 1 / (double)s->input->cores;
            sum += lone * slice;
            weight += lone;
        }
        sum += w * fmin(slice, other->run_s);
        weight += w;
    }
    return weight > 0 ? fmax(sum / weight, s->input->params->switch_s) : slice;
}

/* What each of its turns on the core costs the job of REGION. */
static double turn_cost(const struct timeshare_params *params,
                        const struct scenario_region *region)
{
    return params->switch_s +
           params->refill_s * fmin(1, region->llc_per_us / REFILL_PER_US);
}

/* Of how the unluckiest thread of a job gets from one barrier to the next. */
struct losses {
    double count;  /* how often it loses its core, in need_s of its time */
    double events; /* 0..1: probability that somebody waits for one */
    double each_s; /* for how long, per competitor */
};

/* THREADS in all, of which PHASES have their slices on their own, beside others
 * that make them K times slower: see timeshare.h. */
static struct losses losses_of(double need, double slice, double k,
                               double threads, double phases)
{
    double varies = SLICES_VARY * (1 - 1 / threads) / sqrt(1 + need / slice);
    double x = need / (slice * (1 - varies)), whole = floor(x);
    double begins = 1 - pow(1 - (x - whole), phases);
    double all_on = pow(k, 1 - phases); /* when the last one arrives */
    struct losses lost = {.each_s = slice * (1 + varies)};
    /* Chain of two states at a barrier: all have their cores, or some have not
     * and come back when what is left of their losses is over. */
    double off = fmax(1, (phases - 1) * (1 - 1 / k));
    double waits = begins > 0 ? begins / (1 - (1 - all_on) * (1 - begins)) : 0;
    double bad = waits * (1 - all_on);

    lost.count = whole + (1 - bad) * begins + bad * off / (off + 1);
    lost.events = whole > 0 ? 1 : waits;
    return lost;
}

static void step_serial(struct solver *s, size_t self, struct job_state *next)
{
    const struct timeshare_params *params = s->input->params;
    const struct scenario_region *region = s->input->jobs[self].region;
    struct queue queue;

    meet(s, self, false, &queue);
    next->k = queue_slowdown(&queue);
    next->loss_s = loss_of(s, self, next->k);
    next->need_s = next->work_s / next->share;
    if (next->k > 1 + 1e-9)
        next->need_s *= 1 + (1 - 1 / next->k) *
                                turn_cost(params, region) / next->loss_s;
    next->period_s = next->need_s * next->k;
    /* The workers, who wait from the region's beginning on. */
    next->r = fmin(1, next->spin_s * next->k / next->period_s);
    next->run_s = next->spin_s;
}

/* After how long a queue of job SELF that is longer by one has moved on: at
 * once where those who are done sleep and leave their cores to nobody. */
static double balance_of(const struct solver *s, size_t self)
{
    const struct timeshare_params *params = s->input->params;
    double others = 0, idle = fmin(params->balance_s, s->job[self].spin_s);

    for (size_t i = 0; i < s->input->count; i++)
        if (i != self && s->job[i].density >= 1 - 1e-9)
            others += s->job[i].r * s->job[i].density;
    others = fmin(1, others);
    return others * params->balance_s + (1 - others) * idle;
}

/* Part of the threads whose slices keep their own phase while one has lost its
 * core for LOSS: those who sleep meanwhile all come back with the last one, and
 * then have had less than their part, so that they lose their cores together
 * the next time. */
static double misaligned(double spin_s, double loss)
{
    return clamp(2 * spin_s / loss - 1, 0, 1);
}

/* What threads do that have reached the barrier: they wait UNEVEN for those with
 * more work, and for those that have LOST their cores in between. */
static void end_of_period(const struct timeshare_params *params,
                          const struct losses *lost, double uneven,
                          struct job_state *next)
{
    double most = next->k * next->spin_s;
    double wait = fmax(0, next->period_s - next->k * next->need_s);
    double spin = fmin(fmin(wait, uneven), most), sleeps = 1;

    if (most > 0) {
        spin += fmin(fmax(0, wait - uneven), lost->count * most);
        sleeps = fmax(clamp(uneven / most - 1, 0, 1),
                      lost->events *
                          clamp(2 * lost->each_s / next->spin_s - 1, 0, 1));
    }
    next->period_s += (params->barrier_s +
                       sleeps * (params->wake_s - params->barrier_s)) *
                      (1 + log2(next->threads));
    next->r = clamp((next->k * next->need_s + spin) / next->period_s, 0, 1);
    if (next->spin_s == INFINITY)
        next->r = 1; /* at the barrier itself, too */
    next->run_s = INFINITY;
    if (sleeps > 1e-9 && next->spin_s < INFINITY)
        next->run_s = next->need_s / sleeps + next->spin_s;
}

static void step_parallel(struct solver *s, size_t self,
                          struct job_state *next)
{
    const struct timeshare_params *params = s->input->params;
    const struct scenario_region *region = s->input->jobs[self].region;
    struct losses lost = {0};
    double fullest, need, apart, cost;
    struct queue queue;

    meet(s, self, true, &queue);
    fullest = queue_slowdown(&queue);
    meet(s, self, false, &queue);
    next->k = queue_slowdown(&queue);
    next->loss_s = loss_of(s, self, next->k);
    apart = misaligned(next->spin_s, next->loss_s);
    next->need_s = next->work_s / next->share;
    /* Who sleeps out a loss of the last one has spun before. */
    cost = turn_cost(params, region);
    if (apart < 1)
        cost += (1 - apart) * next->spin_s *
                fmin(1, next->loss_s / next->need_s);
    if (next->k > 1 + 1e-9)
        next->need_s *= 1 + (1 - 1 / next->k) * cost / next->loss_s;
    fullest = next->k + fmax(0, fullest - next->k) *
                            fmin(1, balance_of(s, self) /
                                        (next->k * next->need_s));
    need = next->need_s * (1 + region->imbalance);
    if (fullest > 1 + 1e-9)
        lost = losses_of(need, next->loss_s, fullest, next->threads,
                         1 + (next->threads - 1) * apart);
    next->period_s = need + lost.count * (fullest - 1) * lost.each_s;
    end_of_period(params, &lost, next->k * (need - next->need_s), next);
}

/* One round; the greatest relative change of a job's period or r. */
static double step(struct solver *s)
{
    struct job_state next[SCENARIO_MAX_JOBS];
    double change = 0;

    for (size_t i = 0; i < s->input->count; i++) {
        next[i] = s->job[i];
        if (next[i].serial)
            step_serial(s, i, &next[i]);
        else
            step_parallel(s, i, &next[i]);
    }
    for (size_t i = 0; i < s->input->count; i++) {
        struct job_state *job = &s->job[i];
        double r = (job->r + next[i].r) / 2;
        double run = isfinite(job->run_s) && isfinite(next[i].run_s)
                         ? (job->run_s + next[i].run_s) / 2
                         : next[i].run_s;
        change = fmax(change, fabs(r - job->r));
        change = fmax(change, fabs(next[i].period_s / job->period_s - 1));
        *job = next[i];
        job->r = r;
        job->run_s = run;
    }
    return change;
}

static void job_begin(const struct timeshare_input *input, size_t i,
                      struct job_state *job)
{
    const struct timeshare_job *in = &input->jobs[i];
    const struct scenario_region *region = in->region;

    *job = (struct job_state){.serial = region->kind == REGION_SERIAL,
                              .spin_s = in->sleeps ? 0
                                                   : input->params->spin_s,
                              .threads = (double)in->threads,
                              .share = 1,
                              .r = 1,
                              .k = 1,
                              .period_s = 1};
    job->density = job->threads / (double)input->cores;
    job->work_s = region->work_s;
    if (!job->serial)
        job->work_s /= (double)region->barriers * job->threads *
                       (1 - region->sync_share * fmin(1, job->density));
    /* Of two steady states, that in which the jobs wait for each other. */
    job->run_s = job->work_s + job->spin_s;
}

/* Fill RATE from the present state. */
static void collect(const struct solver *s, struct timeshare_rate *rate)
{
    for (size_t i = 0; i < s->input->count; i++) {
        const struct job_state *job = &s->job[i];
        const struct scenario_region *region = s->input->jobs[i].region;
        double computing = job->need_s / job->period_s;
        struct timeshare_rate *r = &rate[i];

        r->runnable = job->r;
        r->barrier_s = job->serial ? 0 : job->period_s;
        r->computing = job->serial ? computing : computing * job->threads;
        r->spinning = job->serial
                          ? (job->threads - 1) * job->r / job->k
                          : job->threads *
                                fmax(0, job->r / job->k - computing);
        r->speed = region->work_s / job->period_s;
        if (!job->serial)
            r->speed /= (double)region->barriers;
    }
}

static enum model_status check(const struct timeshare_input *input)
{
    const struct timeshare_params *p = input->params;

    if (input->cores == 0 || input->count == 0 ||
        input->count > SCENARIO_MAX_JOBS || !(p->slice_s > 0) ||
        !(p->min_slice_s > 0) || !(p->spin_s >= 0) || !(p->wake_s >= 0) ||
        !(p->barrier_s >= 0) || !(p->switch_s > 0) || !(p->refill_s >= 0) ||
        !(p->balance_s >= 0))
        return MODEL_EINVAL;
    for (size_t i = 0; i < input->count; i++)
        if (!input->jobs[i].region || input->jobs[i].threads == 0)
            return MODEL_EINVAL;
    return MODEL_OK;
}

/* Ask the callback, with RATE as of the last rounds; the greatest change of a
 * job's share. */
static enum model_status ask_memory(struct solver *s,
                                    const struct timeshare_rate *rate,
                                    double *change)
{
    double running[SCENARIO_MAX_JOBS], share[SCENARIO_MAX_JOBS];
    enum model_status status;

    *change = 0;
    if (!s->input->memory)
        return MODEL_OK;
    for (size_t i = 0; i < s->input->count; i++)
        running[i] = rate[i].computing;
    status = s->input->memory(s->input->arg, running, share);
    for (size_t i = 0; status == MODEL_OK && i < s->input->count; i++) {
        if (!(share[i] > 0) || share[i] > 1 + 1e-9)
            return MODEL_EINVAL;
        *change = fmax(*change, fabs(share[i] / s->job[i].share - 1));
        s->job[i].share = fmin(1, share[i]);
    }
    return status;
}

enum model_status timeshare_solve(const struct timeshare_input *input,
                                  struct timeshare_rate *rate)
{
    struct solver s = {.input = input};
    enum model_status status = check(input);
    double change = 1;

    for (size_t i = 0; status == MODEL_OK && i < input->count; i++)
        job_begin(input, i, &s.job[i]);
    for (int o = 0; status == MODEL_OK && o < OUTER_ROUNDS && change > 1e-3;
         o++) {
        for (int n = 0; n < INNER_ROUNDS && step(&s) > TOLERANCE; n++)
            ;
        collect(&s, rate);
        status = ask_memory(&s, rate, &change);
    }
    if (status == MODEL_OK && change > 0) {
        for (int n = 0; n < INNER_ROUNDS && step(&s) > TOLERANCE; n++)
            ;
        collect(&s, rate);
    }
    return status;
}
