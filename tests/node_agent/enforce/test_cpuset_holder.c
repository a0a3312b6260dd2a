/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* cpuset_holder: jobs of very many tasks, in trees made of files. */

#include "tests/support/unit.h"

#include <unistd.h>

#include "node_agent/core/enforcer.h"
#include "node_agent/enforce/cpuset_holder.h"
#include "protocol/cpulist.h"
#include "tests/support/tree.h"

#define TASKS 300
#define JOB   12
#define USER  "system.slice/n1_slurmstepd.scope/job_12/step_0/user"

struct world {
    struct tree *tree;
    struct cpuset_holder *holder;
    struct cosched_cpuset cpus;
};

/* TASKS processes, with the numbers from 100 on, each a task with a group of its own. */
static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    char file[128], text[512];
    struct errtext err;

    w->tree = tree_new();
    snprintf(text, sizeof(text), "30 29 0:26 / %s/v2 rw - cgroup2 cgroup2 rw\n", w->tree->root);
    tree_write(w->tree, "proc/self/mountinfo", text);
    tree_write(w->tree, "v2/cgroup.controllers", "cpuset cpu memory\n");
    for (int i = 0; i < TASKS; i++) {
        snprintf(file, sizeof(file), "proc/%d/cgroup", 100 + i);
        snprintf(text, sizeof(text), "0::/" USER "/task_%d\n", i);
        tree_write(w->tree, file, text);
        snprintf(file, sizeof(file), "v2/" USER "/task_%d/cpuset.cpus", i);
        tree_write(w->tree, file, "\n");
        snprintf(file, sizeof(file), "v2/" USER "/task_%d/cgroup.procs", i);
        tree_write(w->tree, file, "");
    }
    snprintf(text, sizeof(text), "%s/proc", w->tree->root);
    assert_non_null(w->holder = cpuset_holder_new("n1", text, NULL, &err));
    assert_int_equal(cpulist_parse("1", &w->cpus, NULL), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    cpuset_holder_free(w->holder);
    tree_free(w->tree);
    free(w);
    return 0;
}

/* Groups that have CPUs of their own. */
static int narrow(const struct world *w)
{
    char path[600], text[16];
    int count = 0;

    for (int i = 0; i < TASKS; i++) {
        snprintf(path, sizeof(path), "%s/v2/" USER "/task_%d/cpuset.cpus", w->tree->root, i);
        FILE *f = fopen(path, "r");
        count += f && fgets(text, sizeof(text), f) && text[0] != '\n';
        if (f)
            fclose(f);
    }
    return count;
}

static void hold(struct world *w, int from, int to)
{
    struct errtext err;

    cpuset_holder_begin(w->holder, JOB, &w->cpus, false);
    for (int i = from; i < to; i++)
        if (cpuset_holder_hold(w->holder, 100 + i, &err) < 0)
            fail_msg("%s", err.text);
}

/* Epochs until nothing is owed, each of which lets go as many as its work is for; 0: at once. */
static int settle(struct world *w, int before)
{
    int epochs = 0;

    for (;; epochs++) {
        int now = narrow(w);
        assert_true(before - now <= ENFORCER_WORK / 2 / CPUSET_WORK);
        before = now;
        if (!cpuset_holder_owes(w->holder))
            return epochs;
        size_t work = ENFORCER_WORK / 2;
        cpuset_holder_look(w->holder, &work);
        assert_true(epochs < TASKS);
    }
}

/* However many groups a job has, at its end an epoch restores no more than it has work for; so
 * where they are not used any more. */
static void test_many_groups(void **state)
{
    struct world *w = *state;
    size_t work = ENFORCER_WORK / 2;

    hold(w, 0, TASKS);
    cpuset_holder_end(w->holder, &work);
    assert_int_equal(work, ENFORCER_WORK / 2);
    assert_int_equal(narrow(w), TASKS);
    hold(w, 0, 10);
    cpuset_holder_end(w->holder, &work);
    assert_true(settle(w, TASKS) > 1);
    assert_int_equal(narrow(w), 10);

    hold(w, 0, TASKS);
    work = ENFORCER_WORK / 2;
    cpuset_holder_release(w->holder, JOB, &work);
    assert_true(settle(w, TASKS) > 1);
    assert_int_equal(narrow(w), 0);
}

/* Who is held again before it was let go stays so, and one that fails keeps none from it. */
static void test_again(void **state)
{
    struct world *w = *state;
    size_t work = 2 * CPUSET_WORK;
    char path[600];

    hold(w, 0, TASKS);
    cpuset_holder_release(w->holder, JOB, &work);
    assert_int_equal(narrow(w), TASKS - 2);
    hold(w, 0, 10);
    assert_int_equal(settle(w, TASKS), TASKS / (ENFORCER_WORK / 2 / CPUSET_WORK) + 1);
    assert_int_equal(narrow(w), 10);

    hold(w, 0, 10);
    work = ENFORCER_WORK / 2;
    cpuset_holder_end(w->holder, &work);
    snprintf(path, sizeof(path), "%s/v2/" USER "/task_9/cpuset.cpus", w->tree->root);
    assert_int_equal(unlink(path), 0);
    work = ENFORCER_WORK / 2;
    cpuset_holder_release(w->holder, JOB, &work);
    assert_int_equal(narrow(w), 0);
    assert_true(cpuset_holder_owes(w->holder));
    tree_write(w->tree, "v2/" USER "/task_9/cpuset.cpus", "1\n");
    cpuset_holder_look(w->holder, &work);
    assert_false(cpuset_holder_owes(w->holder));
    assert_int_equal(narrow(w), 0);
}

UNIT(test_cpuset_holder)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_many_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_again, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("test_cpuset_holder", tests, NULL, NULL);
}
