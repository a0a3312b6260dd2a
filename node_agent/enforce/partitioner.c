/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Limits what jobs fill of shared caches, where the administrator wants it. */

#include "node_agent/enforce/partitioner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/cache.h"
#include "node_agent/counters/perf_sysfs.h"
#include "node_agent/counters/resctrl_control.h"
#include "common/log.h"
#include "node_agent/core/plan.h"
#include "node_agent/enforce/tally.h"
#include "common/cpulist.h"

/* A job that is followed. */
struct part {
    uint32_t job;
    bool seen; /* in the present look */
    struct cache_use *use;       /* [nodes] */
    struct cache_share *share;   /* [nodes] */
    struct cache_memory *memory; /* [nodes] */
    struct part *next;
};

struct partitioner {
    struct partitioner_parts p;
    struct counters_setup setup; /* the agent's, with resctrl's place */
    char place[256];
    struct resctrl_source source; /* tells the warden */
    unsigned rules;               /* that apply */
    struct resctrl_control *control; /* NULL: is off */
    struct cache_node *node;      /* [nodes] */
    size_t nodes;
    struct part *parts;
    uint64_t looked_ns;
    int failure; /* errno of what was last said to have failed; 0: all is well */
    char problem[768];
    char *counters; /* as last told */
};

/* ---- groups, with the warden's knowledge --------------------------------- */

static int make_group(void *arg, const char *path)
{
    struct partitioner *p = arg;
    const struct resctrl_source *below =
        p->p.source ? p->p.source : &resctrl_kernel;

    if (p->p.warden && warden_narrowed(p->p.warden, path) < 0)
        return -1;
    return below->make(below->arg, path);
}

static int remove_group(void *arg, const char *path)
{
    struct partitioner *p = arg;
    const struct resctrl_source *below =
        p->p.source ? p->p.source : &resctrl_kernel;
    int rc = below->remove(below->arg, path);

    if (p->p.warden)
        warden_restored(p->p.warden, path);
    return rc;
}

/* ---- what there is ------------------------------------------------------- */

/* Bytes of the LLC of CPU, as sysfs has it ("30720K"); NAN. */
static double llc_bytes(const char *sysfs, int cpu)
{
    char file[96], text[32], *end;

    snprintf(file, sizeof(file), "devices/system/cpu/cpu%d/cache/index3/size",
             cpu);
    if (perf_sysfs_line(sysfs, file, text, sizeof(text)) < 0)
        return NAN;
    double size = strtod(text, &end);
    return size > 0 && *end == 'K'   ? size * 1024
           : size > 0 && *end == 'M' ? size * 1024 * 1024
                                     : NAN;
}

/* Sizes of caches, and what the memory near each CPU node serves: its part where
 * several have the same. */
static void describe_nodes(struct partitioner *p)
{
    const struct machine *m = topology_machine(p->p.topology);

    for (size_t i = 0; i < p->nodes; i++) {
        size_t alike = 0;
        p->node[i] = (struct cache_node){NAN, NAN};
        for (size_t c = 0; c < m->cpus && isnan(p->node[i].llc_bytes); c++)
            if (m->cpu_node[c] == (int)i)
                p->node[i].llc_bytes = llc_bytes(p->setup.sysfs, (int)c);
        for (size_t k = 0; k < p->nodes; k++)
            alike += m->home[k] == m->home[i];
        if (p->setup.calibrated)
            p->node[i].capacity =
                1 / (m->controller_service_us[m->home[i]] * (double)alike);
    }
}

/* ---- parts --------------------------------------------------------------- */

static void free_part(struct part *part)
{
    free(part->use);
    free(part->share);
    free(part->memory);
    free(part);
}

static struct part *find_part(const struct partitioner *p, uint32_t job)
{
    struct part *part = p->parts;

    while (part && part->job != job)
        part = part->next;
    return part;
}

static struct part *add_part(struct partitioner *p, uint32_t job)
{
    struct part *part = calloc(1, sizeof(*part));

    if (!part)
        return NULL;
    part->job = job;
    part->use = calloc(p->nodes, sizeof(*part->use));
    part->share = calloc(p->nodes, sizeof(*part->share));
    part->memory = calloc(p->nodes, sizeof(*part->memory));
    if (!part->use || !part->share || !part->memory) {
        free_part(part);
        return NULL;
    }
    for (size_t i = 0; i < p->nodes; i++)
        part->share[i] = cache_unlimited;
    part->next = p->parts;
    return p->parts = part;
}

/* Forget the jobs that this look has not seen. */
static void forget_parts(struct partitioner *p)
{
    for (struct part **link = &p->parts; *link;) {
        struct part *part = *link;
        if (part->seen) {
            part->seen = false;
            link = &part->next;
            continue;
        }
        *link = part->next;
        free_part(part);
    }
}

static bool is_limited(const struct partitioner *p, const struct part *part)
{
    for (size_t i = 0; i < p->nodes; i++)
        if (part->share[i].part < 1 || part->share[i].rate < 1)
            return true;
    return false;
}

/* ---- saying -------------------------------------------------------------- */

/* Keep TEXT beside the decisions about cores; it concerns all that run. */
static void write_down(struct partitioner *p, const char *text)
{
    struct decision d = {.wall_ns = host_wall_ns(p->p.host)};

    snprintf(d.trigger, sizeof(d.trigger), "the use of caches");
    snprintf(d.policy, sizeof(d.policy), "limits");
    snprintf(d.text, sizeof(d.text), "%s", text);
    for (const struct job *j = p->p.jobs->first; j && d.shares < DECISION_JOBS;
         j = j->next) {
        if (!job_live(j))
            continue;
        d.share[d.shares].job = j->id;
        d.share[d.shares++].cores =
            topology_count_cores(p->p.topology, &j->cpus);
    }
    decisions_add(p->p.decisions, &d);
    log_info("%s", text);
}

/* FAILURE is the errno of what failed in this look, ERR the first; 0: nothing
 * did. */
static void note_failure(struct partitioner *p, int failure,
                         const struct errtext *err)
{
    if (failure && failure != p->failure) {
        log_warn("%s", err->text);
        write_down(p, err->text);
    } else if (!failure && p->failure) {
        log_notice("resctrl: limits are in effect again");
    }
    p->failure = failure;
}

/* ---- looking ------------------------------------------------------------- */

/* Cores that JOB has on each CPU node. */
static void count_cores(const struct partitioner *p, const struct job *job,
                        size_t *count)
{
    const struct machine *m = topology_machine(p->p.topology);
    struct cosched_cpuset cores;

    memset(count, 0, p->nodes * sizeof(*count));
    topology_cores(p->p.topology, &job->cpus, &cores);
    for (int c = -1; (c = cpuset_next(&cores, c)) >= 0;)
        if ((size_t)c < m->cpus && m->cpu_node[c] >= 0)
            count[m->cpu_node[c]]++;
}

/* The jobs with their parts, in JOBS and OUT.  How many. */
static size_t collect(struct partitioner *p, struct job **jobs,
                      struct cache_job *out)
{
    size_t count = 0, now[p->nodes];

    for (struct job *j = p->p.jobs->first; j; j = j->next) {
        if (!job_live(j)) {
            j->limited = false; /* its group has gone with it */
            continue;
        }
        struct part *part = find_part(p, j->id);
        if (!part && !(part = add_part(p, j->id)))
            continue;
        if (!j->tally && !(j->tally = tally_new(p->nodes)))
            continue;
        part->seen = true;
        count_cores(p, j, now);
        tally_take(j->tally, now, part->use);
        jobs[count] = j;
        out[count++] = (struct cache_job){.id = j->id,
                                          .weight = plan_weight(j),
                                          .use = part->use,
                                          .share = part->share,
                                          .memory = part->memory};
    }
    return count;
}

/* Bring the kernel to what the parts say. */
static void carry_out(struct partitioner *p, struct job **jobs,
                      const struct cache_job *parts, size_t count)
{
    struct errtext err = {""};
    int failure = 0;
    bool news = false;

    for (size_t i = 0; i < count; i++) {
        struct job *j = jobs[i];
        bool had = resctrl_control_has(p->control, j->id);
        if (resctrl_control_set(p->control, j->id, &j->cpus, parts[i].share,
                                failure ? NULL : &err) < 0 &&
            !failure)
            failure = errno ? errno : EIO;
        bool has = resctrl_control_has(p->control, j->id);
        news |= has != had;
        j->limited = has && is_limited(p, find_part(p, j->id));
    }
    note_failure(p, failure, &err);
    if (news && p->p.observer) /* other groups count for them from now on */
        observer_reassign(p->p.observer, p->p.jobs);
}

static void look(struct partitioner *p)
{
    size_t room = p->p.jobs->count ? p->p.jobs->count : 1;
    struct cache_job parts[room];
    struct job *jobs[room];
    char text[DECISION_TEXT];
    unsigned rules = p->rules;
    size_t count = collect(p, jobs, parts);

    forget_parts(p);
    for (size_t i = 0; i < count; i++)
        if (jobs[i]->shared)
            rules = 0;
    if (cache_decide(p->node, p->nodes, rules, parts, count, text,
                     sizeof(text)))
        write_down(p, text);
    carry_out(p, jobs, parts, count);
}

/* CPUs have changed hands: the groups follow before the counters do. */
static void follow(void *arg, struct counters_job *jobs, size_t count)
{
    struct partitioner *p = arg;
    struct errtext err = {""};

    if (resctrl_control_assign(p->control, jobs, count, &err) < 0)
        note_failure(p, errno, &err);
    for (size_t i = 0; i < count; i++)
        jobs[i].controlled = resctrl_control_has(p->control, jobs[i].id);
}

/* ---- on and off ---------------------------------------------------------- */

static void stop(struct partitioner *p)
{
    if (p->p.observer)
        observer_follow(p->p.observer, NULL, NULL);
    resctrl_control_free(p->control);
    p->control = NULL;
    p->failure = 0;
    forget_parts(p); /* none is seen now */
    for (struct job *j = p->p.jobs->first; j; j = j->next) {
        j->limited = false;
        free(j->tally);
        j->tally = NULL;
    }
    if (p->p.observer)
        observer_reassign(p->p.observer, p->p.jobs);
}

static void start(struct partitioner *p, struct errtext *err)
{
    p->looked_ns = host_now_ns(p->p.host);
    p->control = resctrl_control_new(&p->setup, &p->source, err);
    if (!p->control)
        return;
    describe_nodes(p);
    if (p->p.observer)
        observer_follow(p->p.observer, follow, p);
}

/* resctrl is where the counters are, if these are "resctrl:DIRECTORY". */
static void set_place(struct partitioner *p)
{
    static const char with_place[] = "resctrl:";
    size_t length = sizeof(with_place) - 1;

    p->setup = *p->p.setup;
    snprintf(p->place, sizeof(p->place), "%s",
             strncmp(p->counters, with_place, length) ? ""
                                                      : p->counters + length);
    p->setup.argument = p->place;
}

/* Add to TEXT, of SIZE bytes, that OPTION is set in vain and WHY. */
static void complain(char *text, size_t size, const char *option,
                     const char *why)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, "%s%s: %s", used ? "; " : "", option,
             why);
}

/* Which of the rules WANTED can be applied; PROBLEM says why not others.  WHY
 * there is no control. */
static unsigned possible(const struct partitioner *p, unsigned wanted,
                         const char *why, char *problem, size_t size)
{
    const struct resctrl_info *info =
        p->control ? resctrl_control_info(p->control) : NULL;
    const char *no_cache =
        !info ? why
        : !info->cache.domains ? "resctrl: this CPU does not divide its caches"
                               : NULL;
    const char *no_cap =
        !info ? why
        : !info->bandwidth.domains ? "resctrl: this CPU limits no bandwidth"
        : !p->setup.calibrated     ? "what the memory can serve is not known "
                                     "(coschedctl calibrate)"
                                   : NULL;
    problem[0] = '\0';
    if (wanted & CACHE_CONFINE && no_cache)
        complain(problem, size, "cosched_cache=confine", no_cache);
    if (wanted & CACHE_CAP && no_cap)
        complain(problem, size, "cosched_bandwidth=cap", no_cap);
    return wanted & ((no_cache ? 0u : CACHE_CONFINE) | (no_cap ? 0u : CACHE_CAP));
}

static void configure(struct partitioner *p)
{
    const struct node_options *o = p->p.options;
    unsigned wanted = (o->cache ? CACHE_CONFINE : 0u) |
                      (o->bandwidth ? CACHE_CAP : 0u);
    char problem[sizeof(p->problem)];
    struct errtext err = {""};

    if (wanted && !p->control) {
        set_place(p);
        start(p, &err);
    }
    p->rules = possible(p, wanted, err.text, problem, sizeof(problem));
    if (!p->rules && p->control)
        stop(p);
    if (problem[0] && strcmp(problem, p->problem))
        log_error("%s; nothing is limited by that", problem);
    strcpy(p->problem, problem);
}

void partitioner_epoch(struct partitioner *p)
{
    if (!p->control && !p->problem[0])
        return; /* is off */
    uint64_t now_ns = host_now_ns(p->p.host);
    if (now_ns - p->looked_ns <
        (p->control ? PARTITIONER_LOOK_NS : PARTITIONER_RETRY_NS))
        return;
    p->looked_ns = now_ns;
    if (p->control)
        look(p);
    else
        configure(p);
}

void partitioner_configure(struct partitioner *p, const char *counters)
{
    char *copy = strdup(counters);

    if (copy) {
        free(p->counters);
        p->counters = copy;
    }
    configure(p);
}

struct partitioner *partitioner_new(const struct partitioner_parts *parts,
                                    const char *counters)
{
    struct partitioner *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->p = *parts;
    p->nodes = topology_machine(parts->topology)->cpu_nodes;
    p->source = (struct resctrl_source){make_group, remove_group, p};
    p->node = calloc(p->nodes, sizeof(*p->node));
    p->counters = strdup(counters);
    if (!p->node || !p->counters) {
        partitioner_free(p);
        return NULL;
    }
    set_place(p);
    resctrl_control_sweep(&p->setup, &p->source);
    configure(p);
    return p;
}

const char *partitioner_problem(const struct partitioner *p)
{
    return p->problem;
}

json_t *partitioner_json(const struct partitioner *p, const struct job *job)
{
    const struct part *part = job->limited ? find_part(p, job->id) : NULL;
    json_t *list = part ? json_array() : json_null();

    for (size_t i = 0; part && i < p->nodes; i++) {
        const struct cache_share *s = &part->share[i];
        if (s->part < 1 || s->rate < 1)
            json_array_append_new(
                list, json_pack("{s:I, s:f, s:f}", "cpu_node", (json_int_t)i,
                                "cache", s->part, "bandwidth", s->rate));
    }
    return list;
}

void partitioner_free(struct partitioner *p)
{
    if (!p)
        return;
    int saved = errno;
    resctrl_control_free(p->control);
    for (struct part *part = p->parts; part; part = part->next)
        part->seen = false;
    forget_parts(p);
    free(p->node);
    free(p->counters);
    free(p);
    errno = saved;
}
