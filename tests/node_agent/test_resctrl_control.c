/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Control groups in a resctrl that the test plays. */

#include "tests/node_agent/unit.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "node_agent/counters/resctrl_control.h"
#include "node_agent/counters/resctrl_private.h"
#include "common/cpulist.h"
#include "tests/node_agent/fake_resctrl.h"

struct node {
    struct fake_resctrl *fake;
    struct resctrl_control *control;
};

/* CAT with MASK ways of each of the two caches; what the default group has. */
static void offer_cache(const struct node *n, const char *mask,
                        const char *shareable, const char *schemata)
{
    char text[32];

    snprintf(text, sizeof(text), "%s\n", mask);
    fake_put(n->fake, ROOT "info/L3/cbm_mask", text);
    fake_put(n->fake, ROOT "info/L3/min_cbm_bits", "1\n");
    snprintf(text, sizeof(text), "%s\n", shareable);
    fake_put(n->fake, ROOT "info/L3/shareable_bits", text);
    fake_put(n->fake, ROOT "info/L3/num_closids", "4\n");
    fake_put(n->fake, ROOT "schemata", schemata);
}

static int setup(void **state)
{
    struct node *n = calloc(1, sizeof(*n));

    n->fake = fake_resctrl_new();
    *state = n;
    return 0;
}

static int teardown(void **state)
{
    struct node *n = *state;

    resctrl_control_free(n->control);
    fake_resctrl_free(n->fake);
    free(n);
    return 0;
}

static void open_control(struct node *n)
{
    struct errtext err = {""};

    n->control = resctrl_control_new(&n->fake->is.setup, &n->fake->source, &err);
    if (!n->control)
        fail_msg("%s", err.text);
}

static void refused(struct node *n, int errnum, const char *text)
{
    struct errtext err = {""};

    n->control = resctrl_control_new(&n->fake->is.setup, &n->fake->source, &err);
    if (n->control)
        fail_msg("lacks \"%s\"", text);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" lacks \"%s\"", err.text, text);
    assert_int_equal(errno, errnum);
}

static struct cosched_cpuset cpus_of(const char *list)
{
    struct cosched_cpuset set = {{0}};

    if (*list)
        assert_int_equal(cpulist_parse(list, &set, NULL), 0);
    return set;
}

/* JOB with CPUs LIST may have PART of the caches of CPU nodes 0 and 1 (which are
 * one), and RATE of their bandwidth. */
static int set(struct node *n, uint32_t job, const char *list, double part,
               double rate, struct errtext *err)
{
    struct cache_share share[3] = {cache_unlimited, cache_unlimited,
                                   cache_unlimited};
    struct cosched_cpuset cpus = cpus_of(list);

    share[0].part = share[1].part = part;
    share[0].rate = rate;
    share[0].requests = rate < 1 ? rate * 1000 : INFINITY;
    return resctrl_control_set(n->control, job, &cpus, share, err);
}

/* There are the jobs A and B (0: no such job), with these CPUs. */
static int assign(struct node *n, uint32_t a, const char *list, uint32_t b,
                  const char *others, struct errtext *err)
{
    struct counters_job jobs[2] = {
        {.id = a, .cpus = cpus_of(a ? list : "")},
        {.id = b, .cpus = cpus_of(b ? others : "")},
    };

    return resctrl_control_assign(n->control, jobs + !a, (size_t)!!a + !!b, err);
}

static void assert_group(const struct node *n, uint32_t job, const char *cpus,
                         const char *schemata)
{
    assert_group_text(n->fake, job, "/cpus_list", cpus);
    assert_group_text(n->fake, job, "/schemata", schemata);
}

static bool has_group(const struct node *n, uint32_t job)
{
    char name[160];
    bool there = fake_has(n->fake, fake_group(name, job, ""));

    assert_int_equal(resctrl_control_has(n->control, job), there);
    return there;
}

/* Put a directory in place of FILE of JOB's group: nobody can write that. */
static void block(const struct node *n, uint32_t job, const char *file)
{
    char name[160], path[300];

    snprintf(path, sizeof(path), "%s/%s", n->fake->is.tree->root,
             fake_group(name, job, file));
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void unblock(const struct node *n, uint32_t job, const char *file)
{
    char name[160], path[300];

    snprintf(path, sizeof(path), "%s/%s", n->fake->is.tree->root,
             fake_group(name, job, file));
    assert_int_equal(rmdir(path), 0);
}

/* ---- what is written ----------------------------------------------------- */

static void test_twenty_ways(void **state)
{
    struct node *n = *state;
    char text[128];

    offer_cache(n, "fffff", "0", "    L3:0=fffff;4=fffff\n");
    open_control(n);
    assert_string_equal(resctrl_info_describe(resctrl_control_info(n->control),
                                              text, sizeof(text)),
                        "20 ways of 2 caches, for 3 jobs");
    assert_int_equal(set(n, 5, "0-3", 0.1, 1, NULL), 0);
    assert_group(n, 5, "0-3\n", "L3:0=3;4=fffff\n");
    assert_int_equal(set(n, 5, "0-3", 1, 1, NULL), 0);
    assert_group(n, 5, "0-3\n", "L3:0=fffff;4=fffff\n");
}

static void test_eleven_ways(void **state)
{
    struct node *n = *state;

    /* Devices use the high two; of the second cache, the first three ways are
     * somebody else's. */
    offer_cache(n, "7ff", "600", "MB:0=9\nL3:0=7ff;4=7f8\n");
    open_control(n);
    assert_int_equal(set(n, 5, "0-3", 0.1, 1, NULL), 0);
    assert_group(n, 5, "0-3\n", "L3:0=3;4=7f8\n");
}

static void test_code_and_data(void **state)
{
    struct node *n = *state;
    char text[128];

    fake_put(n->fake, ROOT "info/L3CODE/cbm_mask", "fffff\n");
    fake_put(n->fake, ROOT "info/L3DATA/cbm_mask", "fffff\n");
    fake_put(n->fake, ROOT "info/L3DATA/min_cbm_bits", "1\n");
    fake_put(n->fake, ROOT "info/L3DATA/num_closids", "8\n");
    fake_put(n->fake, ROOT "schemata", "L3CODE:0=fffff;4=fffff\n"
                                       "L3DATA:0=fffff;4=fffff\n");
    open_control(n);
    resctrl_info_describe(resctrl_control_info(n->control), text, sizeof(text));
    assert_string_equal(text, "20 ways for data of 2 caches, for 7 jobs");
    assert_int_equal(set(n, 5, "0-3", 0.1, 1, NULL), 0);
    assert_group(n, 5, "0-3\n", "L3DATA:0=3;4=fffff\n");
}

static void test_bandwidth_only(void **state)
{
    struct node *n = *state;
    char text[128];

    fake_offer_bandwidth(n->fake, "    MB:0= 100;4= 100\n");
    open_control(n);
    resctrl_info_describe(resctrl_control_info(n->control), text, sizeof(text));
    assert_string_equal(text, "bandwidth in steps of 10 %, for 7 jobs");
    assert_int_equal(set(n, 5, "0-3", 0.1, 1, NULL), 0);
    assert_false(has_group(n, 5)); /* nothing that could be done */
    assert_int_equal(set(n, 5, "0-3", 1, 0.55, NULL), 0);
    assert_group(n, 5, "0-3\n", "MB:0=60;4=100\n");
}

static void test_megabytes(void **state)
{
    struct node *n = *state;
    char mounts[300];

    fake_offer_bandwidth(n->fake, "MB:0=4294967295;4=4294967295\n");
    snprintf(mounts, sizeof(mounts),
             "proc /proc proc rw 0 0\n"
             "resctrl %s/fs/resctrl resctrl rw,relatime,cdp,mba_MBps 0 0\n",
             n->fake->is.tree->root);
    fake_put(n->fake, "proc/mounts", mounts);
    open_control(n);
    /* 500 lines of 64 bytes per us are 32 GB/s. */
    assert_int_equal(set(n, 5, "0-3", 1, 0.5, NULL), 0);
    assert_group(n, 5, "0-3\n", "MB:0=30517;4=4294967295\n");
}

static void test_both(void **state)
{
    struct node *n = *state;
    char text[128];

    offer_cache(n, "fffff", "0", "");
    fake_offer_bandwidth(n->fake, "L3:0=fffff;4=fffff\nMB:0=100;4=50\n");
    open_control(n);
    resctrl_info_describe(resctrl_control_info(n->control), text, sizeof(text));
    assert_string_equal(text, "20 ways of 2 caches, bandwidth in steps of 10 %, "
                              "for 3 jobs");
    assert_int_equal(set(n, 5, "4", 0.1, 0.3, NULL), 0);
    assert_group(n, 5, "4\n", "L3:0=3;4=fffff\nMB:0=30;4=50\n");
}

static void test_only_changes(void **state)
{
    struct node *n = *state;
    char name[160], path[300];

    offer_cache(n, "fffff", "0", "L3:0=fffff;4=fffff\n");
    open_control(n);
    assert_int_equal(set(n, 5, "0-3", 1, 1, NULL), 0);
    assert_int_equal(assign(n, 5, "0-3", 6, "4-7", NULL), 0);
    assert_false(has_group(n, 5)); /* who is not limited has no group */
    assert_int_equal(n->fake->made, 0);
    assert_int_equal(set(n, 5, "0-3", 0.1, 1, NULL), 0);
    snprintf(path, sizeof(path), "%s/%s", n->fake->is.tree->root,
             fake_group(name, 5, "/schemata"));
    assert_int_equal(unlink(path), 0); /* would be made by a write */
    assert_int_equal(set(n, 5, "0-3", 0.1, 1, NULL), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(assign(n, 5, "0-2", 6, "4-7", NULL), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_group_text(n->fake, 5, "/cpus_list", "0-2\n");
}

static void test_cpus_move(void **state)
{
    struct node *n = *state;

    offer_cache(n, "fffff", "0", "L3:0=fffff;4=fffff\n");
    fake_put(n->fake, "devices/system/cpu/online", "0-6\n");
    open_control(n);
    assert_int_equal(set(n, 5, "0-3", 0.1, 1, NULL), 0);
    assert_int_equal(set(n, 6, "4-7", 0.1, 1, NULL), 0);
    assert_group_text(n->fake, 6, "/cpus_list", "4-6\n");
    assert_int_equal(assign(n, 5, "4-7", 6, "0-3", NULL), 0);
    assert_group_text(n->fake, 5, "/cpus_list", "4-6\n");
    assert_group_text(n->fake, 6, "/cpus_list", "0-3\n");
    /* Both have all: the kernel gives it to the last, who then ends. */
    assert_int_equal(assign(n, 5, "0-6", 6, "0-6", NULL), 0);
    fake_put(n->fake, "devices/system/cpu/online", "0-7\n");
    assert_int_equal(assign(n, 5, "0-6", 0, NULL, NULL), 0);
    assert_false(has_group(n, 6));
    assert_group_text(n->fake, 5, "/cpus_list", "0-6\n");
    assert_int_equal(assign(n, 5, "", 0, NULL, NULL), 0); /* waits */
    assert_group_text(n->fake, 5, "/cpus_list", "\n");
    assert_int_equal(assign(n, 0, NULL, 0, NULL, NULL), 0);
    assert_int_equal(n->fake->made, 0);
}

/* What counts for a job follows it into its control group and stays there. */
static void test_counting(void **state)
{
    struct node *n = *state;
    struct sample *s = n->fake->is.sample;
    struct counters_job job = {.id = 5, .cpus = cpus_of("4-7")};
    char name[160];
    void *backend;

    offer_cache(n, "fffff", "0", "L3:0=fffff;4=fffff\n");
    open_control(n);
    assert_int_equal(resctrl_open(&n->fake->is.setup, &n->fake->source, &backend,
                                  NULL), 0);
    assert_int_equal(counters_resctrl.assign(backend, &job, 1, NULL), 0);
    assert_int_equal(n->fake->made, 1);
    assert_int_equal(counters_resctrl.sample(backend, s, NULL), 0);
    assert_int_equal(set(n, 5, "4-7", 0.1, 1, NULL), 0);
    job.controlled = true;
    assert_int_equal(counters_resctrl.assign(backend, &job, 1, NULL), 0);
    assert_int_equal(n->fake->made, 1); /* one group: the other is gone */
    fake_put(n->fake, fake_group(name, 5, "/mon_data/mon_L3_04/mbm_total_bytes"),
             "6400\n");
    assert_int_equal(counters_resctrl.sample(backend, s, NULL), 0);
    assert_true(isnan(s->group[2].total)); /* counted by another number */
    fake_put(n->fake, fake_group(name, 5, "/mon_data/mon_L3_04/mbm_total_bytes"),
             "12800\n");
    sample_set_groups(s, NULL, 0);
    assert_int_equal(counters_resctrl.sample(backend, s, NULL), 0);
    assert_true(fabs(s->group[2].total - 100) < 1e-9);
    job.controlled = false;
    assert_int_equal(counters_resctrl.assign(backend, &job, 1, NULL), 0);
    assert_int_equal(n->fake->made, 2);
    assert_true(has_group(n, 5)); /* is not the backend's to remove */
    counters_resctrl.close(backend);
    assert_true(has_group(n, 5));
}

/* ---- what goes wrong ----------------------------------------------------- */

static void test_classes_used_up(void **state)
{
    struct node *n = *state;
    struct errtext err = {""};

    offer_cache(n, "fffff", "0", "L3:0=fffff;4=fffff\n");
    n->fake->most = 1;
    open_control(n);
    assert_int_equal(set(n, 5, "0-1", 0.1, 1, &err), 0);
    assert_int_equal(set(n, 6, "2-3", 0.1, 1, &err), -1);
    assert_int_equal(errno, ENOSPC);
    assert_string_equal(err.text, "resctrl: job 6 is not limited: all classes of "
                                  "service (CLOSIDs) are in use");
    assert_false(has_group(n, 6));
    assert_int_equal(assign(n, 6, "0-3", 0, NULL, NULL), 0); /* 5 ended */
    assert_int_equal(set(n, 6, "0-3", 0.1, 1, &err), 0);
    assert_group(n, 6, "0-3\n", "L3:0=3;4=fffff\n");
}

static void test_refused(void **state)
{
    struct node *n = *state;
    struct errtext err = {""};

    offer_cache(n, "fffff", "0", "L3:0=fffff;4=fffff\n");
    fake_put(n->fake, ROOT "info/last_cmd_status", "mask overlaps\n");
    open_control(n);
    assert_int_equal(set(n, 5, "0-1", 0.1, 1, &err), 0);
    block(n, 5, "/schemata");
    assert_int_equal(set(n, 5, "0-1", 0.5, 1, &err), -1);
    assert_int_equal(errno, EISDIR);
    assert_string_equal(err.text, "resctrl: job 5: schemata: Is a directory "
                                  "(mask overlaps)");
    assert_group_text(n->fake, 5, "/cpus_list", "0-1\n"); /* as before */
    unblock(n, 5, "/schemata");
    assert_int_equal(set(n, 5, "0-1", 0.5, 1, &err), 0);
    assert_group(n, 5, "0-1\n", "L3:0=3ff;4=fffff\n");
    fake_put(n->fake, ROOT "info/last_cmd_status", "ok\n");
    block(n, 5, "/cpus_list");
    assert_int_equal(assign(n, 5, "0-2", 0, NULL, &err), -1);
    assert_string_equal(err.text, "resctrl: job 5: cpus_list: Is a directory");
    unblock(n, 5, "/cpus_list");
    assert_int_equal(set(n, 5, "0-2", 0.5, 1, &err), 0); /* once more */
    assert_group_text(n->fake, 5, "/cpus_list", "0-2\n");
}

/* Somebody removes the group, or unmounts it all, while the job runs. */
static void test_gone(void **state)
{
    struct node *n = *state;
    struct errtext err = {""};
    char name[160], path[300];

    offer_cache(n, "fffff", "0", "L3:0=fffff;4=fffff\n");
    open_control(n);
    assert_int_equal(set(n, 5, "0-1", 0.1, 1, &err), 0);
    snprintf(path, sizeof(path), "%s/%s", n->fake->is.tree->root,
             fake_group(name, 5, ""));
    fake_resctrl_remove(n->fake, path);
    assert_int_equal(set(n, 5, "0-1", 0.5, 1, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(set(n, 5, "0-1", 0.5, 1, &err), 0);
    assert_group(n, 5, "0-1\n", "L3:0=3ff;4=fffff\n");
    fake_resctrl_remove(n->fake, path);
    assert_int_equal(assign(n, 5, "0-2", 0, NULL, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(assign(n, 5, "0-2", 0, NULL, &err), 0); /* has none */
}

static void test_nothing_to_control(void **state)
{
    struct node *n = *state;
    char elsewhere[96];

    refused(n, ENOTSUP, "neither L3 nor MB (this CPU monitors");
    snprintf(elsewhere, sizeof(elsewhere), "%s/proc", n->fake->is.tree->root);
    n->fake->is.setup.argument = elsewhere;
    refused(n, ENOTSUP, "nothing mounted at");
    n->fake->is.setup.argument = "/nowhere";
    refused(n, ENOTSUP, "/nowhere: No such file");
}

static void test_garbage(void **state)
{
    static const struct {
        const char *file, *text, *error;
    } table[] = {
        {"info/L3/cbm_mask", "xyz\n", "cbm_mask: \"xyz\" is not a mask"},
        {"info/L3/cbm_mask", "\n", "cbm_mask: \"\" is not a mask"},
        {"info/L3/cbm_mask", "-1\n", "\"-1\" is not a mask"},
        {"info/L3/cbm_mask", "fffff fffff\n", "is not a mask"},
        {"info/L3/cbm_mask", "11112222333344445\n", "is not a mask"},
        {"info/L3/min_cbm_bits", "many\n", "\"many\" is not a number"},
        {"info/L3/min_cbm_bits", "65\n", "\"65\" is not a number"},
        {"info/L3/num_closids", "4.5\n", "\"4.5\" is not a number"},
        {"info/L3/shareable_bits", "?\n", "shareable_bits: \"?\""},
        {"info/MB/min_bandwidth", "101\n", "min_bandwidth: \"101\""},
        {"info/MB/bandwidth_gran", "", "bandwidth_gran: "},
        {"schemata", "L3:0=fffff;4=fffff\n", "its line of MB makes no sense"},
        {"schemata", "L3:0\nMB:0=1\n", "its line of L3 makes no sense"},
        {"schemata", "L3:\nMB:0=1\n", "its line of L3"},
        {"schemata", "L3:0=fffff;x=3\nMB:0=1;4=2\n", "its line of L3"},
        {"schemata", "L3:0=fffff;4=fffff\nMB:0=100;4=all\n", "its line of MB"},
        {"schemata", "", "its line of L3"},
        {"schemata", "L3:0=ff;4=fffff 7\nMB:0=1;4=2\n", "its line of L3"},
        {"schemata", "L3:0=fffff;1=fffff\nMB:0=100;1=100\n", "CPU 4: its cache"},
    };
    struct node *n = *state;
    char file[96];

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        offer_cache(n, "fffff", "0", "");
        fake_offer_bandwidth(n->fake, "L3:0=fffff;4=fffff\nMB:0=100;4=100\n");
        snprintf(file, sizeof(file), ROOT "%s", table[i].file);
        fake_put(n->fake, file, table[i].text);
        struct errtext err = {""};
        n->control =
            resctrl_control_new(&n->fake->is.setup, &n->fake->source, &err);
        if (n->control || !strstr(err.text, table[i].error))
            fail_msg("%s: \"%s\" lacks \"%s\"", table[i].file, err.text,
                     table[i].error);
    }
    assert_int_equal(n->fake->made, 0);
}

/* ---- other groups -------------------------------------------------------- */

static void test_others(void **state)
{
    struct node *n = *state;

    offer_cache(n, "fffff", "0", "L3:0=fffff;4=fffff\n");
    fake_put(n->fake, ROOT "pqos/cpus_list", "\n"); /* goes by tasks */
    fake_put(n->fake, ROOT "pqos/tasks", "1\n");
    fake_put(n->fake, ROOT "coschedd.4000000.1.7/cpus_list", "0-1\n");
    fake_put(n->fake, ROOT "coschedd.mine/cpus_list", "\n");
    fake_put(n->fake, "proc/77/stat", "77 (coschedd) S 4 5 6 7 8 9 10 11 12 13 14 "
                                      "15 16 17 18 19 20 21 900\n");
    fake_put(n->fake, ROOT "coschedd.77.900.3/cpus_list", "\n");
    n->fake->made = 1;
    open_control(n);
    assert_int_equal(n->fake->made, 0);
    assert_false(fake_has(n->fake, ROOT "coschedd.4000000.1.7"));
    assert_true(fake_has(n->fake, ROOT "coschedd.mine"));
    assert_true(fake_has(n->fake, ROOT "coschedd.77.900.3"));
    assert_true(fake_has(n->fake, ROOT "pqos"));
    assert_true(fake_has(n->fake, ROOT "info"));
    resctrl_control_free(n->control);
    fake_put(n->fake, ROOT "pqos/cpus_list", "4-7\n");
    refused(n, EBUSY, "control group pqos of another tool has CPUs 4-7");
}

/* An agent is killed; the next one, even if it controls nothing, cleans up. */
static void test_killed(void **state)
{
    struct node *n = *state;
    char name[96];
    int ready[2];

    offer_cache(n, "fffff", "0", "L3:0=fffff;4=fffff\n");
    n->fake->is.setup.procfs = "/proc";
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        open_control(n);
        bool good = set(n, 5, "0-3", 0.1, 1, NULL) == 0 &&
                    set(n, 6, "4-7", 0.1, 1, NULL) == 0;
        if (write(ready[1], good ? "y" : "n", 1) < 1)
            _exit(1);
        for (;;)
            pause();
    }
    char answer = 0;
    assert_int_equal(read(ready[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    close(ready[0]);
    close(ready[1]);
    n->fake->made = 2;
    unsigned long long start = resctrl_start_time("/proc", child);
    snprintf(name, sizeof(name), ROOT "coschedd.%d.%llu.5", (int)child, start);
    assert_true(fake_has(n->fake, name));
    /* As long as it lives they are its own. */
    resctrl_control_sweep(&n->fake->is.setup, &n->fake->source);
    assert_int_equal(n->fake->made, 2);
    kill(child, SIGKILL);
    siginfo_t info; /* it is dead, even if nobody has looked yet */
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    resctrl_control_sweep(&n->fake->is.setup, &n->fake->source);
    assert_int_equal(n->fake->made, 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int job = 5; job <= 6; job++) {
        snprintf(name, sizeof(name), ROOT "coschedd.%d.%llu.%d", (int)child,
                 start, job);
        assert_false(fake_has(n->fake, name));
    }
    n->fake->is.setup.argument = "/nowhere";
    resctrl_control_sweep(&n->fake->is.setup, &n->fake->source);
}

static void test_end(void **state)
{
    struct node *n = *state;

    offer_cache(n, "fffff", "0", "L3:0=fffff;4=fffff\n");
    open_control(n);
    assert_int_equal(set(n, 5, "0-3", 0.1, 1, NULL), 0);
    assert_int_equal(set(n, 6, "4-7", 0.1, 1, NULL), 0);
    assert_int_equal(n->fake->made, 2);
    resctrl_control_free(n->control);
    n->control = NULL;
    assert_int_equal(n->fake->made, 0);
    resctrl_control_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_twenty_ways),     TEST(test_eleven_ways),
        TEST(test_code_and_data),   TEST(test_bandwidth_only),
        TEST(test_megabytes),       TEST(test_both),
        TEST(test_only_changes),    TEST(test_cpus_move),
        TEST(test_counting),        TEST(test_classes_used_up),
        TEST(test_refused),         TEST(test_gone),
        TEST(test_nothing_to_control), TEST(test_garbage),
        TEST(test_others),          TEST(test_killed),
        TEST(test_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
