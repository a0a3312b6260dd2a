/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Discrete-event simulation of a machine's memory system. */

#include "tests/simulator/memsys.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulator/choice.h"
#include "tests/simulator/events.h"
#include "simulator/random.h"

#define NONE UINT32_MAX

struct request {
    uint32_t next; /* behind it in its queue, or of the free list */
    uint32_t core;
    uint32_t channel;
    uint16_t kind;
    uint16_t step;  /* servers passed on the route */
    double arrival; /* at the present server */
};

struct queue {
    uint32_t head, tail;
};

struct server {
    struct queue queue; /* its head is in service */
    struct memsys_kinds mean_us;
    uint32_t length;
    double since; /* last change of length */
    double busy_us, area_us, response_us, completions;
    double batch_busy_us; /* busy_us at the begin of the batch */
};

struct channel {
    struct queue queue; /* those not under way */
    size_t under_way;
    const struct machine_route *route;
    uint32_t controller; /* server */
};

enum core_state { COMPUTING, STALLED, BUFFER_FULL };

struct core {
    uint32_t job, node;
    enum core_state state;
    uint32_t entry; /* of the request held back while BUFFER_FULL */
    size_t posted;
    double since; /* begin of the state */
};

/* Mean and variance of batches' means. */
struct series {
    double sum, square;
};

struct memsys {
    const struct memsys_config *config;
    struct random random;
    struct events events;
    double now;
    uint64_t handled;
    struct core *core;
    struct server *server; /* controllers, then links */
    struct channel *channel; /* [llc_domain][numa_node][posted] */
    struct request *request;
    struct choice *choice; /* [job_count] of request number kind * numa_nodes +
                              NUMA node */
    double *count;         /* [job][llc_domain][numa_node][kind] */
    double *cpu_us, *stall_us, *batch_cpu_us; /* [job_count] */
    double *read_us;                          /* [job_count] */
    struct series *speed;                     /* [job_count] */
    struct series *busy;                      /* [servers] */
    size_t cores, servers, channels, requests;
    size_t jobs, numa_nodes;
    uint32_t free;
    double split; /* hyper-exponential: probability of the short phase */
    size_t batches;
};

void memsys_defaults(struct memsys_config *config)
{
    *config = (struct memsys_config){
        .law = MEMSYS_EXPONENTIAL,
        .cv2 = 4,
        .window = 1,
        .posted_limit = 16,
        .seed = 1,
        .warmup_events = 20000,
        .batch_events = 20000,
        .min_batches = 10,
        .max_batches = 200,
        .precision = 0.003,
    };
}

static double service_time(struct memsys *m, double mean)
{
    double p = m->split;

    switch (m->config->law) {
    case MEMSYS_DETERMINISTIC:
        return mean;
    case MEMSYS_HYPEREXPONENTIAL:
        /* Both phases bring half of the mean. */
        if (random_uniform(&m->random) > p)
            p = 1 - p;
        return random_exponential(&m->random, mean / (2 * p));
    default:
        return random_exponential(&m->random, mean);
    }
}

static void push(struct memsys *m, struct queue *q, uint32_t r)
{
    m->request[r].next = NONE;
    if (q->head == NONE)
        q->head = r;
    else
        m->request[q->tail].next = r;
    q->tail = r;
}

static uint32_t pop(struct memsys *m, struct queue *q)
{
    uint32_t r = q->head;

    q->head = m->request[r].next;
    return r;
}

/* Bring the integrals of server S up to the present. */
static void server_update(struct memsys *m, struct server *s)
{
    double passed = m->now - s->since;

    s->area_us += passed * s->length;
    if (s->length)
        s->busy_us += passed;
    s->since = m->now;
}

static void server_start(struct memsys *m, uint32_t server)
{
    struct server *s = &m->server[server];
    double mean = s->mean_us.of[m->request[s->queue.head].kind];

    events_put(&m->events, m->now + service_time(m, mean),
               (uint32_t)m->cores + server);
}

/* Send request R to the next server of its route. */
static void forward(struct memsys *m, uint32_t r)
{
    struct request *request = &m->request[r];
    const struct channel *c = &m->channel[request->channel];
    uint32_t server = c->controller;

    if (request->step < c->route->links)
        server = (uint32_t)(m->numa_nodes + c->route->link[request->step]);
    request->step++;
    request->arrival = m->now;
    struct server *s = &m->server[server];
    server_update(m, s);
    push(m, &s->queue, r);
    if (s->length++ == 0)
        server_start(m, server);
}

static void compute(struct memsys *m, uint32_t core)
{
    struct core *c = &m->core[core];
    double rate = m->choice[c->job].total;

    c->state = COMPUTING;
    c->since = m->now;
    if (rate > 0)
        events_put(&m->events,
                   m->now + random_exponential(&m->random, 1 / rate), core);
}

/* Let core CORE make the request ENTRY. */
static void issue(struct memsys *m, uint32_t core, uint32_t entry)
{
    struct core *c = &m->core[core];
    uint32_t mem = entry % (uint32_t)m->numa_nodes;
    uint32_t kind = entry / (uint32_t)m->numa_nodes;
    uint32_t pair = c->node * (uint32_t)m->numa_nodes + mem;
    uint32_t r = m->free;
    struct request *request = &m->request[r];
    size_t pairs = m->config->machine->llc_domains * m->numa_nodes;

    m->free = request->next;
    m->count[(c->job * pairs + pair) * MEMSYS_KINDS + kind]++;
    request->core = core;
    request->kind = (uint16_t)kind;
    request->step = 0;
    request->channel = 2 * pair + (kind != MEMSYS_READ);
    struct channel *channel = &m->channel[request->channel];
    if (channel->under_way < m->config->window) {
        channel->under_way++;
        forward(m, r);
    } else {
        push(m, &channel->queue, r);
    }
}

/* Core CORE has computed and asks for memory. */
static void ask(struct memsys *m, uint32_t core)
{
    struct core *c = &m->core[core];
    uint32_t entry = choice_draw(&m->choice[c->job], &m->random);

    m->cpu_us[c->job] += m->now - c->since;
    c->since = m->now;
    if (entry < m->numa_nodes) { /* a read */
        c->state = STALLED;
        issue(m, core, entry);
    } else if (c->posted == m->config->posted_limit) {
        c->state = BUFFER_FULL;
        c->entry = entry;
    } else {
        c->posted++;
        issue(m, core, entry);
        compute(m, core);
    }
}

/* Request R is answered: free its place and let its core go on. */
static void complete(struct memsys *m, uint32_t r)
{
    struct request *request = &m->request[r];
    struct channel *channel = &m->channel[request->channel];
    uint32_t core = request->core;
    struct core *c = &m->core[core];

    request->next = m->free;
    m->free = r;
    if (channel->queue.head == NONE)
        channel->under_way--;
    else
        forward(m, pop(m, &channel->queue));
    if (request->kind == MEMSYS_READ) {
        m->stall_us[c->job] += m->now - c->since;
        m->read_us[c->job] += m->now - c->since;
        compute(m, core);
        return;
    }
    c->posted--;
    if (c->state == BUFFER_FULL) {
        m->stall_us[c->job] += m->now - c->since;
        c->posted++;
        issue(m, core, c->entry);
        compute(m, core);
    }
}

static void served(struct memsys *m, uint32_t server)
{
    struct server *s = &m->server[server];

    server_update(m, s);
    uint32_t r = pop(m, &s->queue);
    s->completions++;
    s->response_us += m->now - m->request[r].arrival;
    if (--s->length)
        server_start(m, server);
    if (server < m->numa_nodes)
        complete(m, r);
    else
        forward(m, r);
}

/* Handle all events until time END. */
static void run_until(struct memsys *m, double end)
{
    while (m->events.count && events_first(&m->events)->time <= end) {
        struct event e = events_take(&m->events);

        m->now = e.time;
        m->handled++;
        if (e.who < m->cores)
            ask(m, e.who);
        else
            served(m, e.who - (uint32_t)m->cores);
    }
    m->now = end;
}

/* Split what cores and servers do now at the present. */
static void settle(struct memsys *m)
{
    for (size_t i = 0; i < m->cores; i++) {
        struct core *c = &m->core[i];

        if (c->state == COMPUTING)
            m->cpu_us[c->job] += m->now - c->since;
        else
            m->stall_us[c->job] += m->now - c->since;
        if (c->state == STALLED)
            m->read_us[c->job] += m->now - c->since;
        c->since = m->now;
    }
    for (size_t i = 0; i < m->servers; i++)
        server_update(m, &m->server[i]);
}

/* Begin to measure. */
static void forget(struct memsys *m)
{
    size_t pairs = m->config->machine->llc_domains * m->numa_nodes;

    settle(m);
    memset(m->count, 0, m->jobs * pairs * MEMSYS_KINDS * sizeof(*m->count));
    memset(m->cpu_us, 0, m->jobs * sizeof(*m->cpu_us));
    memset(m->stall_us, 0, m->jobs * sizeof(*m->stall_us));
    memset(m->read_us, 0, m->jobs * sizeof(*m->read_us));
    memset(m->batch_cpu_us, 0, m->jobs * sizeof(*m->batch_cpu_us));
    for (size_t i = 0; i < m->servers; i++) {
        struct server *s = &m->server[i];
        s->busy_us = s->area_us = s->response_us = s->completions = 0;
        s->batch_busy_us = 0;
    }
}

static struct memsys_estimate estimate(const struct series *series, size_t n)
{
    double count = (double)n, mean = series->sum / count;
    double variance = (series->square - count * mean * mean) / (count - 1);
    double freedom = count - 1;
    /* Student's 0.975 quantile to 2 % for 4 degrees of freedom or more. */
    double t = 1.96 + 2.37 / freedom + 2.82 / (freedom * freedom);

    return (struct memsys_estimate){mean,
                                    t * sqrt(fmax(0, variance) / count)};
}

static void add(struct series *series, double value)
{
    series->sum += value;
    series->square += value * value;
}

static bool precise(const struct memsys *m)
{
    if (m->batches < m->config->min_batches)
        return false;
    for (size_t j = 0; j < m->jobs; j++) {
        struct memsys_estimate e = estimate(&m->speed[j], m->batches);
        if (e.half_width > m->config->precision * e.mean)
            return false;
    }
    return true;
}

/* Returns the end of the warm-up. */
static double simulate(struct memsys *m)
{
    const struct memsys_config *config = m->config;

    for (size_t i = 0; i < m->cores; i++)
        compute(m, (uint32_t)i);
    while (m->handled < config->warmup_events && m->events.count)
        run_until(m, events_first(&m->events)->time);
    /* Batches of equal time, sized by the rate of events so far. */
    double length = m->events.count ? m->now * (double)config->batch_events /
                                          (double)config->warmup_events
                                    : 1;
    forget(m);
    double begin = m->now, horizon = begin;
    m->handled = 0;
    while (m->batches < config->max_batches && !precise(m)) {
        horizon += length;
        run_until(m, horizon);
        settle(m);
        m->batches++;
        for (size_t j = 0; j < m->jobs; j++) {
            add(&m->speed[j], (m->cpu_us[j] - m->batch_cpu_us[j]) / length);
            m->batch_cpu_us[j] = m->cpu_us[j];
        }
        for (size_t i = 0; i < m->servers; i++) {
            struct server *s = &m->server[i];
            add(&m->busy[i], (s->busy_us - s->batch_busy_us) / length);
            s->batch_busy_us = s->busy_us;
        }
    }
    return begin;
}

static bool valid_kinds(const struct memsys_kinds *kinds, size_t count,
                        bool zero)
{
    for (size_t i = 0; i < count && kinds; i++)
        for (int k = 0; k < MEMSYS_KINDS; k++)
            if (!isfinite(kinds[i].of[k]) || kinds[i].of[k] < 0 ||
                (kinds[i].of[k] == 0 && !zero))
                return false;
    return true;
}

static bool valid(const struct memsys_config *c)
{
    if (!c->machine || machine_check(c->machine) != MODEL_OK ||
        c->job_count < 1 || c->window < 1 || c->posted_limit < 1 ||
        c->warmup_events < 1 || c->batch_events < 1 || c->min_batches < 2 ||
        c->max_batches < c->min_batches ||
        c->max_batches > MEMSYS_MAX_BATCHES || !(c->precision > 0) ||
        (c->law == MEMSYS_HYPEREXPONENTIAL &&
         !(c->cv2 > 1 && isfinite(c->cv2))))
        return false;
    for (size_t j = 0; j < c->job_count; j++)
        if (!valid_kinds(c->jobs[j].rate_per_us, c->machine->numa_nodes, true))
            return false;
    return valid_kinds(c->controller_us, c->machine->numa_nodes, false) &&
           valid_kinds(c->link_us, c->machine->links, false);
}

static void setup_servers(struct memsys *m)
{
    const struct memsys_config *config = m->config;
    const struct machine *machine = config->machine;

    for (size_t i = 0; i < m->servers; i++) {
        bool link = i >= m->numa_nodes;
        size_t l = i - m->numa_nodes;
        const struct memsys_kinds *given = link ? config->link_us
                                                : config->controller_us;
        double us = link ? machine->link_service_us[l]
                         : machine->controller_service_us[i];

        for (int k = 0; k < MEMSYS_KINDS; k++)
            m->server[i].mean_us.of[k] =
                given ? given[link ? l : i].of[k] : us;
        m->server[i].queue.head = NONE;
    }
    for (size_t i = 0; i < m->channels; i++) {
        m->channel[i].queue.head = NONE;
        m->channel[i].route = &machine->route[i / 2];
        m->channel[i].controller = (uint32_t)(i / 2 % m->numa_nodes);
    }
}

static bool setup_jobs(struct memsys *m)
{
    const struct memsys_config *config = m->config;
    size_t nodes = config->machine->llc_domains, core = 0;
    size_t entries = MEMSYS_KINDS * m->numa_nodes;
    double *weight = malloc(entries * sizeof(*weight));
    bool ok = weight != NULL;

    for (size_t j = 0; j < m->jobs && ok; j++) {
        for (size_t e = 0; e < entries; e++)
            weight[e] = config->jobs[j].rate_per_us[e % m->numa_nodes]
                            .of[e / m->numa_nodes];
        ok = choice_init(&m->choice[j], weight, (uint32_t)entries);
    }
    free(weight);
    for (size_t i = 0; i < nodes * m->jobs; i++)
        for (size_t k = 0; k < config->cores[i]; k++) {
            m->core[core].node = (uint32_t)(i / m->jobs);
            m->core[core++].job = (uint32_t)(i % m->jobs);
        }
    for (size_t r = 0; r < m->requests; r++)
        m->request[r].next = (uint32_t)(r + 1);
    return ok;
}

static void release(struct memsys *m)
{
    for (size_t j = 0; j < m->jobs && m->choice; j++)
        choice_release(&m->choice[j]);
    events_release(&m->events);
    free(m->core);
    free(m->server);
    free(m->channel);
    free(m->request);
    free(m->choice);
    free(m->count);
    free(m->cpu_us);
    free(m->speed);
}

/* Everything is allocated here, before the first event. */
static bool setup(struct memsys *m, const struct memsys_config *config)
{
    const struct machine *machine = config->machine;
    size_t pairs = machine->llc_domains * machine->numa_nodes;

    *m = (struct memsys){.config = config, .jobs = config->job_count};
    m->numa_nodes = machine->numa_nodes;
    m->servers = machine->numa_nodes + machine->links;
    m->channels = 2 * pairs;
    for (size_t i = 0; i < machine->llc_domains * m->jobs; i++)
        m->cores += config->cores[i];
    m->requests = m->cores * (1 + config->posted_limit);
    m->split = (1 + sqrt((config->cv2 - 1) / (config->cv2 + 1))) / 2;
    random_seed(&m->random, config->seed);
    m->core = calloc(m->cores + 1, sizeof(*m->core));
    m->server = calloc(m->servers, sizeof(*m->server));
    m->channel = calloc(m->channels, sizeof(*m->channel));
    m->request = calloc(m->requests + 1, sizeof(*m->request));
    m->choice = calloc(m->jobs, sizeof(*m->choice));
    m->count = calloc(m->jobs * pairs * MEMSYS_KINDS, sizeof(*m->count));
    m->cpu_us = calloc(4 * m->jobs, sizeof(*m->cpu_us));
    m->speed = calloc(m->jobs + m->servers, sizeof(*m->speed));
    if (!m->core || !m->server || !m->channel || !m->request || !m->choice ||
        !m->count || !m->cpu_us || !m->speed ||
        !events_init(&m->events, m->cores + m->servers))
        return false;
    m->stall_us = m->cpu_us + m->jobs;
    m->batch_cpu_us = m->stall_us + m->jobs;
    m->read_us = m->batch_cpu_us + m->jobs;
    m->busy = m->speed + m->jobs;
    setup_servers(m);
    return setup_jobs(m);
}

static void report_server(const struct memsys *m, size_t i, double time_us,
                          struct memsys_server *out)
{
    const struct server *s = &m->server[i];

    out->utilisation = estimate(&m->busy[i], m->batches);
    out->queue = s->area_us / time_us;
    out->response_us = s->completions > 0 ? s->response_us / s->completions : 0;
    out->completions = s->completions;
}

static void report_job(const struct memsys *m, size_t j, size_t pairs,
                       struct memsys_job_result *out)
{
    const double *count = &m->count[j * pairs * MEMSYS_KINDS];

    out->speed = estimate(&m->speed[j], m->batches);
    out->cpu_us = m->cpu_us[j];
    out->stall_us = m->stall_us[j];
    for (size_t i = 0; i < pairs * MEMSYS_KINDS; i++)
        out->requests[i % MEMSYS_KINDS] += count[i];
    if (out->requests[MEMSYS_READ] > 0)
        out->read_response_us = m->read_us[j] / out->requests[MEMSYS_READ];
}

static bool report(const struct memsys *m, double begin,
                   struct memsys_result *result)
{
    size_t pairs = m->config->machine->llc_domains * m->numa_nodes;
    size_t numbers = m->jobs * pairs * MEMSYS_KINDS;
    struct memsys_result out = {
        .time_us = m->now - begin, .events = m->handled, .batches = m->batches};
    char *block = calloc(1, m->jobs * sizeof(*out.jobs) +
                                m->servers * sizeof(*out.controller) +
                                numbers * sizeof(*out.requests));

    if (!block)
        return false;
    out.block = block;
    out.jobs = (struct memsys_job_result *)block;
    out.controller = (struct memsys_server *)(out.jobs + m->jobs);
    out.link = out.controller + m->numa_nodes;
    out.requests = (double *)(out.controller + m->servers);
    memcpy(out.requests, m->count, numbers * sizeof(*out.requests));
    for (size_t j = 0; j < m->jobs; j++)
        report_job(m, j, pairs, &out.jobs[j]);
    for (size_t i = 0; i < m->servers; i++)
        report_server(m, i, out.time_us, &out.controller[i]);
    *result = out;
    return true;
}

enum model_status memsys_run(const struct memsys_config *config,
                             struct memsys_result *result)
{
    struct memsys m;
    enum model_status status = MODEL_ENOMEM;

    if (!valid(config))
        return MODEL_EINVAL;
    if (setup(&m, config)) {
        double begin = simulate(&m);
        if (report(&m, begin, result))
            status = MODEL_OK;
    }
    release(&m);
    return status;
}

void memsys_release(struct memsys_result *result)
{
    free(result->block);
    result->block = NULL;
}
