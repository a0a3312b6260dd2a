/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The summary of a job that goes into its AdminComment. */

#include "node_agent/core/record.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/station.h"
#include "protocol/layout.h"
#include "protocol/tasks_per_cpu.h"

#define SERIAL_SHARE 0.25       /* parallel in less of its time: serial */
#define COMPUTE_EFFICIENCY 0.85 /* of all granted cores, at least */
#define MEMORY_EFFICIENCY 0.6   /* at most */
#define BEST_SPEED 0.95         /* of the speed on all granted cores */
#define ULT_BARRIER_S 0.15e-6   /* a barrier, per thread and core more, with what caches lose */
#define ULT_COST 0.02           /* that barriers, or spinning, may take for threads */
#define SPUN_S 20e-6            /* before a thread that spins makes room */
#define ULTS_MOST 20            /* the runtime's own bound */
#define ALONE_WORK 0.1          /* of all work, at least */
#define ALONE_MIN_S 1.0
#define ALONE_WHOLE 0.95        /* of its time: alone all the time */

#define KEPT(member) FIELD(struct record, member, #member, 1)
/* Earlier agents did not write it. */
#define LATER(member) FIELD(struct record, member, #member, 1 | FIELD_OPTIONAL)
#define TOTAL(member) FIELD(struct record, total.member, #member, 1 | FIELD_OPTIONAL)

const struct field record_fields[] = {
    KEPT(policy),        KEPT(live_ns),  KEPT(core_s),    KEPT(parallel_s),
    KEPT(final_cores),   FIELD(struct record, total.regions, "regions", 1),
    KEPT(decisions),     KEPT(attached),
    LATER(energy_j),     LATER(moves),   LATER(program),  LATER(granted),
    LATER(work_s),       LATER(done_s),  LATER(ahead_s), TOTAL(steps),    TOTAL(barriers),
    LATER(alone_s),      LATER(alone_work_s),
    LATER(profiled),     LATER(rho),     LATER(saturation), LATER(profiled_share),
    LATER(follow),       LATER(cpu_s),   LATER(hot),     TOTAL(waited_s),
    TOTAL(preempted),    TOTAL(threads),
    {0}};

double record_speed(size_t cores, double rho)
{
    if (!(rho > 0) || !cores)
        return (double)cores;
    return station_speedup(cores, rho) / (1 + rho);
}

/* Add the rho of SECONDS in a parallel region, if it is known, to the means. */
static void add_profile(struct record *r, double seconds, double rho)
{
    double known = r->profiled_share * r->parallel_s;

    if (!isnan(rho)) {
        double usable = fmin((double)r->granted, rho > 0 ? 1 + 1 / rho : INFINITY);
        r->rho = (r->rho * known + rho * seconds) / (known + seconds);
        r->saturation = (r->saturation * known + usable * seconds) / (known + seconds);
        r->profiled = true;
        known += seconds;
    }
    r->parallel_s += seconds;
    r->profiled_share = known / r->parallel_s;
}

void record_add_time(struct record *r, const struct record_time *time)
{
    double seconds = (double)time->ns * 1e-9;

    r->live_ns += time->ns;
    r->core_s += seconds * (double)time->cores;
    r->final_cores = time->cores;
    if (!time->ns || !time->cores || !time->reports)
        return;
    double speed = time->parallel ? record_speed(time->cores, time->rho) : 1;
    r->work_s += seconds * speed;
    if (time->alone && (!time->parallel || time->cores == r->granted)) {
        r->alone_s += seconds;
        r->alone_work_s += seconds * speed;
    }
    if (time->parallel)
        add_profile(r, seconds, time->rho);
}

void record_set_totals(struct record *r, const struct record_totals *now)
{
    struct record_totals *t = &r->total;

    t->regions = now->regions > t->regions ? now->regions : t->regions;
    t->threads = now->threads > t->threads ? now->threads : t->threads;
    t->steps = fmax(t->steps, now->steps);
    t->barriers = fmax(t->barriers, now->barriers);
    t->waited_s = fmax(t->waited_s, now->waited_s);
    t->preempted = fmax(t->preempted, now->preempted);
}

void record_bound_work(struct record *r)
{
    if (r->work_s <= r->cpu_s)
        return;
    r->alone_work_s *= r->cpu_s / r->work_s;
    r->work_s = r->cpu_s;
}

void record_add_partner(struct record *r, uint32_t id)
{
    for (size_t i = 0; i < r->partners; i++)
        if (r->partner[i] == id)
            return;
    if (r->partners < RECORD_PARTNERS)
        r->partner[r->partners++] = id;
}

/* FROM, up to a blank with CUT, into TO, as a record may have it. */
static void copy_word(char *to, size_t size, const char *from, bool cut)
{
    size_t n = 0;

    for (; from[n] && !(cut && from[n] == ' ') && n < size - 1; n++)
        to[n] = isalnum((unsigned char)from[n]) || strchr("._+-", from[n]) ? from[n]
                                                                           : '_';
    to[n] = '\0';
}

void record_set_program(struct record *r, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!r->program[0])
        copy_word(r->program, sizeof(r->program), slash ? slash + 1 : path, true);
}

void record_set_follow(struct record *r, const struct follow_finding *finding)
{
    char before[RECORD_FOLLOW_MAX];

    memcpy(before, r->follow, sizeof(before));
    before[strcspn(before, ":")] = '\0';
    int old = follow_find(before);
    if (old >= 0 && follow_is_malleable((enum follow)old))
        return;
    size_t n = (size_t)snprintf(r->follow, sizeof(r->follow), "%s",
                                follow_word(finding->word));
    if (finding->detail[0] && !strchr(finding->detail, '/')) {
        r->follow[n++] = ':';
        copy_word(r->follow + n, sizeof(r->follow) - n, finding->detail, false);
    }
}

/* ---- what sort of program it is ------------------------------------------- */

static double live_s(const struct record *r)
{
    return (double)r->live_ns * 1e-9;
}

const char *record_class(const struct record *r)
{
    if (!r->attached || !r->live_ns)
        return NULL;
    if (r->parallel_s < SERIAL_SHARE * live_s(r))
        return "serial";
    if (!r->profiled || r->granted < 2)
        return NULL;
    double efficiency =
        station_speedup(r->granted, r->rho) / (double)r->granted;
    return efficiency >= COMPUTE_EFFICIENCY  ? "compute"
           : efficiency <= MEMORY_EFFICIENCY ? "memory"
                                             : "mixed";
}

size_t record_best_cores(const struct record *r)
{
    size_t n = 1;

    if (!r->profiled || !r->granted)
        return 0;
    /* Of a state file that is not ours, too. */
    size_t cores = r->granted < COSCHED_MAX_CPUS ? r->granted : COSCHED_MAX_CPUS;
    double most = record_speed(cores, r->rho);
    while (n < cores && record_speed(n, r->rho) < BEST_SPEED * most)
        n++;
    return n;
}

/* With which barriers, or to make room while they spin, take no more than they may. */
static double synchronised_ults(const struct record *r)
{
    /* A region has one more, where it begins. */
    double barriers = r->total.barriers + r->total.steps;

    if (r->total.preempted * SPUN_S > ULT_COST * r->core_s)
        return 1;
    if (!(barriers >= 100) || !(r->parallel_s > 0))
        return INFINITY;
    return fmax(1, floor(ULT_COST * r->parallel_s / barriers / ULT_BARRIER_S));
}

/* That fold well over the cores that it can use. */
static double folding_ults(const struct record *r, size_t cores)
{
    if (!r->profiled || !(r->saturation >= 1) || r->saturation > (double)cores)
        return INFINITY;
    double tasks = r->saturation * cosched_tasks_per_cpu((unsigned long)ceil(r->saturation));
    double ults = ceil(tasks / (double)cores);
    return ults < cosched_tasks_per_cpu(cores) ? ults : INFINITY;
}

size_t record_ults(const struct record *r)
{
    size_t cores = r->granted < COSCHED_MAX_CPUS ? r->granted : COSCHED_MAX_CPUS;
    double most = fmin(synchronised_ults(r), folding_ults(r, cores));

    /* The runtime goes by CPUs, of which a core may have several: one says something anyway. */
    if (most > 1 && (most >= ULTS_MOST || (cores && most >= cosched_tasks_per_cpu(cores))))
        return 0;
    return (size_t)most;
}

double record_alone_s(const struct record *r)
{
    if (!(r->alone_work_s > 0))
        return NAN;
    if (r->alone_s >= ALONE_WHOLE * live_s(r))
        return live_s(r);
    if (r->alone_s < ALONE_MIN_S || r->alone_work_s < ALONE_WORK * r->work_s)
        return NAN;
    return r->work_s * r->alone_s / r->alone_work_s;
}

/* ---- the line ----------------------------------------------------------- */

/* Append to TEXT; what does not fit as a whole is left out. */
__attribute__((format(printf, 2, 3))) static void
add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(text + used, RECORD_TEXT_MAX - used, format, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= RECORD_TEXT_MAX - used)
        text[used] = '\0';
}

static void add_character(const struct record *r, char *text)
{
    const char *class = record_class(r);
    double alone_s = record_alone_s(r);
    size_t ults = record_ults(r);

    if (r->granted)
        add(text, " granted=%zu moves=%llu", r->granted,
            (unsigned long long)r->moves);
    if (r->program[0])
        add(text, " program=%s", r->program);
    if (r->follow[0])
        add(text, " follow=%s", r->follow);
    if (class)
        add(text, " class=%s", class);
    if (r->profiled)
        add(text, " rho=%.3g best_cores=%zu profiled=%.2f", r->rho,
            record_best_cores(r), r->profiled_share);
    if (r->work_s > 0)
        add(text, " work_s=%.2f", r->work_s);
    if (r->done_s > 0)
        add(text, " done_s=%.2f", r->done_s);
    if (r->total.steps > 0)
        add(text, " steps=%.0f", r->total.steps);
    if (r->total.threads)
        add(text, " threads=%zu", r->total.threads);
    if (ults)
        add(text, " ults=%zu", ults);
    if (!isnan(alone_s))
        add(text, " alone_s=%.2f alone_share=%.2f", alone_s,
            fmin(1, r->alone_s / live_s(r)));
    if (r->hot[0])
        add(text, " hot=%s", r->hot);
}

void record_format(const struct record *r, const char *state,
                   char text[RECORD_TEXT_MAX])
{
    double live = live_s(r);
    char partners[RECORD_PARTNERS * 11 + 2] = "";
    size_t used = 0;

    for (size_t i = 0; i < r->partners; i++)
        used += (size_t)snprintf(partners + used, sizeof(partners) - used,
                                 "%s%u", i ? "," : "", r->partner[i]);
    snprintf(text, RECORD_TEXT_MAX,
             "cosched/1 state=%s policy=%s mean_cores=%.2f final_cores=%zu "
             "regions=%zu parallel_s=%.2f core_s=%.2f partners=%s "
             "decisions=%llu attached=%d",
             state, r->policy, live > 0 ? r->core_s / live : 0.0,
             r->final_cores, r->total.regions, r->parallel_s, r->core_s,
             r->partners ? partners : "-", (unsigned long long)r->decisions,
             r->attached);
    if (r->unseen)
        add(text, " started=0");
    if (r->energy_j > 0)
        add(text, " energy_j=%.1f", r->energy_j);
    add_character(r, text);
}
