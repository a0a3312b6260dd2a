/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent costs: CPU time of its epochs. */

/* Usage: bench_agent FILE [CPUS JOBS [virtual]].  The agent's own parts on a machine that hwloc is
 * told to see, with counters that count at random and jobs that are real
 * processes: shared pages, 16 sleeping threads each.  Epochs come every 50 ms
 * as in coschedd.  Jobs compute: all CPUs of this machine are kept busy, and
 * then once more are not, where it sleeps between epochs and wakes up with cold
 * caches.  A process that wakes up as often and does nothing, with 0 CPUs and
 * jobs in the table, says what of it is the machine's.  What cosched-exporter asks at a scrape is
 * answered many times, and charged as one scrape in 15 s; names of regions are asked for by a
 * namer as often as jobs in their first minute may make it.  Prints a table and writes
 * FILE, a JSON list of {name, value, unit, reference, ratio}; the reference of the
 * first is what was promised, 1 % of a core, of metrics 0.05 %, of the others the first. */

#include "config.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "node_agent/daemon/agent.h"
#include "common/clock.h"
#include "node_agent/daemon/event.h"
#include "node_agent/daemon/host_event.h"
#include "node_agent/daemon/replies.h"
#include "node_agent/daemon/server.h"
#include "common/log.h"
#include "node_agent/core/hot.h"
#include "node_agent/core/plan.h"
#include "node_agent/core/process.h"
#include "node_agent/recording/recording.h"
#include "tests/node_agent/daemon/virtual_time.h"

#define EPOCH_MS 50
#define EPOCH_NS (EPOCH_MS * UINT64_C(1000000))
#define EPOCHS 120
#define WARMUP 60 /* the start of jobs is another matter */
#define THREADS 16
#define PROMISED 0.01
#define ASKED 1000 /* scrapes */
#define SCRAPE_S 15
#define NAMED 500       /* questions for names */
#define NAMED_A_MINUTE 7 /* of a job at most: their intervals double */
#define METRICS_PROMISED 0.0005
#define JOBS_MAX 16

/* The machine's CPUs are not all here: whatever is asked, threads are where they
 * should be, as they are almost always.  The question costs what it does. */
int __real_cpuset_get_affinity(pid_t tid, struct cosched_cpuset *cpus);
int __wrap_cpuset_get_affinity(pid_t tid, struct cosched_cpuset *cpus);

int __wrap_cpuset_get_affinity(pid_t tid, struct cosched_cpuset *cpus)
{
    int rc = __real_cpuset_get_affinity(tid, cpus);

    memset(cpus, 0, sizeof(*cpus));
    return rc;
}

/* Valgrind, which counts instructions, may not know pidfds. */
int __real_host_process_hold(pid_t pid, uint64_t *start);
int __wrap_host_process_hold(pid_t pid, uint64_t *start);

int __wrap_host_process_hold(pid_t pid, uint64_t *start)
{
    int handle = __real_host_process_hold(pid, start);

    return handle < 0 && errno == ENOSYS ? dup(STDERR_FILENO) : handle;
}

/* ---- parts -------------------------------------------------------------- */

enum part {
    PART_OBSERVE, /* report pages, attribution, profiles; counters not */
    PART_COUNTERS,
    PART_PLAN,
    PART_SCAN,    /* /proc */
    PART_THREADS, /* are they where they should be? */
    PART_STOPPED,
    PARTS
};

static const char *const part_names[PARTS] = {
    "observe", "counters", "plan", "processes", "threads", "stopped",
};

/* To ask for the time takes some itself: parts are measured apart from all. */
#define PART_EPOCHS 60

static bool in_parts;
static double spent[PARTS]; /* CPU seconds since the begin, PART_COUNTERS in
                               PART_OBSERVE, too */

static double now_s(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double part_clock(void)
{
    return in_parts ? now_s(CLOCK_PROCESS_CPUTIME_ID) : 0;
}

/* Define the wrapper of function NAME with PARAMETERS, which are called with
 * ARGUMENTS, that adds its time to PART. */
#define TIMED(part, type, name, parameters, arguments)                         \
    type __real_##name parameters;                                             \
    type __wrap_##name parameters;                                             \
    type __wrap_##name parameters                                              \
    {                                                                          \
        double begin = part_clock();                                           \
        type result = __real_##name arguments;                                 \
        spent[part] += part_clock() - begin;                                   \
        return result;                                                         \
    }
#define TIMED_VOID(part, name, parameters, arguments)                          \
    void __real_##name parameters;                                             \
    void __wrap_##name parameters;                                             \
    void __wrap_##name parameters                                              \
    {                                                                          \
        double begin = part_clock();                                           \
        __real_##name arguments;                                               \
        spent[part] += part_clock() - begin;                                   \
    }

TIMED_VOID(PART_OBSERVE, observer_update,
           (struct observer *o, struct job_table *jobs,
            const struct node_options *options, uint64_t now_ns),
           (o, jobs, options, now_ns))
TIMED(PART_COUNTERS, int, counters_sample,
      (struct counters *c, uint64_t ns, const struct sample **sample,
       struct errtext *err),
      (c, ns, sample, err))
TIMED(PART_PLAN, int, plan_make,
      (struct planner *planner, const struct plan_input *input,
       struct plan *plan, struct errtext *err),
      (planner, input, plan, err))
TIMED_VOID(PART_SCAN, enforcer_scan,
           (struct enforcer *e, struct job_table *jobs, bool force,
            uint64_t now_ns),
           (e, jobs, force, now_ns))
TIMED_VOID(PART_THREADS, enforcer_hold,
           (struct enforcer *e, struct job *job,
            const struct cosched_cpuset *cpus),
           (e, job, cpus))
TIMED(PART_THREADS, size_t, enforcer_move_strays,
      (struct enforcer *e, struct job *job, const struct cosched_cpuset *cpus), (e, job, cpus))
TIMED(PART_STOPPED, int, host_process_stopped, (pid_t pid), (pid))

/* ---- counters ----------------------------------------------------------- */

static int script_open(const struct counters_setup *setup, void **state,
                       struct errtext *err)
{
    (void)err;
    *state = (void *)setup;
    return 0;
}

static int script_sample(void *state, struct sample *s, struct errtext *err)
{
    static uint64_t random = 1;

    (void)state;
    (void)err;
    for (size_t c = 0; c < s->cpus; c++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        double part = 0.9 + 0.2 * (double)(random >> 40) / (1 << 24);
        s->cpu[c] = (struct sample_cpu){1e8 * part, 3e7 * part, 8e7 * part,
                                        1e6 * part, 3e5 * part, 2e5 * part,
                                        1e5 * part};
    }
    for (size_t m = 0; m < s->numa_nodes; m++)
        s->memory[m] = (struct sample_memory){6e6, 2e6, 1e6};
    return 0;
}

static void script_describe(const void *state, struct counters_ability *ability)
{
    (void)state;
    for (size_t i = 0; i < COUNTERS_PREFETCHES; i++)
        ability[i] = (struct counters_ability){.can = true, .why = "script"};
}

static void script_close(void *state)
{
    (void)state;
}

static const struct counters_backend script = {
    .name = "script",
    .help = "made up",
    .open = script_open,
    .sample = script_sample,
    .describe = script_describe,
    .close = script_close,
};

/* ---- jobs --------------------------------------------------------------- */

static void *sleep_on(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static pid_t start_process(void)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 1; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleep_on, NULL))
            _exit(1);
    }
    sleep_on(NULL);
    _exit(0);
}

struct bench {
    size_t cpus, jobs;
    struct agent a;
    struct counters_setup setup;
    struct cosched_report *page[JOBS_MAX];
    pid_t pid[JOBS_MAX];
};

static void die(const char *what)
{
    fprintf(stderr, "bench_agent: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void add_job(struct bench *b, size_t i)
{
    struct job *job = job_add(&b->a.jobs, (uint32_t)i + 1);
    struct errtext err;

    b->pid[i] = start_process();
    if (!job || b->pid[i] < 0)
        die("job");
    job->granted = *topology_cpus(b->a.topology);
    job->cooperative = true;
    struct process *p = process_attach(job, b->pid[i], b->a.topology,
                                       b->a.options.lease_ns, &err);
    if (!p)
        die(err.text);
    b->page[i] = mmap(NULL, sizeof(struct cosched_report),
                      PROT_READ | PROT_WRITE, MAP_SHARED,
                      report_fd(p->report), 0);
    if (b->page[i] == MAP_FAILED)
        die("mmap");
    *b->page[i] = (struct cosched_report){
        .version = COSCHED_LAYOUT_VERSION,
        .size = sizeof(struct cosched_report),
        .pid = (uint32_t)b->pid[i],
        .mode = COSCHED_MODE_DONOR,
        .team = THREADS,
        .regions_used = 8,
        .region_begin_ns = host_now_ns(b->a.host),
        .magic = COSCHED_REPORT_MAGIC,
    };
    for (uint64_t s = 0; s < 8; s++) {
        b->page[i]->regions[s].object_id = 1;
        b->page[i]->regions[s].offset = s;
        b->page[i]->regions[s].entries = 1;
    }
    scheduler_job_changed(b->a.scheduler, job, "a job that began");
}

/* Runtimes obey within microseconds. */
static void obey(struct bench *b)
{
    struct job *job = b->a.jobs.first;

    for (size_t i = 0; i < b->jobs; i++, job = job->next)
        b->page[i]->applied_generation =
            allotment_generation(job->processes->allotment);
}

/* What the jobs did in an epoch; each changes its region now and then. */
static void work(struct bench *b, int epoch)
{
    struct job *job = b->a.jobs.first;

    for (size_t i = 0; i < b->jobs; i++, job = job->next) {
        struct cosched_report *r = b->page[i];
        r->regions[r->region].iterations += 1000 + (uint64_t)epoch % 7;
        if (epoch % 20 == (int)i) {
            r->region = (r->region + 1) % 8;
            r->regions[r->region].entries++;
            r->region_begin_ns = host_now_ns(b->a.host);
        }
    }
}

/* ---- the agent ---------------------------------------------------------- */

static void build(struct bench *b)
{
    static const struct counters_backend *backends[] = {&script, NULL};
    static const struct settings settings = {.node = "bench"};
    struct agent *a = &b->a;
    struct errtext err = {""};
    char machine[80];

    snprintf(machine, sizeof(machine), "pack:%zu [numa] l3:2 core:8 pu:1",
             b->cpus / 16);
    setenv("HWLOC_SYNTHETIC", machine, 1);
    node_options_init(&a->options);
    a->settings = &settings;
    if (sd_event_new(&a->event) < 0 || !(a->topology = topology_new(NULL, &err)))
        die(err.text);
    counters_setup_init(&b->setup, topology_machine(a->topology),
                        topology_cpus(a->topology));
    b->setup.llc_domain = topology_llc_domains(a->topology);
    b->setup.package = topology_packages(a->topology, &b->setup.packages);
    b->setup.backends = backends;
    if (!(a->counters = counters_open("script", &b->setup, NULL, 0, &err)))
        die(err.text);
    a->host = host_event_new(a->event);
    a->recorder = recorder_new();
    a->observer = observer_new(a->counters, a->topology, a->recorder);
    a->enforcer = enforcer_new(NULL, &a->options);
    a->trace = trace_new();
    a->decisions = decisions_new();
    a->scheduler = scheduler_new(&(struct scheduler_parts){
        .host = a->host, .jobs = &a->jobs, .topology = a->topology,
        .options = &a->options, .observer = a->observer,
        .enforcer = a->enforcer, .trace = a->trace, .decisions = a->decisions,
        .recorder = a->recorder});
    if (!a->scheduler)
        die("scheduler");
    for (size_t i = 0; i < b->jobs; i++)
        add_job(b, i);
}

/* The operating system takes back the rest: each machine has its own process. */
static void end(struct bench *b)
{
    for (size_t i = 0; i < b->jobs; i++) {
        kill(b->pid[i], SIGKILL);
        waitpid(b->pid[i], NULL, 0);
    }
}

/* Of one epoch, CPU seconds. */
struct cost {
    double all; /* events between epochs included */
    double scrape; /* answers to one */
    double name;   /* question for names */
    double part[PARTS];
};

static void run_epochs(struct bench *b, int from, int to, double *next)
{
    for (int e = from; e < to; e++) {
        work(b, e);
        scheduler_epoch(b->a.scheduler);
        *next += EPOCH_MS * 1e-3;
        obey(b);
        if (virtual_ns) {
            uint64_t end_ns = virtual_ns - virtual_ns % EPOCH_NS + EPOCH_NS;
            while (virtual_timer_call(end_ns))
                obey(b);
            virtual_ns = end_ns;
            continue;
        }
        for (double left; (left = *next - now_s(CLOCK_MONOTONIC)) > 0;) {
            sd_event_run(b->a.event, (uint64_t)(left * 1e6) + 1);
            obey(b);
        }
    }
}

/* For callgrind --toggle-collect. */
__attribute__((noinline)) static void measured_epochs(struct bench *b,
                                                      double *next)
{
    run_epochs(b, WARMUP, WARMUP + EPOCHS, next);
}

/* What cosched-exporter asks at each scrape. */
__attribute__((noinline)) static void answer_scrape(struct bench *b)
{
    const struct peer exporter = {.uid = 65534};
    json_t *replies[] = {reply_ping(&b->a), reply_status(&b->a, &exporter, 0)};

    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        char *text = json_dumps(replies[i], JSON_COMPACT);
        if (!text)
            die("reply");
        free(text);
        json_decref(replies[i]);
    }
}

/* Whoever is asked for names at PATH says the same each time. */
static pid_t start_names(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char line[512];

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener, 8) < 0)
        die(path);
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    for (int fd; pid == 0 && (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) {
        char *region = NULL, *rest = NULL;
        ssize_t n = read(fd, line, sizeof(line) - 1);
        line[n > 0 ? n : 0] = '\0';
        strtok_r(line, " \n", &rest);
        strtok_r(NULL, " \n", &rest);
        if ((region = strtok_r(NULL, " \n", &rest)))
            dprintf(fd, "%s conj_grad, cg.c:87\n", region);
    }
    if (pid == 0)
        _exit(0);
    close(listener);
    return pid;
}

/* CPU seconds of a question for the name of the first job's region. */
static double ask_names(struct bench *b)
{
    char folder[] = "/tmp/cosched-bench.XXXXXX", path[64], names[80];
    struct region *hot[HOT_MOST];
    struct job *job = b->a.jobs.first;

    if (!job || !hot_regions(&job->regions, hot) || hot[0]->folded)
        return NAN;
    if (!mkdtemp(folder))
        die("mkdtemp");
    snprintf(path, sizeof(path), "%s/s", folder);
    snprintf(names, sizeof(names), "%s.names", path);
    pid_t server = start_names(names);
    struct namer *namer = namer_new(b->a.event, &b->a.jobs, path);
    double begin = now_s(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < NAMED; i++) {
        hot[0]->asked = false;
        job->name_at_ns = job->name_pause_ns = 1;
        namer_epoch(namer, clock_ns());
        while (!hot[0]->asked)
            sd_event_run(b->a.event, NS_PER_S / NS_PER_US);
        job->name_at_ns = UINT64_MAX;
        sd_event_run(b->a.event, 0);
    }
    double spent_s = now_s(CLOCK_PROCESS_CPUTIME_ID) - begin;
    namer_free(namer);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    unlink(names);
    rmdir(folder);
    return spent_s / NAMED;
}

static struct cost measure(size_t cpus, size_t jobs)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct cost cost = {0};
    double next;

    if (!b)
        die("bench");
    b->cpus = cpus;
    b->jobs = jobs;
    build(b);
    next = now_s(CLOCK_MONOTONIC);
    run_epochs(b, 0, WARMUP, &next);
    double begin = now_s(CLOCK_PROCESS_CPUTIME_ID);
    measured_epochs(b, &next);
    cost.all = (now_s(CLOCK_PROCESS_CPUTIME_ID) - begin) / EPOCHS;
    begin = now_s(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < ASKED; i++)
        answer_scrape(b);
    cost.scrape = (now_s(CLOCK_PROCESS_CPUTIME_ID) - begin) / ASKED;
    cost.name = virtual_ns ? NAN : ask_names(b);
    in_parts = true;
    run_epochs(b, WARMUP + EPOCHS, WARMUP + EPOCHS + PART_EPOCHS, &next);
    spent[PART_OBSERVE] -= spent[PART_COUNTERS];
    for (size_t p = 0; p < PARTS; p++)
        cost.part[p] = spent[p] / PART_EPOCHS;
    end(b);
    return cost;
}

/* The same without an agent. */
static struct cost measure_nothing(void)
{
    sd_event *event;

    if (sd_event_new(&event) < 0)
        die("sd_event_new");
    for (int e = 0; e < 10; e++)
        sd_event_run(event, EPOCH_NS / NS_PER_US);
    double begin = now_s(CLOCK_PROCESS_CPUTIME_ID);
    for (int e = 0; e < EPOCHS; e++)
        sd_event_run(event, EPOCH_NS / NS_PER_US);
    double all = now_s(CLOCK_PROCESS_CPUTIME_ID) - begin;
    sd_event_unref(event);
    return (struct cost){.all = all / EPOCHS};
}

/* Processes that compute, one for each CPU there is; or they end. */
static void keep_busy(bool busy)
{
    static pid_t pid[COSCHED_MAX_CPUS];
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    for (long i = 0; i < count && i < COSCHED_MAX_CPUS; i++) {
        if (pid[i] > 0) {
            kill(pid[i], SIGKILL);
            waitpid(pid[i], NULL, 0);
        }
        pid[i] = busy ? fork() : 0;
        if (pid[i] < 0)
            die("fork");
        if (busy && pid[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                __asm__ volatile("");
        }
    }
}

/* In a process of its own. */
static struct cost measure_apart(size_t cpus, size_t jobs)
{
    struct cost result = {0};
    int ends[2], status;

    fflush(NULL);
    if (pipe(ends) < 0)
        die("pipe");
    pid_t pid = fork();
    if (pid == 0) {
        result = jobs ? measure(cpus, jobs) : measure_nothing();
        _exit(write(ends[1], &result, sizeof(result)) != sizeof(result));
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status ||
        read(ends[0], &result, sizeof(result)) != sizeof(result))
        die("measure");
    close(ends[0]);
    close(ends[1]);
    return result;
}

struct row {
    bool busy; /* this machine */
    size_t cpus, jobs;
};

static void show(FILE *file, const struct row *row, const struct cost *cost,
                 double reference)
{
    double share = cost->all * 1e3 / EPOCH_MS;
    const char *machine = row->busy ? "" : ", idle machine";
    char name[64] = "waking up";

    if (row->jobs)
        snprintf(name, sizeof(name), "agent, %zu CPUs, %zu jobs", row->cpus,
                 row->jobs);
    printf("%-5s %5zu %5zu %11.1f us %8.3f%%", row->busy ? "busy" : "idle",
           row->cpus, row->jobs, cost->all * 1e6, 100 * share);
    fprintf(file,
            "{\"name\": \"%s%s\", \"value\": %.6f, \"unit\": \"cores\", "
            "\"reference\": %.6f, \"ratio\": %.3f}",
            name, machine, share, reference, share / reference);
    for (size_t p = 0; p < PARTS && row->jobs; p++) {
        double part = cost->part[p] * 1e3 / EPOCH_MS;
        printf(" %9.1f", cost->part[p] * 1e6);
        fprintf(file,
                ",\n{\"name\": \"%s%s: %s\", \"value\": %.6f, "
                "\"unit\": \"cores\", \"reference\": %.6f, \"ratio\": %.3f}",
                name, machine, part_names[p], part, share, part / share);
    }
    double metrics = cost->scrape / SCRAPE_S;
    if (row->jobs) {
        printf("  scrape %.1f us, %.5f%%", cost->scrape * 1e6, 100 * metrics);
        fprintf(file,
                ",\n{\"name\": \"%s%s: metrics\", \"value\": %.8f, "
                "\"unit\": \"cores\", \"reference\": %.6f, \"ratio\": %.4f}",
                name, machine, metrics, METRICS_PROMISED, metrics / METRICS_PROMISED);
    }
    double names = cost->name * (double)(NAMED_A_MINUTE * row->jobs) / 60;
    if (row->jobs && isfinite(names)) {
        printf("  names %.1f us, %.5f%%", cost->name * 1e6, 100 * names);
        fprintf(file,
                ",\n{\"name\": \"%s%s: names\", \"value\": %.8f, "
                "\"unit\": \"cores\", \"reference\": %.6f, \"ratio\": %.4f}",
                name, machine, names, METRICS_PROMISED, names / METRICS_PROMISED);
    }
    printf("\n");
    fflush(stdout);
}

/* Measure and show those of ROWS that have CPUS and JOBS, all if CPUS is 0. */
static void run(FILE *file, size_t cpus, size_t jobs)
{
    static const struct row rows[] = {
        {true, 64, 4},   {true, 64, 16}, {true, 256, 4}, {true, 256, 16},
        {true, 0, 0},    {false, 64, 4}, {false, 0, 0},
    };
    double first = 0;

    printf("%-5s %5s %5s %14s %9s", "here", "CPUs", "jobs", "CPU per epoch",
           "of a core");
    for (size_t p = 0; p < PARTS; p++)
        printf(" %9s", part_names[p]);
    printf("\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        if (cpus && (row->cpus != cpus || row->jobs != jobs))
            continue;
        if (virtual_ns && !row->busy)
            continue;
        if (!virtual_ns)
            keep_busy(row->busy);
        struct cost cost = measure_apart(row->cpus, row->jobs);
        keep_busy(false);
        fputs(first > 0 ? ",\n" : "", file);
        show(file, row, &cost, first > 0 ? first : PROMISED);
        first = first > 0 ? first : cost.all * 1e3 / EPOCH_MS;
    }
}

int main(int argc, char **argv)
{
    FILE *file;

    if (argc == 5 && !strcmp(argv[4], "virtual"))
        virtual_ns = EPOCH_NS;
    if ((argc != 2 && argc != 4 && !virtual_ns) || !(file = fopen(argv[1], "w"))) {
        fprintf(stderr, "usage: bench_agent FILE [CPUS JOBS [virtual]]\n");
        return EXIT_FAILURE;
    }
    log_open(LOG_WARNING, false);
    fprintf(file, "[\n");
    run(file, argc >= 4 ? strtoul(argv[2], NULL, 10) : 0,
        argc >= 4 ? strtoul(argv[3], NULL, 10) : 0);
    fprintf(file, "\n]\n");
    return fclose(file) ? EXIT_FAILURE : EXIT_SUCCESS;
}
