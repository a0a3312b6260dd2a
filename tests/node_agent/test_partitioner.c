/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* From what jobs do to a cache to what the kernel lets them, in a resctrl that
 * the test plays. */

#include "tests/node_agent/unit.h"

#include <math.h>

#include "node_agent/recording/recording.h"
#include "common/log.h"
#include "node_agent/enforce/partitioner.h"
#include "node_agent/enforce/tally.h"
#include "common/cpulist.h"
#include "tests/node_agent/fake_resctrl.h"

static uint64_t now_ns;

uint64_t __wrap_host_now_ns(struct host *host);
uint64_t __wrap_host_now_ns(struct host *host)
{
    (void)host;
    return now_ns;
}

uint64_t __wrap_host_wall_ns(struct host *host);
uint64_t __wrap_host_wall_ns(struct host *host)
{
    (void)host;
    return now_ns;
}

/* Jobs 5 and 6 share the cache of CPU node 2, which the kernel calls 4. */
struct node {
    struct fake_resctrl *fake;
    struct topology *topology;
    struct node_options options;
    struct job_table jobs;
    struct job *job[2];
    struct counters *counters;
    struct counters_setup counted; /* theirs: nothing of the fake node */
    struct observer *observer;
    struct recorder *recorder;
    struct decisions *decisions;
    struct partitioner *partitioner;
};

static void set_cpus(struct job *job, const char *list)
{
    assert_int_equal(cpulist_parse(list, &job->cpus, NULL), 0);
}

static struct job *new_job(struct node *n, uint32_t id, const char *list)
{
    struct job *job = job_add(&n->jobs, id);

    assert_non_null(job);
    assert_non_null(job_add_task(job, 0, getpid()));
    job->live_since_ns = 1;
    set_cpus(job, list);
    return job;
}

static int setup(void **state)
{
    struct node *n = calloc(1, sizeof(*n));
    struct errtext err = {""};

    log_open(LOG_ERR, false);
    now_ns = 1000 * PARTITIONER_LOOK_NS;
    n->fake = fake_resctrl_new();
    n->topology = topology_of_machine(n->fake->is.machine, &err);
    assert_non_null(n->topology);
    n->fake->is.setup.cpu_node = n->fake->is.machine->cpu_node;
    fake_put(n->fake, ROOT "info/L3/cbm_mask", "fffff\n");
    fake_put(n->fake, ROOT "info/L3/min_cbm_bits", "1\n");
    fake_put(n->fake, ROOT "info/L3/num_closids", "4\n");
    fake_put(n->fake, ROOT "schemata", "L3:0=fffff;4=fffff\n");
    fake_node_cpu(&n->fake->is, 4, "cache/index3/size", "30720K\n");
    n->counted = n->fake->is.setup;
    n->counted.sysfs = n->counted.procfs = "/nowhere";
    n->counters = counters_open("progress", &n->counted, NULL, 0, &err);
    assert_non_null(n->counters);
    n->recorder = recorder_new();
    n->observer = observer_new(n->counters, n->topology, n->recorder);
    n->decisions = decisions_new();
    node_options_init(&n->options);
    n->job[0] = new_job(n, 5, "4,5");
    n->job[1] = new_job(n, 6, "6,7");
    *state = n;
    return 0;
}

static void begin(struct node *n)
{
    n->partitioner = partitioner_new(&(struct partitioner_parts){
        .jobs = &n->jobs,
        .topology = n->topology,
        .options = &n->options,
        .setup = &n->fake->is.setup,
        .observer = n->observer,
        .decisions = n->decisions,
        .source = &n->fake->source,
    }, "auto");
    assert_non_null(n->partitioner);
}

static int teardown(void **state)
{
    struct node *n = *state;

    partitioner_free(n->partitioner);
    assert_int_equal(n->fake->made, 0); /* nothing stays behind */
    while (n->jobs.first)
        job_remove(&n->jobs, n->jobs.first);
    decisions_free(n->decisions);
    observer_free(n->observer);
    recorder_free(n->recorder);
    counters_close(n->counters);
    topology_free(n->topology);
    fake_resctrl_free(n->fake);
    free(n);
    return 0;
}

/* JOB was counted for 1 s on its two cores of CPU node 2, with so many accesses,
 * misses and requests per us. */
static void does(struct job *job, double accesses, double misses)
{
    struct loop *loop = loop_new(3, 2);

    assert_non_null(loop);
    loop->cores[2] = 2;
    loop->total_us = 1e6;
    loop->llc_accesses[2] = accesses * 1e6;
    loop->read_misses[2 * 2 + 1] = misses * 1e6;
    loop->requests[2 * 2 + 1].read = misses * 1e6;
    if (job->tally)
        tally_add(job->tally, loop, NAN);
    loop_free(loop);
}

/* Another second goes by, in which job 5 misses so often and job 6 seldom. */
static void second(struct node *n, double accesses, double misses)
{
    does(n->job[0], accesses, misses);
    does(n->job[1], 100, 10);
    now_ns += PARTITIONER_LOOK_NS;
    observer_update(n->observer, &n->jobs, &n->options, now_ns);
    partitioner_epoch(n->partitioner);
}

static void seconds(struct node *n, int count, double accesses, double misses)
{
    for (int i = 0; i < count; i++)
        second(n, accesses, misses);
}

static bool has_group(const struct node *n, unsigned job)
{
    char name[160];

    return fake_has(n->fake, fake_group(name, job, ""));
}

/* The last decision's text has TEXT. */
static void assert_said(const struct node *n, const char *text)
{
    json_t *all = decisions_json(n->decisions, 5);
    size_t count = json_array_size(all);
    const char *said = count ? json_string_value(json_object_get(
                                   json_array_get(all, count - 1), "text"))
                             : "nothing";

    if (!strstr(said, text))
        fail_msg("\"%s\" lacks \"%s\"", said, text);
    json_decref(all);
}

/* ---- tests --------------------------------------------------------------- */

static void test_tally(void **state)
{
    static const size_t cores[] = {1, 3, 0};
    struct tally *t = tally_new(3);
    struct loop *loop = loop_new(3, 2), *other = loop_new(2, 2);
    struct cache_use use[3];

    (void)state;
    assert_non_null(t);
    loop->cores[0] = 2;
    loop->cores[2] = 1;
    loop->total_us = 10;
    loop->llc_accesses[0] = 40;
    loop->read_misses[1] = 20;
    loop->requests[0] = (struct loop_requests){.read = 10, .write = 5};
    loop->requests[1] = (struct loop_requests){.read = 20, .prefetch = 25};
    tally_add(t, loop, NAN);
    loop->total_us = 30;
    tally_add(t, loop, NAN);
    tally_add(t, other, NAN); /* of another machine */
    tally_add(t, NULL, 800);  /* nothing was counted, but it holds this */
    tally_take(t, cores, use);
    assert_true(use[0].cores == 2 && use[0].accesses == 2 && use[0].misses == 1);
    assert_true(use[0].requests == 3 && use[0].llc_bytes == 200);
    assert_true(use[1].cores == 3 && isnan(use[1].requests)); /* is new there */
    assert_true(use[1].llc_bytes == 600);
    assert_true(use[2].cores == 0); /* has left */
    tally_take(t, cores, use);
    assert_true(use[0].cores == 1 && isnan(use[0].accesses));
    loop->llc_accesses[0] = 0; /* not known */
    tally_add(t, loop, NAN);
    tally_take(t, cores, use);
    assert_true(isnan(use[0].accesses) && isnan(use[0].misses));
    assert_true(use[0].requests == 2);
    loop_free(loop);
    loop_free(other);
    free(t);
}

static void test_off(void **state)
{
    struct node *n = *state;

    begin(n);
    seconds(n, 5, 100, 95);
    assert_null(n->job[0]->tally);
    assert_int_equal(n->fake->made, 0);
    assert_int_equal(decisions_count(n->decisions), 0);
    assert_string_equal(partitioner_problem(n->partitioner), "");
}

static void test_confine(void **state)
{
    struct node *n = *state;
    double part;

    n->options.cache = 1;
    begin(n);
    assert_string_equal(partitioner_problem(n->partitioner), "");
    second(n, 100, 95); /* the jobs are seen for the first time */
    seconds(n, CACHE_LOOKS, 100, 95);
    assert_group_text(n->fake, 5, "/schemata", "L3:0=fffff;4=3\n");
    assert_group_text(n->fake, 5, "/cpus_list", "4-5\n");
    assert_false(has_group(n, 6));
    assert_true(n->job[0]->limited);
    assert_false(n->job[1]->limited);
    assert_said(n, "job 5 on CPU node 2 is confined to 10 % of the cache (two ways "
                   "at least): 95 % of its 100 LLC accesses per us miss");
    json_t *limits = partitioner_json(n->partitioner, n->job[0]);
    assert_int_equal(json_array_size(limits), 1);
    assert_int_equal(json_unpack(json_array_get(limits, 0), "{s:f}", "cache",
                                 &part), 0);
    assert_true(part == CACHE_PART);
    json_decref(limits);
    limits = partitioner_json(n->partitioner, n->job[1]);
    assert_true(json_is_null(limits));
    json_decref(limits);
    seconds(n, 20, 100, 95);
    assert_int_equal(decisions_count(n->decisions), 1);
    seconds(n, CACHE_LOOKS, 100, 20);
    assert_group_text(n->fake, 5, "/schemata", "L3:0=fffff;4=fffff\n");
    assert_false(n->job[0]->limited);
    assert_said(n, "no longer streams");
}

static void test_too_soon(void **state)
{
    struct node *n = *state;

    n->options.cache = 1;
    begin(n);
    second(n, 100, 95);
    for (int i = 0; i < 19; i++) { /* epochs of 50 ms */
        does(n->job[0], 100, 95);
        does(n->job[1], 100, 10);
        now_ns += PARTITIONER_LOOK_NS / 20;
        partitioner_epoch(n->partitioner);
    }
    assert_int_equal(decisions_count(n->decisions), 0);
}

static void test_cpus_follow(void **state)
{
    struct node *n = *state;

    n->options.cache = 1;
    begin(n);
    seconds(n, CACHE_LOOKS + 1, 100, 95);
    set_cpus(n->job[0], "0,4");
    now_ns += 1;
    observer_update(n->observer, &n->jobs, &n->options, now_ns);
    assert_group_text(n->fake, 5, "/cpus_list", "0,4\n"); /* at once */
    /* The job is over. */
    job_remove_task(n->job[0]->tasks);
    observer_update(n->observer, &n->jobs, &n->options, now_ns);
    assert_false(has_group(n, 5));
    assert_int_equal(n->fake->made, 0);
    second(n, 0, 0);
    assert_int_equal(n->fake->made, 0);
    /* Another step of it begins, and streams as before. */
    assert_non_null(job_add_task(n->job[0], 1, getpid()));
    set_cpus(n->job[0], "4,5");
    seconds(n, CACHE_LOOKS + 1, 100, 95);
    assert_group_text(n->fake, 5, "/schemata", "L3:0=fffff;4=3\n");
}

static void test_switched_off(void **state)
{
    struct node *n = *state;

    n->options.cache = 1;
    begin(n);
    seconds(n, CACHE_LOOKS + 1, 100, 95);
    assert_int_equal(n->fake->made, 1);
    n->options.cache = 0;
    partitioner_configure(n->partitioner, "auto");
    assert_int_equal(n->fake->made, 0);
    assert_null(n->job[0]->tally);
    assert_false(n->job[0]->limited);
    seconds(n, 5, 100, 95);
    assert_int_equal(n->fake->made, 0);
    n->options.cache = 1; /* and on again */
    partitioner_configure(n->partitioner, "auto");
    seconds(n, CACHE_LOOKS + 1, 100, 95);
    assert_int_equal(n->fake->made, 1);
}

static void test_kernel_shares(void **state)
{
    struct node *n = *state;

    n->options.cache = 1;
    begin(n);
    seconds(n, CACHE_LOOKS + 1, 100, 95);
    assert_true(n->job[0]->limited);
    n->job[0]->shared = n->job[1]->shared = true; /* policy native */
    seconds(n, 1, 100, 95);
    assert_false(n->job[0]->limited);
    assert_group_text(n->fake, 5, "/schemata", "L3:0=fffff;4=fffff\n");
}

/* Classes of service are used up, or permission is lost, while jobs run. */
static void test_failures(void **state)
{
    struct node *n = *state;
    char name[160], path[300];

    n->options.cache = 1;
    n->fake->most = 0;
    begin(n);
    seconds(n, 10, 100, 95);
    assert_false(n->job[0]->limited);
    assert_said(n, "job 5 is not limited: all classes of service");
    assert_int_equal(decisions_count(n->decisions), 2); /* said once */
    n->fake->most = 4;
    second(n, 100, 95);
    assert_true(n->job[0]->limited);
    snprintf(path, sizeof(path), "%s/%s", n->fake->is.tree->root,
             fake_group(name, 5, "/schemata"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* nobody can write that */
    seconds(n, 10, 100, 20);
    assert_said(n, "job 5: schemata: Is a directory");
    assert_int_equal(decisions_count(n->decisions), 4);
    assert_int_equal(rmdir(path), 0);
    second(n, 100, 20);
    assert_group_text(n->fake, 5, "/schemata", "L3:0=fffff;4=fffff\n");
    assert_int_equal(decisions_count(n->decisions), 4);
}

static void test_cap(void **state)
{
    struct node *n = *state;

    fake_offer_bandwidth(n->fake, "L3:0=fffff;4=fffff\nMB:0=100;4=100\n");
    n->fake->is.setup.calibrated = true;
    n->fake->is.machine->home[2] = 1;
    n->fake->is.machine->controller_service_us[1] = 0.01; /* 100 per us */
    n->options.bandwidth = 1;
    begin(n);
    seconds(n, CACHE_LOOKS + 1, 100, 150); /* 80 of them, beside the other's 10 */
    assert_group_text(n->fake, 5, "/schemata", "L3:0=fffff;4=fffff\nMB:0=100;4=60\n");
    assert_said(n, "job 5 on CPU node 2 is capped to 80 of the 150 requests");
}

static void test_problems(void **state)
{
    struct node *n = *state;

    n->options.cache = n->options.bandwidth = 1;
    begin(n);
    assert_string_equal(partitioner_problem(n->partitioner),
                        "cosched_bandwidth=cap: resctrl: this CPU limits no "
                        "bandwidth");
    seconds(n, CACHE_LOOKS + 1, 100, 95); /* the other rule applies */
    assert_true(n->job[0]->limited);
    n->options.cache = 0;
    partitioner_configure(n->partitioner, "auto");
    assert_int_equal(n->fake->made, 0);
    n->options.cache = 1;
    n->options.bandwidth = 0;
    partitioner_configure(n->partitioner, "resctrl:/nowhere");
    assert_string_equal(partitioner_problem(n->partitioner),
                        "cosched_cache=confine: resctrl: /nowhere: No such file "
                        "or directory (CPU or kernel without resctrl)");
    seconds(n, 5, 100, 95);
    n->options.cache = 0;
    partitioner_configure(n->partitioner, "auto");
    assert_string_equal(partitioner_problem(n->partitioner), "");
}

static void test_not_calibrated(void **state)
{
    struct node *n = *state;

    fake_offer_bandwidth(n->fake, "L3:0=fffff;4=fffff\nMB:0=100;4=100\n");
    n->options.bandwidth = 1;
    begin(n);
    assert_non_null(strstr(partitioner_problem(n->partitioner),
                           "what the memory can serve is not known"));
    seconds(n, 5, 1000, 1000);
    assert_int_equal(n->fake->made, 0);
}

/* resctrl is mounted when the agent has long been running. */
static void test_mounted_later(void **state)
{
    struct node *n = *state;
    char here[96], gone[96];

    snprintf(here, sizeof(here), "%s/" ROOT "info/L3", n->fake->is.tree->root);
    snprintf(gone, sizeof(gone), "%s/L3", n->fake->is.tree->root);
    assert_int_equal(rename(here, gone), 0);
    n->options.cache = 1;
    begin(n);
    assert_non_null(strstr(partitioner_problem(n->partitioner), "neither L3"));
    assert_int_equal(rename(gone, here), 0);
    seconds(n, 10, 100, 95); /* too soon to look again */
    assert_non_null(strstr(partitioner_problem(n->partitioner), "neither L3"));
    seconds(n, 52, 100, 95);
    assert_string_equal(partitioner_problem(n->partitioner), "");
    seconds(n, CACHE_LOOKS + 1, 100, 95);
    assert_true(n->job[0]->limited);
}

/* The agent is killed: its warden removes groups, but no cgroup. */
static void test_warden(void **state)
{
    struct node *n = *state;
    struct errtext err = {""};
    char path[2][160];

    snprintf(path[0], sizeof(path[0]), "%s/coschedd.1.2.3",
             n->fake->is.tree->root);
    snprintf(path[1], sizeof(path[1]), "%s/job_7", n->fake->is.tree->root);
    struct warden *w = warden_new(&err);
    assert_non_null(w);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(warden_narrowed(w, path[i]), 0);
        assert_int_equal(mkdir(path[i], 0700), 0);
    }
    warden_free(w);
    assert_int_equal(access(path[0], F_OK), -1);
    assert_int_equal(access(path[1], F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tally),
        TEST(test_off),          TEST(test_confine),
        TEST(test_too_soon),     TEST(test_cpus_follow),
        TEST(test_switched_off), TEST(test_kernel_shares),
        TEST(test_failures),     TEST(test_cap),
        TEST(test_problems),     TEST(test_not_calibrated),
        TEST(test_mounted_later), TEST(test_warden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
