/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Replies that describe the agent and its jobs (protocol/replies.md). */

#include "config.h"

#include "node_agent/daemon/replies.h"

#include <math.h>
#include <unistd.h>

#include "common/clock.h"
#include "node_agent/core/plan.h"
#include "node_agent/core/process.h"
#include "node_agent/core/standing.h"
#include "node_agent/counters/probe.h"
#include "node_agent/recording/recording.h"
#include "protocol/cpulist.h"
#include "protocol/near_share.h"

/* A process of JOB that has been in REGION, or 0. */
static pid_t process_of(const struct job *job, const struct region *region)
{
    for (const struct process *p = job->processes; p; p = p->next)
        for (uint32_t i = 0; !p->bad && i < p->view->used; i++)
            if (p->view->regions[i].object_id == region->object_id &&
                p->view->regions[i].offset == region->offset)
                return p->pid;
    return 0;
}

/* What is known of the present region, or null.  Whoever MAY_LOOK is told of a process, whose
 * program has its name. */
static json_t *region_json(const struct job *job, bool may_look)
{
    const struct region *s = job->region;
    char name[REGION_NAME_MAX];

    if (!s)
        return json_null();
    json_t *object = json_pack("{s:s, s:s}", "region", region_name(s, name),
                               "state", region_knowledge(s));
    if (may_look && !s->folded)
        json_object_set_new(object, "pid", json_integer(process_of(job, s)));
    if (s->profile) {
        json_object_set_new(object, "rho", json_real(s->fit.rho));
        json_object_set_new(object, "rho_low", json_real(s->fit.low));
        json_object_set_new(object, "rho_high",
                            isfinite(s->fit.high) ? json_real(s->fit.high)
                                                  : json_null());
        json_object_set_new(object, "compute_bound",
                            json_boolean(s->fit.compute_bound));
    }
    return object;
}

static size_t count_attached(const struct job *job)
{
    size_t n = 0;

    for (const struct process *p = job->processes; p; p = p->next)
        n++;
    return n;
}

static json_t *partners_json(const struct record *record)
{
    json_t *array = json_array();
    size_t count = record->partners < RECORD_PARTNERS ? record->partners
                                                      : RECORD_PARTNERS;

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_integer(record->partner[i]));
    return array;
}

/* What earlier runs tell, or null. */
static json_t *history_json(const struct job *job)
{
    const struct history *h = &job->history;

    if (!h->known)
        return json_null();
    return json_pack("{s:I, s:s, s:f, s:o, s:s?}", "runs",
                     (json_int_t)h->runs, "program", h->program, "expected_s",
                     job->expected_s, "alone_s",
                     isnan(h->alone_s) ? json_null() : json_real(h->alone_s),
                     "dropped", h->dropped);
}

/* A process, and why it follows or does not. */
static json_t *finding_json(pid_t pid, const char *program,
                            const struct follow_finding *f)
{
    char sentence[FOLLOW_TEXT_MAX], advice[FOLLOW_TEXT_MAX];

    return json_pack("{s:I, s:s, s:s, s:b, s:b, s:s, s:s, s:s}", "pid",
                     (json_int_t)pid, "program", program, "word",
                     follow_word(f->word), "malleable",
                     (int)follow_is_malleable(f->word), "probably",
                     (int)f->probably, "detail", f->detail, "sentence",
                     follow_sentence(f, sentence), "advice",
                     follow_advice(f, advice));
}

/* The same of what stands for JOB, or null: of an attached process, that with kernel threads first;
 * else of the one that used most CPU time. */
static json_t *follow_json(const struct job *job)
{
    const struct process *best = NULL;
    size_t count;
    const struct follow_process *found = looks_found(job, &count);

    for (const struct process *p = job->processes; p; p = p->next)
        if (!p->bad && (!best || p->follow.word > best->follow.word))
            best = p;
    if (best)
        return finding_json(best->pid, best->program, &best->follow);
    return count && !job->cooperative
               ? finding_json(found->pid, found->program, &found->finding)
               : json_null();
}

/* True when PEER may hear what a job of its user has loaded. */
bool reply_may_look(const struct peer *peer, const struct job *job)
{
    return peer->uid == job->uid || peer->uid == 0 || peer->uid == getuid();
}

/* VALUE to four digits after the point, or null. */
static json_t *figure(double value)
{
    return isfinite(value) ? json_real(round(value * 1e4) / 1e4) : json_null();
}

/* What JOB has done so far, and how fast it is. */
static void add_standing(json_t *object, const struct job *job, const struct topology *topology)
{
    const struct record *r = &job->record;
    struct standing s;

    standing_of(job, topology, &s);
    json_object_set_new(object, "progress",
                        json_pack("{s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:I}", "work_s",
                                  figure(r->work_s), "cpu_s", figure(r->cpu_s), "alone_s",
                                  figure(r->done_s), "ahead_s", figure(r->ahead_s), "granted",
                                  (json_int_t)topology_count_cores(topology, &job->granted),
                                  "steps", figure(r->total.steps), "barriers",
                                  figure(r->total.barriers), "moves", (json_int_t)r->moves));
    json_object_set_new(object, "speed",
                        json_pack("{s:o, s:o, s:s?}", "predicted", figure(s.predicted),
                                  "measured", figure(s.measured), "limit", s.limit));
}

bool reply_may_see(const struct agent *a, const struct peer *peer, uid_t uid)
{
    return peer->uid == uid || reply_may_see_all(a, peer);
}

bool reply_may_see_all(const struct agent *a, const struct peer *peer)
{
    return !a->private_jobs || peer->uid == 0 || peer->uid == getuid() ||
           peer->uid == a->slurm_user;
}

static json_t *job_json(const struct agent *a, const struct peer *peer,
                        const struct job *job)
{
    char cpus[4096], granted[4096];
    double live_s = (double)job->record.live_ns * 1e-9;

    json_t *object = json_pack(
        "{s:I, s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:f, s:I, s:f}",
        "job",
        (json_int_t)job->id, "uid", (json_int_t)job->uid, "name", job->name,
        "state", job_state_name(job_state(job)), "cpus",
        cpulist_format(&job->cpus, cpus, sizeof(cpus)), "granted",
        cpulist_format(&job->granted, granted, sizeof(granted)), "cores",
        (json_int_t)topology_count_cores(a->topology, &job->cpus), "attached",
        (json_int_t)count_attached(job), "region",
        region_json(job, reply_may_look(peer, job)),
        "partners", partners_json(&job->record), "mean_cores",
        live_s > 0 ? job->record.core_s / live_s : 0.0,
        "decisions", (json_int_t)job->record.decisions, "live_s", live_s);
    json_object_set_new(object, "weight", json_real(plan_weight(job)));
    json_object_set_new(object, "history", history_json(job));
    /* Of pages that move with its cores; others are never told. */
    json_object_set_new(object, "near", job->interleaved && job->near_share
                                            ? json_real(cosched_near_share(job->near_share))
                                            : json_null());
    /* Nothing of it ever followed the allotment by itself. */
    json_object_set_new(object, "held",
                        json_boolean(job->held && !job->cooperative));
    json_object_set_new(object, "follow",
                        reply_may_look(peer, job) ? follow_json(job) : json_null());
    add_standing(object, job, a->topology);
    if (object && job->record.energy_j > 0)
        json_object_set_new(object, "energy_j",
                            json_real(job->record.energy_j));
    return object;
}

/* What a list may take of a packet, beside a small rest. */
#define LIST_MOST (MESSAGE_MAX - 12288)

/* Append ENTRY, which is taken, to LIST of *USED bytes.  False when there is no room for it. */
static bool append(json_t *list, size_t *used, json_t *entry)
{
    size_t size = json_dumpb(entry, NULL, 0, JSON_COMPACT) + 1;

    if (*used + size > LIST_MOST) {
        json_decref(entry);
        return false;
    }
    *used += size;
    return json_array_append_new(list, entry) == 0;
}

/* Why, by whom and since when sharing is drained, or null. */
static json_t *drained_json(const struct agent *a)
{
    const struct node_state *n = &a->node;

    return n->drained ? json_pack("{s:s, s:I, s:f}", "reason", n->drained,
                                  "uid", (json_int_t)n->drained_uid, "since",
                                  (double)n->drained_wall_ns * 1e-9)
                      : json_null();
}

/* Of more controllers and links nothing is said: that would fill the packet. */
#define LOADS_MOST 192

/* How much of the node the jobs use, by the model, or null. */
static json_t *load_json(const struct agent *a)
{
    const struct machine *m = topology_machine(a->topology);
    double load[LOADS_MOST], computing;
    json_t *list[2] = {json_array(), json_array()};

    if (m->numa_nodes + m->links > LOADS_MOST ||
        !standing_load(&a->jobs, a->topology, load, &computing)) {
        json_decref(list[0]);
        json_decref(list[1]);
        return json_null();
    }
    for (size_t i = 0; i < m->numa_nodes + m->links; i++)
        json_array_append_new(list[i >= m->numa_nodes], figure(load[i]));
    return json_pack("{s:o, s:o, s:o}", "cores", figure(computing), "controllers", list[0],
                     "links", list[1]);
}

/* What has happened since the agent's start. */
static json_t *totals_json(const struct agent *a)
{
    const struct scheduler_totals *t = scheduler_totals(a->scheduler);
    struct timespec cpu;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:f}", "epochs",
                     (json_int_t)a->epochs, "late", (json_int_t)a->late, "decisions",
                     (json_int_t)t->decisions, "plans", (json_int_t)t->plans, "plan_s",
                     (double)t->plan_ns * 1e-9, "plan_max_s", (double)t->plan_max_ns * 1e-9,
                     "moves", (json_int_t)t->moves, "records", (json_int_t)a->pending.count,
                     "cpu_s", (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9);
}

json_t *reply_status(const struct agent *a, const struct peer *peer,
                            uint32_t job)
{
    char cpus[4096];
    json_t *jobs = json_array();
    size_t used = 0, omitted = 0;

    for (const struct job *j = a->jobs.first; j; j = j->next)
        if ((!job || j->id == job) && reply_may_see(a, peer, j->uid))
            omitted += omitted || !append(jobs, &used, job_json(a, peer, j));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:I, s:o}", "node", a->settings->node, "policy",
        a->options.policy, "counters", counters_name(a->counters), "cpus",
        cpulist_format(topology_cpus(a->topology), cpus, sizeof(cpus)), "cores",
        (json_int_t)topology_count_cores(a->topology, topology_cpus(a->topology)), "load",
        job ? json_null() : load_json(a), "totals", totals_json(a),
        "drained", drained_json(a), "omitted", (json_int_t)omitted, "jobs",
        jobs);
}

json_t *reply_explain(const struct agent *a, const struct peer *peer,
                      uint32_t job)
{
    json_t *decisions = reply_may_see_all(a, peer)
                            ? decisions_json(a->decisions, job, LIST_MOST)
                            : json_array();

    return json_pack("{s:s, s:o}", "node", a->settings->node, "decisions",
                     decisions);
}

/* One member for each option: as typed, and where it is from. */
static json_t *origins_json(const struct agent *a)
{
    json_t *list = json_array();
    char value[OPTIONS_TEXT_MAX], from[96];

    for (size_t i = 0; i < node_option_count(); i++) {
        const char *text =
            node_option_value(&a->options, i, value, sizeof(value));
        node_config_origin(&a->config, i, from, sizeof(from));
        if (i == node_option_find("counters") && a->settings->counters[0]) {
            text = a->settings->counters;
            snprintf(from, sizeof(from), "command line");
        }
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name",
                                              node_option_name(i), "value",
                                              text, "from", from));
    }
    return list;
}

/* The cores behind each last-level cache, by their first CPUs, and the NUMA node that is near. */
static json_t *domains_json(const struct agent *a)
{
    const struct machine *m = topology_machine(a->topology);
    json_t *list = json_array();
    char cores[4096];

    for (size_t d = 0; d < m->llc_domains; d++) {
        struct cosched_cpuset set = {{0}};
        for (size_t c = 0; c < m->cpus && c < COSCHED_MAX_CPUS; c++)
            if (m->llc_domain[c] == (int)d)
                cpuset_add(&set, (int)c);
        json_array_append_new(list, json_pack("{s:i, s:s}", "node", m->local_node[d], "cores",
                                              cpulist_format(&set, cores, sizeof(cores))));
    }
    return list;
}

json_t *reply_config(const struct agent *a)
{
    const struct node_options *o = &a->options;

    return json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, "
                     "s:s, s:s, s:s, s:o}",
                     "policy", o->policy, "policy_options", o->policy_options,
                     "probe_percent", o->probe_percent,
                     "epoch_ns", (json_int_t)o->epoch_ns, "profile_ns",
                     (json_int_t)o->profile_ns, "clean_ns",
                     (json_int_t)o->clean_ns, "min_region_ns",
                     (json_int_t)o->min_region_ns, "attach_timeout_ns",
                     (json_int_t)o->attach_ns, "slice_ns",
                     (json_int_t)o->slice_ns, "lease_ns",
                     (json_int_t)o->lease_ns, "forget_ns",
                     (json_int_t)o->forget_ns, "options", origins_json(a),
                     "partitions", a->config.partitions, "problems",
                     a->config.problems.text, "enforcement",
                     options_enforcements[o->enforcement], "domains", domains_json(a));
}

json_t *reply_ping(const struct agent *a)
{
    json_t *problems = json_array();
    const char *unsupervised = supervisor_problem(a->supervisor);

    if (*unsupervised)
        json_array_append_new(problems,
                              json_sprintf("%s: nothing is stopped or pinned",
                                           unsupervised));
    if (a->save_error[0])
        json_array_append_new(problems, json_sprintf("cannot keep the state: %s",
                                                     a->save_error));
    if (a->slurm_absent[0])
        json_array_append_new(problems,
                              json_sprintf("slurmctld does not answer: %s",
                                           a->slurm_absent));
    if (a->records_trouble[0])
        json_array_append_new(problems, json_sprintf("records: %s", a->records_trouble));
    if ((a->slurm && !slurm_link_alive(a->slurm)) ||
        (a->records && !slurm_link_alive(a->records)))
        json_array_append_new(problems, json_sprintf("%s does not run",
                                                     a->settings->helper));
    if (a->config.problems.count)
        json_array_append_new(problems,
                              json_sprintf("SchedulerParameters: %s",
                                           a->config.problems.text));
    return json_pack("{s:s, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:o, s:o}",
                     "version", PACKAGE_VERSION, "pid", (json_int_t)getpid(),
                     "node", a->settings->node, "jobs",
                     (json_int_t)a->jobs.count, "epochs",
                     (json_int_t)a->epochs, "epochs_missed",
                     (json_int_t)a->epochs_missed, "epochs_overrun",
                     (json_int_t)a->epochs_overrun, "decisions",
                     (json_int_t)scheduler_totals(a->scheduler)->decisions, "oldest",
                     MESSAGE_VERSION_OLDEST, "newest", MESSAGE_VERSION,
                     "revision", MESSAGE_REVISION, "layout",
                     COSCHED_LAYOUT_VERSION, "drained", drained_json(a),
                     "problems", problems);
}

json_t *reply_counters(const struct agent *a)
{
    json_t *metrics = counters_metrics_json(a->counters);
    json_t *recording = recorder_active(a->recorder)
                            ? json_string(recorder_dir(a->recorder))
                            : json_null();

    return json_pack("{s:s, s:b, s:o, s:o}", "counters",
                     counters_names(a->counters), "calibrated",
                     (int)a->setup.calibrated, "recording", recording,
                     "metrics", metrics);
}

/* Why the processes of a job follow or do not.  A look takes a while, in which "pending" says to
 * ask again. */
json_t *reply_why(struct agent *a, struct job *job)
{
    uint64_t now_ns = clock_ns();

    /* While sharing is drained nobody else looks which processes there are. */
    enforcer_scan(a->enforcer, &a->jobs, false, now_ns);
    bool pending = looks_ask(a->looks, job, now_ns);
    json_t *processes = json_array();
    size_t count, used = 0, omitted = 0;
    const struct follow_process *found = looks_found(job, &count);

    for (const struct process *p = job->processes; p; p = p->next)
        omitted += omitted || !append(processes, &used,
                                      finding_json(p->pid, p->program, &p->follow));
    for (size_t i = 0; i < count; i++) {
        const struct process *p = job->processes;
        while (p && p->pid != found[i].pid)
            p = p->next;
        if (!p)
            omitted += omitted || !append(processes, &used,
                                          finding_json(found[i].pid, found[i].program,
                                                       &found[i].finding));
    }
    return json_pack("{s:I, s:b, s:I, s:o}", "job", (json_int_t)job->id, "pending",
                     (int)pending, "omitted", (json_int_t)omitted, "processes", processes);
}
