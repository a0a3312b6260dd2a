/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* cgroup: trees and processes made of files, in all the layouts that Slurm,
 * systemd and containers make.  Real ones are in test_agent_cpuset.py. */

#include "tests/support/unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "node_agent/enforce/cgroup.h"
#include "protocol/cpulist.h"
#include "tests/support/tree.h"

#define NODE "n1"

/* Fake /proc and cgroup directories; version 1's or 2's hierarchy. */
struct world {
    struct tree *tree;
    struct cgroup_tree cgroups;
};

static const char *in(const struct world *w, const char *path)
{
    static char text[4][CGROUP_PATH_MAX];
    static int next;
    char *t = text[next++ % 4];

    snprintf(t, CGROUP_PATH_MAX, "%s/%s", w->tree->root, path);
    return t;
}

static void write_cgroup(const struct world *w, int pid, const char *text)
{
    char file[64];

    snprintf(file, sizeof(file), "proc/%d/cgroup", pid);
    tree_write(w->tree, file, text);
}

/* The world with a mountinfo in which %s is the tree. */
static int world_new(struct world *w, const char *mountinfo,
                     struct errtext *err)
{
    char text[4096];

    w->tree = tree_new();
    snprintf(text, sizeof(text), mountinfo, w->tree->root, w->tree->root);
    tree_write(w->tree, "proc/self/mountinfo", text);
    tree_write(w->tree, "v2/cgroup.controllers", "cpuset cpu memory\n");
    tree_write(w->tree, "hybrid/cgroup.controllers", "\n");
    return cgroup_tree_find(&w->cgroups, in(w, "proc"), NODE, err);
}

static const char v1[] =
    "24 1 0:22 / /proc rw - proc proc rw\n"
    "30 29 0:26 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
    "31 29 0:27 / %s/v1 rw,nosuid shared:10 master:1 - cgroup cgroup rw,cpuset\n";
static const char v2[] = "30 29 0:26 / %s/v2 rw - cgroup2 cgroup2 rw,nsdelegate\n";

static void world_free(struct world *w)
{
    tree_free(w->tree);
}

static void test_find(void **state)
{
    struct world w;
    struct errtext err;

    (void)state;
    assert_int_equal(world_new(&w, v1, &err), 0);
    assert_false(w.cgroups.unified);
    assert_string_equal(w.cgroups.mount, in(&w, "v1"));
    world_free(&w);
    assert_int_equal(world_new(&w, v2, &err), 0);
    assert_true(w.cgroups.unified);
    world_free(&w);
    /* Both mounted, the controller is version 1's. */
    assert_int_equal(world_new(&w,
                               "1 0 0:1 / %s/hybrid rw - cgroup2 cgroup2 rw\n"
                               "2 0 0:2 / %s/v1 rw - cgroup x rw,cpu,cpuset\n",
                               &err),
                     0);
    assert_false(w.cgroups.unified);
    world_free(&w);
    assert_int_equal(world_new(&w, "1 0 0:1 / %s/hybrid rw - cgroup2 x rw\n",
                               &err),
                     -1);
    assert_int_equal(errno, ENOTSUP);
    world_free(&w);
}

struct place {
    const char *cgroup; /* /proc/PID/cgroup */
    const char *path, *origin; /* below the mount; NULL: refused */
    bool inside;
};

static void check_place(struct world *w, const struct place *p)
{
    struct cgroup_group group;
    struct errtext err = {""};
    char path[2 * CGROUP_PATH_MAX];

    write_cgroup(w, 77, p->cgroup);
    int rc = cgroup_group_of(&w->cgroups, 77, 12, &group, &err);
    if (!p->path) {
        assert_int_equal(rc, -1);
        assert_int_equal(errno, ENOTSUP);
        assert_true(*err.text != '\0');
        return;
    }
    if (rc < 0)
        fail_msg("%s: %s", p->cgroup, err.text);
    snprintf(path, sizeof(path), "%s/%s", w->cgroups.mount, p->path);
    assert_string_equal(group.path, path);
    snprintf(path, sizeof(path), "%s/%s", w->cgroups.mount, p->origin);
    assert_string_equal(group.origin, path);
    assert_int_equal(group.inside, p->inside);
}

static void test_places_v1(void **state)
{
    static const struct place places[] = {
        {"3:memory:/x\n2:cpuset:/slurm_n1/uid_0/job_12/step_batch\n0::/\n",
         "slurm_n1/uid_0/job_12/cosched-n1:step_batch",
         "slurm_n1/uid_0/job_12/step_batch", false},
        {"2:cpu,cpuset:/slurm/uid_5/job_12/step_0/task_3\n",
         "slurm/uid_5/job_12/cosched-n1:step_0:task_3",
         "slurm/uid_5/job_12/step_0/task_3", false},
        {"2:cpuset:/slurm/uid_5/job_12/cosched-n1:step_0:task_3\n",
         "slurm/uid_5/job_12/cosched-n1:step_0:task_3",
         "slurm/uid_5/job_12/step_0/task_3", true},
        /* Not in the job, not in a step, in another's group, not at all. */
        {"2:cpuset:/slurm/uid_5/job_1/step_0\n", NULL, NULL, false},
        {"2:cpuset:/slurm/uid_5/job_121/step_0\n", NULL, NULL, false},
        {"2:cpuset:/slurm/uid_5/job_12\n", NULL, NULL, false},
        {"2:cpuset:/slurm/uid_5/job_12/mine\n", NULL, NULL, false},
        {"2:cpuset:/\n", NULL, NULL, false},
        {"2:memory:/slurm/uid_5/job_12/step_0\n", NULL, NULL, false},
        {"", NULL, NULL, false},
    };
    struct world w;
    struct errtext err;

    (void)state;
    assert_int_equal(world_new(&w, v1, &err), 0);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        check_place(&w, &places[i]);
    struct cgroup_group group;
    assert_int_equal(cgroup_group_of(&w.cgroups, 78, 12, &group, &err), -1);
    assert_int_equal(errno, ESRCH);
    world_free(&w);
}

#define SCOPE "system.slice/n1_slurmstepd.scope/job_12"

static void test_places_v2(void **state)
{
    static const struct place places[] = {
        {"0::/" SCOPE "/step_0/user/task_0\n", SCOPE "/step_0/user/task_0",
         SCOPE "/step_0/user/task_0", true},
        /* No controller at the task: the next one up, but not the step. */
        {"0::/" SCOPE "/step_1/user/task_0\n", SCOPE "/step_1/user",
         SCOPE "/step_1/user", true},
        {"0::/" SCOPE "/step_2/user/task_0\n", NULL, NULL, false},
        {"0::/" SCOPE "/step_0\n", NULL, NULL, false},
        {"0::/system.slice/slurmd.service\n", NULL, NULL, false},
        {"1:cpuset:/" SCOPE "/step_0/user/task_0\n", NULL, NULL, false},
    };
    struct world w;
    struct errtext err;

    (void)state;
    assert_int_equal(world_new(&w, v2, &err), 0);
    tree_write(w.tree, "v2/" SCOPE "/cpuset.cpus", "0-3\n");
    tree_write(w.tree, "v2/" SCOPE "/step_0/cpuset.cpus", "0-3\n");
    tree_write(w.tree, "v2/" SCOPE "/step_0/user/cpuset.cpus", "0-3\n");
    tree_write(w.tree, "v2/" SCOPE "/step_0/user/task_0/cpuset.cpus", "\n");
    tree_write(w.tree, "v2/" SCOPE "/step_1/user/cpuset.cpus", "0-3\n");
    tree_write(w.tree, "v2/" SCOPE "/step_2/cpuset.cpus", "0-3\n");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        check_place(&w, &places[i]);
    world_free(&w);
}

/* What is frozen: one task's, or where Slurm puts adopted ssh sessions. */
static void test_tasks(void **state)
{
    static const struct {
        const char *text, *want;
    } table[] = {
        {"0::/" SCOPE "/step_0/user/task_3\n", "/" SCOPE "/step_0/user/task_3"},
        {"0::/" SCOPE "/step_0/user/task_3/x/y\n", "/" SCOPE "/step_0/user/task_3"},
        {"0::/" SCOPE "/step_extern/user/task_special\n",
         "/" SCOPE "/step_extern/user/task_special"},
        {"0::/" SCOPE "/step_extern/slurm\n", NULL},
        {"0::/" SCOPE "/step_0/user\n", NULL},
        {"0::/user.slice/user-5.slice\n", NULL},
    };
    struct world w;
    struct errtext err;
    char path[CGROUP_PATH_MAX];

    (void)state;
    assert_int_equal(world_new(&w, v2, &err), 0);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        write_cgroup(&w, 77, table[i].text);
        int rc = cgroup_tasks_of(&w.cgroups, 77, 12, path, &err);
        assert_int_equal(rc, table[i].want ? 0 : -1);
        if (table[i].want)
            assert_string_equal(path + strlen(w.cgroups.mount), table[i].want);
    }
    world_free(&w);
}

/* In a container the hierarchy's upper part is out of sight. */
static void test_container(void **state)
{
    static const struct place places[] = {
        {"2:cpuset:/box/7/slurm/uid_0/job_12/step_0\n",
         "slurm/uid_0/job_12/cosched-n1:step_0", "slurm/uid_0/job_12/step_0",
         false},
        {"2:cpuset:/box/8/slurm/uid_0/job_12/step_0\n", NULL, NULL, false},
        {"2:cpuset:/box/77/slurm/uid_0/job_12/step_0\n", NULL, NULL, false},
        {"2:cpuset:/../slurm/uid_0/job_12/step_0\n", NULL, NULL, false},
    };
    struct world w;
    struct errtext err;

    (void)state;
    assert_int_equal(
        world_new(&w, "2 0 0:2 /box/7 %s/v1 rw - cgroup x rw,cpuset\n", &err),
        0);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        check_place(&w, &places[i]);
    world_free(&w);
}

/* What Slurm suspends: version 1's own group, or version 2's above those of the tasks, which the
 * agent freezes. */
static void test_suspended(void **state)
{
    static const struct {
        const char *mountinfo, *cgroup, *file, *suspended, *running;
        bool seen;
    } cases[] = {
        {"1 0 0:1 / %s/v2 rw - cgroup2 cgroup2 rw\n", "0::/" SCOPE "/step_0/user/task_0\n",
         "v2/" SCOPE "/step_0/user/cgroup.events", "populated 1\nfrozen 1\n",
         "populated 1\nfrozen 0\n", true},
        {"1 0 0:1 / %s/v2 rw - cgroup2 cgroup2 rw\n", "0::/" SCOPE "/step_0/user/task_0\n",
         "v2/" SCOPE "/step_0/user/task_0/cgroup.events", "populated 1\nfrozen 1\n",
         "populated 1\nfrozen 0\n", false},
        {"1 0 0:1 / %s/v2 rw - cgroup2 cgroup2 rw\n", "0::/user.slice/user\n",
         "v2/user.slice/cgroup.events", "populated 1\nfrozen 1\n", "frozen 0\n", false},
        {"1 0 0:1 / %s/hybrid rw - cgroup2 cgroup2 rw\n"
         "3 0 0:2 /.. /outside rw - cgroup cgroup rw,freezer\n"
         "2 0 0:2 / %s/v1 rw - cgroup cgroup rw,freezer\n",
         "0::/x\n3:cpuset:/y\n2:freezer:/slurm_n1/uid_5/job_12/step_0\n",
         "v1/slurm_n1/uid_5/job_12/step_0/freezer.state", "FROZEN\n", "FREEZING\n", true},
        {"2 0 0:2 / %s/v1 rw - cgroup cgroup rw,freezer\n",
         "2:freezer:/slurm_n1/uid_5/job_123/step_0\n",
         "v1/slurm_n1/uid_5/job_123/step_0/freezer.state", "FROZEN\n", "THAWED\n", false},
    };
    struct world w;
    struct errtext err;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        world_new(&w, cases[i].mountinfo, &err);
        assert_int_equal(cgroup_tree_find_freezer(&w.cgroups, in(&w, "proc"), &err), 0);
        assert_false(cgroup_suspended(&w.cgroups, 77, 12)); /* no such process */
        write_cgroup(&w, 77, cases[i].cgroup);
        assert_false(cgroup_suspended(&w.cgroups, 77, 12)); /* no such file */
        tree_write(w.tree, cases[i].file, cases[i].running);
        assert_false(cgroup_suspended(&w.cgroups, 77, 12));
        tree_write(w.tree, cases[i].file, cases[i].suspended);
        assert_int_equal(cgroup_suspended(&w.cgroups, 77, 12), cases[i].seen);
        world_free(&w);
    }
    assert_int_equal(world_new(&w, "1 0 0:1 / %s/x rw - tmpfs tmpfs rw\n", &err), -1);
    assert_int_equal(cgroup_tree_find_freezer(&w.cgroups, in(&w, "proc"), &err), -1);
    assert_int_equal(errno, ENOTSUP);
    world_free(&w);
}

/* The first bytes of a file are TEXT (one that was longer keeps its end). */
static void assert_file(const struct world *w, const char *file,
                        const char *text)
{
    char got[256] = "";
    FILE *f = fopen(in(w, file), "r");

    assert_non_null(f);
    size_t n = fread(got, 1, sizeof(got) - 1, f);
    fclose(f);
    assert_true(n >= strlen(text));
    assert_memory_equal(got, text, strlen(text));
}

static void test_narrow_v2(void **state)
{
    struct world w;
    struct cgroup_group group;
    struct errtext err;
    struct cosched_cpuset cpus;

    (void)state;
    assert_int_equal(world_new(&w, v2, &err), 0);
    tree_write(w.tree, "v2/" SCOPE "/step_0/user/task_0/cpuset.cpus", "\n");
    tree_write(w.tree, "v2/" SCOPE "/step_0/user/task_0/cgroup.procs",
               "77\n78\n");
    tree_write(w.tree, "proc/77/comm", "solver\n");
    tree_write(w.tree, "proc/78/comm", "slurmstepd2\n");
    write_cgroup(&w, 77, "0::/" SCOPE "/step_0/user/task_0\n");
    assert_int_equal(cgroup_group_of(&w.cgroups, 77, 12, &group, &err), 0);
    assert_int_equal(cgroup_check(&w.cgroups, &group, &err), 0);
    assert_true(cgroup_populated(group.path));
    assert_int_equal(cpulist_parse("1-2", &cpus, NULL), 0);
    assert_int_equal(cgroup_narrow(&w.cgroups, &group, &cpus, &err), 0);
    assert_int_equal(cgroup_enter(&group, 77, &err), 0);
    assert_file(&w, "v2/" SCOPE "/step_0/user/task_0/cpuset.cpus", "1-2");
    assert_file(&w, "v2/" SCOPE "/step_0/user/task_0/cgroup.procs", "77\n78\n");
    assert_int_equal(cgroup_restore(group.path, NULL, &err), 0);
    assert_file(&w, "v2/" SCOPE "/step_0/user/task_0/cpuset.cpus", "\n");

    /* Never slurmstepd's own. */
    tree_write(w.tree, "proc/78/comm", "slurmstepd\n");
    assert_int_equal(cgroup_check(&w.cgroups, &group, &err), -1);
    assert_int_equal(errno, ENOTSUP);
    assert_non_null(strstr(err.text, "slurmstepd"));

    /* Gone in the meantime: nothing to restore. */
    assert_int_equal(cgroup_restore(in(&w, "v2/" SCOPE "/step_9/user/task_0"), NULL,
                                    &err),
                     0);
    world_free(&w);
}

/* What cannot be written is named. */
static void test_errors(void **state)
{
    struct world w;
    struct cgroup_group group;
    struct errtext err;
    struct cosched_cpuset cpus;

    (void)state;
    assert_int_equal(world_new(&w, v1, &err), 0);
    write_cgroup(&w, 77, "2:cpuset:/slurm/uid_0/job_12/step_0\n");
    assert_int_equal(cgroup_group_of(&w.cgroups, 77, 12, &group, &err), 0);
    assert_int_equal(cpulist_parse("1", &cpus, NULL), 0);
    assert_int_equal(cgroup_narrow(&w.cgroups, &group, &cpus, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(err.text, "cosched-n1:step_0"));
    /* A step without NUMA nodes: the new group is not left behind. */
    tree_write(w.tree, "v1/slurm/uid_0/job_12/step_0/x", "");
    assert_int_equal(cgroup_narrow(&w.cgroups, &group, &cpus, &err), -1);
    assert_non_null(strstr(err.text, "cpuset.mems"));
    assert_int_equal(access(group.path, F_OK), -1);
    /* Nothing there: as it should be. */
    assert_int_equal(cgroup_restore(group.path, NULL, &err), 0);
    world_free(&w);
}

UNIT(test_cgroup)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_places_v1),
        cmocka_unit_test(test_places_v2),
        cmocka_unit_test(test_container),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_suspended),
        cmocka_unit_test(test_narrow_v2),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests_name("test_cgroup", tests, NULL, NULL);
}
