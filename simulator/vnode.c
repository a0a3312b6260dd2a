/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A simulated node: simulated jobs under the agent's own scheduler. */

#include "simulator/vnode.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/clock.h"
#include "node_agent/core/journal.h"
#include "node_agent/core/thread_map.h"
#include "node_agent/recording/recording.h"
#include "protocol/cpulist.h"
#include "simulator/virtual_host.h"
#include "simulator/vnode_private.h"

/* Nobody computes for so long: nobody ever will. */
#define STUCK_NS (60 * NS_PER_S)

/* That a thread with data of its own is seen to touch in an epoch. */
#define THREAD_PAGES 16

void vnode_config_init(struct vnode_config *config,
                       const struct machine *machine,
                       const struct scenario *scenario)
{
    *config = (struct vnode_config){.machine = machine,
                                    .scenario = scenario,
                                    .counters = "virtual",
                                    .network = NETWORK_SCHWEITZER,
                                    .wait = TIMESHARE_DEFAULT,
                                    .seed = 1,
                                    .limit_s = 1e6};
    node_options_init(&config->options);
}

/* ---- results ------------------------------------------------------------- */

void vnode_result_free(struct vnode_result *r)
{
    if (!r)
        return;
    int saved = errno;
    if (r->trace_fd >= 0)
        close(r->trace_fd);
    json_decref(r->log);
    free(r->job);
    free(r->utilisation);
    free(r->change);
    free(r);
    errno = saved;
}

/* An empty one for C, or NULL. */
static struct vnode_result *result_new(const struct vnode_config *c)
{
    struct vnode_result *r = calloc(1, sizeof(*r));
    const struct machine *m = c->machine;

    if (!r)
        return NULL;
    r->trace_fd = -1;
    r->scenario = c->scenario;
    memcpy(r->policy, c->options.policy, sizeof(r->policy));
    r->cpus = m->cpus;
    r->controllers = m->numa_nodes;
    r->links = m->links;
    r->job = calloc(c->scenario->jobs, sizeof(*r->job));
    r->utilisation = calloc(m->numa_nodes + m->links, sizeof(*r->utilisation));
    if (!r->job || !r->utilisation) {
        vnode_result_free(r);
        return NULL;
    }
    return r;
}

static double seconds(uint64_t ns)
{
    return (double)(ns - VIRTUAL_BEGIN_NS) * 1e-9;
}

/* Write down who has which CPUs now, where that has changed.  -1: out of
 * memory. */
static int result_changed(struct vnode *n)
{
    static const struct cosched_cpuset none;
    struct vnode_result *r = n->result;

    for (size_t j = 0; j < n->jobs; j++) {
        struct vjob *v = &n->job[j];
        const struct cosched_cpuset *now = v->job ? &v->job->cpus : &none;
        struct cosched_cpuset fresh = *now;
        if (cpuset_equal(now, &n->before[j]))
            continue;
        if (r->changes == n->room) {
            size_t room = n->room ? 2 * n->room : 64;
            void *grown = realloc(r->change, room * sizeof(*r->change));
            if (!grown)
                return -1;
            r->change = grown;
            n->room = room;
        }
        cpuset_andnot(&fresh, &n->before[j]);
        r->moved_cpus += (size_t)cpuset_count(&fresh);
        n->before[j] = *now;
        r->change[r->changes++] = (struct vnode_change){
            seconds(host_now_ns(n->host)), j, *now};
    }
    return 0;
}

/* All jobs are done: fill in the rest.  -1 with errno and ERR. */
static int result_finish(struct vnode *n, struct errtext *err)
{
    struct vnode_result *r = n->result;
    double first = INFINITY, last = 0, busy = 0, work = 0;

    for (size_t j = 0; j < n->jobs; j++) {
        const struct vjob *v = &n->job[j];
        r->job[j] = (struct vnode_job){
            .name = v->what->name,
            .arrival_s = seconds(v->arrival_ns),
            .end_s = seconds(v->end_ns),
            .turnaround_s = (double)(v->end_ns - v->arrival_ns) * 1e-9,
            .core_s = v->core_s,
            .busy_s = v->busy_s,
            .work_s = v->work_s,
            .record = {v->done_s, v->ults},
            .moves = v->changes,
        };
        first = fmin(first, r->job[j].arrival_s);
        last = fmax(last, r->job[j].end_s);
        busy += v->busy_s;
        work += v->work_s;
    }
    r->makespan_s = last - first;
    r->cores = n->node.cores;
    r->core_util = busy / ((double)r->cores * r->makespan_s);
    r->compute_util = work / ((double)r->cores * r->makespan_s);
    for (size_t i = 0; i < r->controllers + r->links; i++)
        r->utilisation[i] = n->util_s[i] / r->makespan_s;
    r->decisions = decisions_count(n->decisions);
    if (r->decisions)
        r->decide_mean_us /= (double)r->decisions;
    r->log = decisions_json(n->decisions, 0, 0);
    r->solved = virtual_memory_solved(n->rates.memory);
    r->asked = virtual_memory_asked(n->rates.memory);
    r->trace_end_ns = host_now_ns(n->host);
    r->trace_fd = fcntl(trace_fd(n->trace), F_DUPFD_CLOEXEC, 0);
    return r->log && r->trace_fd >= 0 ? 0 : errtext_set(err, errno, "trace: %s", strerror(errno));
}

/* ---- what the agent's request handlers do ------------------------------- */

static double real_us(void)
{
    return (double)clock_ns() * 1e-3;
}

/* A call into the scheduler began at BEGIN_US with COUNT decisions: how long
 * did it think? */
static void note_time(struct vnode *n, double begin_us, size_t count)
{
    struct vnode_result *r = n->result;
    double us = real_us() - begin_us;

    if (decisions_count(n->decisions) == count)
        return;
    r->decide_mean_us += us; /* divided by their number at the end */
    r->decide_max_us = fmax(r->decide_max_us, us);
}

/* Threads that touched their data since the last epoch: all of those that have any. */
static void tell_threads(struct vnode *n)
{
    struct sample *s = virtual_counters_threads(n->pmu);

    for (size_t j = 0; j < n->jobs; j++) {
        const struct vjob *v = &n->job[j];
        for (size_t i = 0; vjob_by_thread(v) && !v->stopped && i < v->team; i++) {
            size_t row = sample_add_thread(
                s, &(struct sample_thread){v->tracked.pid, vjob_thread(v, i), 0});
            if (row < SAMPLE_THREADS)
                vjob_thread_asks(v, i, THREAD_PAGES, s->thread_requests + row * s->numa_nodes);
        }
    }
}

static void on_epoch(void *arg)
{
    struct vnode *n = arg;
    size_t count = decisions_count(n->decisions);

    tell_threads(n);
    double begin_us = real_us();
    scheduler_epoch(n->scheduler);
    note_time(n, begin_us, count);
    if (n->table.count)
        host_timer_start(n->host, &n->epoch, n->options.epoch_ns, on_epoch, n);
    else /* until a job comes */
        host_timer_stop(&n->epoch);
}

static void job_changed(struct vnode *n, struct job *job, const char *why)
{
    size_t count = decisions_count(n->decisions);
    double begin_us = real_us();

    if (!n->epoch)
        host_timer_start(n->host, &n->epoch, n->options.epoch_ns, on_epoch, n);
    scheduler_job_changed(n->scheduler, job, why);
    note_time(n, begin_us, count);
}

/* What job_submit.lua says of a job whose earlier runs had DONE_S each.  Where
 * that is too short for a history the agent goes on without, as always. */
static void tell_history(struct job *job, double done_s)
{
    snprintf(job->history_text, sizeof(job->history_text),
             HISTORY_TAG " runs=%d done_s=%.6f done_spread=0", HISTORY_MIN_RUNS,
             done_s);
    history_parse(&job->history, job->history_text, NULL);
}

static int announce(struct vnode *n, struct vjob *v, struct errtext *err)
{
    struct job *job = job_add(&n->table, v->id);
    char why[64];

    if (!job)
        return errtext_set(err, ENOMEM, "job %u: out of memory", v->id);
    v->job = job;
    snprintf(job->name, sizeof(job->name), "%s", v->what->name);
    job->granted = *topology_cpus(n->topology);
    job->record.granted = topology_count_cores(n->topology, &job->granted);
    job->announced_wall_ns = host_wall_ns(n->host);
    job->options.min_cores = (int)v->what->min_cores;
    if (v->what->max_cores != SCENARIO_ALL)
        job->options.max_cores = (int)v->what->max_cores;
    job->weight = v->what->weight;
    if (n->config->earlier)
        tell_history(job, n->config->earlier[v->id - 1].done_s);
    job->tracked = &v->tracked;
    if (number_map_put(&job->tracked_by_pid, (uint64_t)v->tracked.pid, &v->tracked) < 0 ||
        !job_add_task(job, 0, v->tracked.pid))
        return errtext_set(err, ENOMEM, "job %u: out of memory", v->id);
    vjob_start(v, host_now_ns(n->host));
    snprintf(why, sizeof(why), "task %d of job %u", (int)v->tracked.pid, v->id);
    job_changed(n, job, why);
    return 0;
}

static int attach(struct vnode *n, struct vjob *v, struct errtext *err)
{
    uint64_t now_ns = host_now_ns(n->host);
    char why[64];
    struct process *p = process_attach(v->job, v->tracked.pid, n->topology,
                                       n->options.lease_ns, err);

    if (!p)
        return -1;
    v->job->cooperative = true;
    v->job->record.attached = true;
    allotment_beat(p->allotment, now_ns);
    allotment_write(p->allotment, &v->job->cpus, v->job->parked, now_ns);
    if (vjob_attach(v, p, now_ns, err) < 0)
        return -1;
    snprintf(why, sizeof(why), "the attach of process %d of job %u",
             (int)v->tracked.pid, v->id);
    job_changed(n, v->job, why);
    return 0;
}

/* The process ends, then its task, then Slurm's epilog withdraws the job. */
static void end_job(struct vnode *n, struct vjob *v)
{
    struct job *job = v->job;
    char why[64];

    v->end_ns = host_now_ns(n->host);
    if (v->process) {
        struct process *p = v->process;
        process_observe(p, v->end_ns, NULL);
        job->ended.regions += p->view->used;
        vjob_detach(v);
        process_detach(p);
    }
    while (job->tasks)
        job_remove_task(job->tasks);
    snprintf(why, sizeof(why), "the end of process %d of job %u",
             (int)v->tracked.pid, v->id);
    job_changed(n, job, why);
    v->job = NULL;
    v->done_s = job->record.done_s;
    v->ults = record_ults(&job->record);
    job_remove(&n->table, job);
    cpuset_zero(&v->mask);
}

/* ---- time --------------------------------------------------------------- */

/* What the hardware counts in DT_US while load number LOAD runs. */
static void count(struct vnode *n, size_t load, double dt_us)
{
    const struct vnode_rates *r = &n->rates;
    const struct machine *m = n->config->machine;
    const struct vjob *v = r->who[load];
    const struct scenario_region *s = v->region;
    double all = s->read_per_us + s->write_per_us + s->prefetch_per_us;
    size_t on[m->llc_domains];
    struct cosched_cpuset cpus = {{0}};

    memset(on, 0, sizeof(on));
    vjob_cpus(n->rates.who[load], &cpus);
    if (s->kind == REGION_SERIAL && cpuset_has(&cpus, v->cpu)) {
        cpuset_zero(&cpus);
        cpuset_add(&cpus, v->cpu);
    }
    for (int c = -1; (c = cpuset_next(&cpus, c)) >= 0;)
        on[m->llc_domain[c]]++;
    for (size_t i = 0; i < m->llc_domains; i++) {
        double work = r->out.speed[load * m->llc_domains + i] * dt_us;
        const double *rate =
            &r->out.requests[(load * m->llc_domains + i) * m->numa_nodes];
        for (size_t k = 0; k < m->numa_nodes && all > 0; k++) {
            struct sample_memory *t = virtual_counters_traffic(n->pmu, i, k);
            t->reads += work * rate[k] * s->read_per_us / all;
            t->writes += work * rate[k] * s->write_per_us / all;
            t->prefetches += work * rate[k] * s->prefetch_per_us / all;
        }
    }
    for (int c = -1; (c = cpuset_next(&cpus, c)) >= 0;) {
        size_t i = (size_t)m->llc_domain[c];
        struct sample_cpu *to = virtual_counters_cpu(n->pmu, c);
        double part = 1 / (double)on[i];
        double busy = r->load[load].cores[i] * part * dt_us;
        double work = r->out.speed[load * m->llc_domains + i] * part * dt_us;
        const double *rate =
            &r->out.requests[(load * m->llc_domains + i) * m->numa_nodes];
        double misses = 0;
        for (size_t k = 0; k < m->numa_nodes; k++)
            misses += work * rate[k] * r->out.read_part[load];
        double local =
            work * rate[m->local_node[i]] * r->out.read_part[load];
        /* Who waits at a barrier on a core of its own spins there. */
        to->cycles += (r->alone[load] ? dt_us : busy) * VIRTUAL_CYCLES_PER_US;
        to->stalled += (busy - work) * VIRTUAL_CYCLES_PER_US;
        to->instructions += work * VIRTUAL_CYCLES_PER_US;
        to->llc_accesses += work * s->llc_per_us;
        to->local_misses += local;
        to->remote_misses += misses - local;
    }
}

static void advance(struct vnode *n, uint64_t to_ns)
{
    uint64_t from_ns = host_now_ns(n->host);
    double dt = (double)(to_ns - from_ns) * 1e-9;
    size_t stations = n->config->machine->numa_nodes + n->config->machine->links;

    if (to_ns == from_ns)
        return;
    for (size_t i = 0; i < n->rates.loads; i++)
        count(n, i, dt * 1e6);
    for (size_t i = 0; i < stations; i++)
        n->util_s[i] += n->rates.out.utilisation[i] * dt;
    for (size_t j = 0; j < n->jobs; j++) {
        struct vjob *v = &n->job[j];
        if (v->job)
            v->core_s += cpuset_count(&v->job->cpus) * dt;
        vjob_advance(v, from_ns, to_ns);
    }
    virtual_host_advance(n->host, to_ns);
}

/* ---- events ------------------------------------------------------------- */

/* What happens at the present time: 0, or -1 with errno and ERR. */
static int handle(struct vnode *n, struct errtext *err)
{
    uint64_t now_ns = host_now_ns(n->host);

    for (size_t j = 0; j < n->jobs; j++) {
        struct vjob *v = &n->job[j];
        if (!v->region) {
            if (!v->end_ns && v->arrival_ns <= now_ns && announce(n, v, err) < 0)
                return -1;
            continue;
        }
        vjob_look(v, now_ns);
        vjob_step(v, now_ns);
        if (!v->region)
            end_job(n, v);
    }
    for (size_t j = 0; j < n->jobs; j++)
        if (vjob_wants_attach(&n->job[j]) && attach(n, &n->job[j], err) < 0)
            return -1;
    while (virtual_host_call(n->host))
        continue;
    /* Who has a new allotment notices it. */
    for (size_t j = 0; j < n->jobs; j++)
        vjob_look(&n->job[j], now_ns);
    if (result_changed(n) < 0)
        return errtext_set(err, ENOMEM, "simulation: out of memory");
    return 0;
}

/* When the next thing happens. */
static uint64_t next_event(const struct vnode *n)
{
    uint64_t now_ns = host_now_ns(n->host);
    uint64_t next_ns = virtual_host_next(n->host);

    for (size_t j = 0; j < n->jobs; j++) {
        const struct vjob *v = &n->job[j];
        uint64_t t = v->region     ? vjob_next(v, now_ns)
                     : !v->end_ns ? v->arrival_ns
                                  : VIRTUAL_NEVER;
        if (t < next_ns)
            next_ns = t;
    }
    return next_ns > now_ns ? next_ns : now_ns;
}

/* All that speeds depend on. */
static uint64_t situation(struct vnode *n)
{
    uint64_t h = HASH_START;

    for (size_t j = 0; j < n->jobs; j++) {
        struct vjob *v = &n->job[j];
        struct cosched_cpuset cpus;
        vjob_cpus(v, &cpus);
        hash_word(&h, (uintptr_t)v->region);
        hash_word(&h, (uint64_t)v->cpu);
        hash_word(&h, v->local_fixed);
        hash_word(&h, v->pages.version);
        hash_word(&h, v->pages.moving);
        hash_word(&h, v->job ? thread_map_version(v->job->map) : 0);
        hash_bytes(&h, cpus.word, sizeof(cpus.word));
    }
    return h;
}

static bool all_done(const struct vnode *n)
{
    for (size_t j = 0; j < n->jobs; j++)
        if (!n->job[j].end_ns)
            return false;
    return true;
}

static bool anybody_computes(const struct vnode *n)
{
    for (size_t j = 0; j < n->jobs; j++)
        if (n->job[j].speed > 0 ||
            (!n->job[j].region && !n->job[j].end_ns))
            return true;
    return false;
}

static int run(struct vnode *n, struct errtext *err)
{
    uint64_t limit_ns = (uint64_t)(n->config->limit_s * 1e9);
    uint64_t seen = 0, active_ns = host_now_ns(n->host);

    while (!all_done(n)) {
        uint64_t now_ns = host_now_ns(n->host);
        if (handle(n, err) < 0)
            return -1;
        uint64_t fresh = situation(n);
        if (fresh != seen && vnode_rates_update(n, err) < 0)
            return -1;
        seen = fresh;
        if (anybody_computes(n))
            active_ns = now_ns;
        if (now_ns - active_ns > STUCK_NS)
            return errtext_set(err, EDEADLK, "scenario %s: at %.3f s no job has "
                               "a CPU to run on", n->config->scenario->name,
                               (double)now_ns * 1e-9);
        if (now_ns > limit_ns)
            return errtext_set(err, ETIME, "scenario %s: not done after %g s",
                               n->config->scenario->name, n->config->limit_s);
        advance(n, next_event(n));
    }
    return 0;
}

/* ---- begin and end ------------------------------------------------------ */

static int build_agent(struct vnode *n, struct errtext *err)
{
    const struct vnode_config *c = n->config;
    struct counters_setup setup;

    if (!(n->topology = topology_of_machine((struct machine *)c->machine, err)))
        return -1;
    n->node.topology = n->topology;
    n->node.cores = (size_t)cpuset_count(topology_cpus(n->topology));
    n->node.lease_ns = n->options.lease_ns;
    n->node.dynamic = strcmp(c->counters, "progress") == 0; /* or it would see no work */
    random_seed(&n->node.random, c->seed);
    if (!(n->pmu = virtual_counters_new(c->machine, c->noise,
                                        &n->node.random)))
        return errtext_set(err, ENOMEM, "simulation: out of memory");
    counters_setup_init(&setup, c->machine, topology_cpus(n->topology));
    setup.backends = virtual_counters_backends(n->pmu);
    setup.calibrated = true;
    if (!(n->counters = counters_open(c->counters, &setup, NULL, 0, err)))
        return -1;
    if (c->record &&
        (!(n->recorder = recorder_new()) ||
         journal_start(n->recorder, c->record, n->topology, n->counters,
                       &n->options, &n->table, err) < 0))
        return n->recorder ? -1 : errtext_set(err, ENOMEM,
                                              "simulation: out of memory");
    if (!(n->host = virtual_host_new()) ||
        !(n->observer = observer_new(n->counters, n->topology, n->recorder)) ||
        !(n->enforcer = enforcer_new(NULL, &n->options)) ||
        !(n->trace = trace_new()) || !(n->decisions = decisions_new()))
        return errtext_set(err, ENOMEM, "simulation: out of memory");
    observer_predict(n->observer, c->model);
    n->scheduler = scheduler_new(&(struct scheduler_parts){
        .host = n->host,
        .jobs = &n->table,
        .topology = n->topology,
        .options = &n->options,
        .observer = n->observer,
        .enforcer = n->enforcer,
        .trace = n->trace,
        .decisions = n->decisions,
        .recorder = n->recorder,
    });
    return n->scheduler ? 0
                        : errtext_set(err, ENOMEM, "simulation: out of memory");
}

static int check_threads(const struct scenario *scenario, const struct scenario_job *job,
                         size_t nodes, struct errtext *err)
{
    for (size_t i = 0; i < job->regions; i++)
        for (size_t k = 0; k < job->region[i].thread_nodes; k++)
            if (job->region[i].thread_node[k] >= nodes)
                return errtext_set(err, EINVAL,
                                   "scenario %s: job %s: thread_nodes %zu: the machine has %zu",
                                   scenario->name, job->name, job->region[i].thread_node[k], nodes);
    return 0;
}

static int build_jobs(struct vnode *n, struct errtext *err)
{
    const struct vnode_config *c = n->config;
    const struct machine *m = c->machine;
    bool stock = c->stock || strcmp(n->options.policy, "native") == 0;

    n->job = calloc(c->scenario->jobs, sizeof(*n->job));
    n->node.job = n->job;
    n->before = calloc(c->scenario->jobs, sizeof(*n->before));
    n->util_s = calloc(m->numa_nodes + m->links, sizeof(*n->util_s));
    n->params = timeshare_params(c->wait, n->node.cores);
    for (size_t j = 0; n->job && j < c->scenario->jobs; j++) {
        const struct scenario_job *what = &c->scenario->job[j];
        if (what->numa_node != SCENARIO_NO_NODE &&
            what->numa_node >= m->numa_nodes)
            return errtext_set(err, EINVAL,
                               "scenario %s: job %s: numa_node %zu: the "
                               "machine has %zu",
                               c->scenario->name, what->name, what->numa_node,
                               m->numa_nodes);
        if (check_threads(c->scenario, what, m->numa_nodes, err) < 0)
            return -1;
        if (!vjob_init(&n->job[j], &n->node, what, (uint32_t)j + 1, stock))
            break;
        if (c->earlier)
            vjob_set_ults(&n->job[j], c->earlier[j].ults);
        n->node.jobs = ++n->jobs;
    }
    if (n->jobs < c->scenario->jobs || !n->before || !n->util_s ||
        vnode_rates_init(n) < 0)
        return errtext_set(err, ENOMEM, "simulation: out of memory");
    return 0;
}

static void take_down(struct vnode *n)
{
    scheduler_free(n->scheduler);
    if (n->host)
        host_timer_stop(&n->epoch);
    for (size_t j = 0; j < n->jobs; j++) {
        struct vjob *v = &n->job[j];
        if (v->process) {
            struct process *p = v->process;
            vjob_detach(v);
            process_detach(p);
        }
        vjob_release(v);
    }
    while (n->table.first)
        job_remove(&n->table, n->table.first);
    decisions_free(n->decisions);
    trace_free(n->trace);
    enforcer_free(n->enforcer);
    observer_free(n->observer);
    recorder_free(n->recorder);
    virtual_host_free(n->host);
    counters_close(n->counters);
    virtual_counters_free(n->pmu);
    topology_free(n->topology);
    vnode_rates_free(n);
    free(n->job);
    free(n->before);
    free(n->util_s);
}

struct vnode_result *vnode_run(const struct vnode_config *config,
                               struct errtext *err)
{
    struct vnode *n = calloc(1, sizeof(*n));
    struct vnode_result *r = result_new(config);
    int rc = -1;

    if (!n || !r) {
        errtext_set(err, ENOMEM, "simulation: out of memory");
    } else {
        n->config = config;
        n->options = config->options;
        n->result = r;
        if (build_agent(n, err) == 0 && build_jobs(n, err) == 0 &&
            run(n, err) == 0)
            rc = result_finish(n, err);
    }
    int saved = errno;
    if (n)
        take_down(n);
    free(n);
    if (rc < 0) {
        vnode_result_free(r);
        r = NULL;
    }
    errno = saved;
    return r;
}
