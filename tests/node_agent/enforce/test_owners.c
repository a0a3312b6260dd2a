/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* owners: whose each process is, in tables that no kernel has to make, at a bounded cost. */

#include "tests/support/unit.h"

#include "node_agent/core/enforcer.h"
#include "node_agent/core/process.h"
#include "node_agent/enforce/job_cgroup.h"
#include "node_agent/enforce/owners.h"

#define MOST 10000

struct node {
    struct proc_table procs;
    struct job_table jobs;
    struct owners owners;
};

static int set_up(void **state)
{
    struct node *n = calloc(1, sizeof(*n));

    n->procs.entry = calloc(MOST, sizeof(*n->procs.entry));
    *state = n;
    return 0;
}

static int tear_down(void **state)
{
    struct node *n = *state;

    owners_clear(&n->owners);
    while (n->jobs.first) {
        struct job *j = n->jobs.first;
        while (j->tasks) {
            struct task *t = j->tasks;
            j->tasks = t->next;
            free(t);
        }
        j->processes = NULL;
        j->tracked = NULL;
        job_remove(&n->jobs, j);
    }
    free(n->procs.entry);
    free(n);
    return 0;
}

/* The number that stands for PID: one that no process has, this one neither. */
static pid_t up(pid_t pid)
{
    return pid > 1 ? pid + 5000000 : pid;
}

/* Process PID, to be added in the order of pids; it begins at 100 + PID. */
static void process(struct node *n, pid_t pid, pid_t parent, pid_t group, pid_t session)
{
    struct proc_stat *s = &n->procs.entry[n->procs.count++].stat;

    *s = (struct proc_stat){.pid = up(pid), .parent = up(parent), .group = up(group),
                            .session = up(session), .comm = "program",
                            .start = 100 + (uint64_t)pid};
}

static struct job *job(struct node *n, uint32_t id, pid_t task)
{
    struct job *j = job_add(&n->jobs, id);
    struct task *t = calloc(1, sizeof(*t));

    t->job = j;
    t->pid = up(task);
    t->start = 100 + (uint64_t)task;
    j->tasks = t;
    return j;
}

static void find(struct node *n)
{
    owners_clear(&n->owners);
    assert_int_equal(owners_find(&n->owners, &n->procs, &n->jobs, true), 0);
}

static uint32_t owner_of(const struct node *n, pid_t pid)
{
    const struct proc_entry *e = proc_table_find(&n->procs, up(pid));
    const struct job *j = n->owners.of[e - n->procs.entry].job;

    return j ? j->id : 0;
}

static void test_kin(void **state)
{
    struct node *n = *state;

    process(n, 1, 0, 1, 1);
    process(n, 50, 1, 50, 50);    /* a stranger, */
    process(n, 51, 50, 51, 50);   /* and its child */
    process(n, 300, 700, 300, 300); /* a child with a smaller number */
    process(n, 700, 50, 700, 50); /* the task, in another's session */
    process(n, 701, 700, 700, 50);
    process(n, 702, 1, 700, 50);  /* orphaned in the task's group */
    process(n, 703, 1, 703, 300); /* and in a session of its child */
    process(n, 800, 50, 800, 50); /* another task */
    process(n, 801, 800, 801, 801);
    job(n, 7, 700);
    job(n, 8, 800);
    find(n);
    assert_int_equal(owner_of(n, 1), 0);
    assert_int_equal(owner_of(n, 50), 0);
    assert_int_equal(owner_of(n, 51), 0);
    for (pid_t pid = 700; pid <= 703; pid++)
        assert_int_equal(owner_of(n, pid), 7);
    assert_int_equal(owner_of(n, 300), 7);
    assert_int_equal(owner_of(n, 800), 8);
    assert_int_equal(owner_of(n, 801), 8);
    assert_true(n->owners.of[4].task);
    assert_false(n->owners.of[5].task);
    assert_true(owners_leads(&n->owners, up(300)));
    assert_false(owners_leads(&n->owners, up(801)));
}

/* Whoever is dead owns the members of its group; not the kin of one that has got its
 * number. */
static void test_dead(void **state)
{
    struct node *n = *state;
    struct tracked dead = {.pid = up(900), .start = 1000},
                   again = {.pid = up(910), .start = 5, .next = &dead};

    process(n, 910, 1, 910, 910); /* began at 1010, not at 5 */
    process(n, 911, 910, 911, 910);
    process(n, 920, 1, 900, 900);
    struct job *j = job(n, 9, 999);
    j->tracked = &again;
    find(n);
    assert_int_equal(owner_of(n, 910), 0);
    assert_int_equal(owner_of(n, 911), 0);
    assert_int_equal(owner_of(n, 920), 9);
}

/* What has attached, or was known before, is a job's, and so is its kin. */
static void test_known(void **state)
{
    struct node *n = *state;
    struct tracked known = {.pid = up(20), .start = 120}, old = {.pid = up(30), .start = 1};
    struct process attached = {.pid = up(40), .start = 140};

    for (pid_t pid = 20; pid < 60; pid += 10) {
        process(n, pid, 1, pid, pid);
        process(n, pid + 1, pid, pid + 1, pid + 1);
    }
    struct job *j = job(n, 5, 999);
    known.next = &old;
    j->tracked = &known;
    j->processes = &attached;
    find(n);
    assert_int_equal(owner_of(n, 20), 5);
    assert_int_equal(owner_of(n, 21), 5);
    assert_ptr_equal(n->owners.of[0].tracked, &known);
    assert_int_equal(owner_of(n, 30), 0);
    assert_int_equal(owner_of(n, 40), 5);
    assert_true(n->owners.of[4].attached);
    assert_int_equal(owner_of(n, 51), 0);
}

/* Each link is followed once, however long the chain and whatever the order of numbers, and
 * however many jobs there are. */
static void test_cost(void **state)
{
    struct node *n = *state;

    for (pid_t pid = 2; pid <= MOST; pid++) /* each is the child of the next */
        process(n, pid, pid + 1, pid, pid);
    process(n, MOST + 1, 1, MOST + 1, MOST + 1);
    job(n, 1, MOST + 1);
    for (uint32_t id = 2; id < 200; id++)
        job(n, id, 1000000 + (pid_t)id);
    find(n);
    for (pid_t pid = 2; pid <= MOST + 1; pid++)
        assert_int_equal(owner_of(n, pid), 1);
    assert_true(n->owners.moves == 2 * n->owners.links && n->owners.links <= 3 * MOST);
    assert_true(n->owners.steps <= 3 * MOST);
    /* One cgroup file for each job whose cgroup is not known, none of processes. */
    assert_true(n->owners.places <= 200);
}

/* Who is nobody's among some of the jobs is looked for among all of them again: else one that has
 * left its parents would be nobody's for seconds after each job's scan of its own. */
static void test_some_jobs(void **state)
{
    struct node *n = *state;
    struct proc_entry *e = &n->procs.entry[n->procs.count++];

    e->stat = (struct proc_stat){.pid = getpid(), .parent = 1, .comm = "program"};
    job_add(&n->jobs, 1)->cgroup = strdup("0::/slurm/job_1");
    owners_clear(&n->owners);
    assert_int_equal(owners_find(&n->owners, &n->procs, &n->jobs, false), 0);
    assert_null(n->owners.of[0].job);
    assert_false(e->placed);
    find(n);
    assert_true(e->placed);
}

/* ---- texts of /proc/PID/cgroup --------------------------------------------- */

#define V1 "13:name=systemd:/user.slice/job_12/x\n" \
           "4:freezer:/slurm_n1/uid_5/job_12/step_0\n" \
           "2:cpuset:/slurm_n1/uid_5/job_12/step_0/task_0\n"
#define V2 "0::/system.slice/n1_slurmstepd.scope/job_12/step_0"

static void test_find_cgroup(void **state)
{
    static const struct {
        const char *text, *want;
    } table[] = {
        {V1, "4:freezer:/slurm_n1/uid_5/job_12"},
        {V2 "/user/task_0\n", "0::/system.slice/n1_slurmstepd.scope/job_12"},
        {"0::/x/job_12\n", "0::/x/job_12"},
        {"0::/x/job_12", "0::/x/job_12"},
        {"0::/x/job_1/job_123/job_12/y\n", "0::/x/job_1/job_123/job_12"},
        {"0::/x/job_123/step_0\n", NULL},
        {"0::/x/job_1\n", NULL},
        {"0::/system.slice/slurmd.service\n", NULL},
        {"13:name=systemd:/user.slice/job_12/x\n", NULL},
        {"", NULL},
        {"\n\n", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char *cgroup = job_cgroup_find(table[i].text, 12);
        if (!table[i].want)
            assert_null(cgroup);
        else
            assert_string_equal(cgroup, table[i].want);
        if (cgroup && !strstr(table[i].text, "/slurm\n"))
            assert_true(job_cgroup_has(cgroup, table[i].text));
        free(cgroup);
    }
}

static void test_in_cgroup(void **state)
{
    static const char v1[] = "4:freezer:/slurm_n1/uid_5/job_12";
    static const char v2[] = "0::/system.slice/n1_slurmstepd.scope/job_12";
    static const struct {
        const char *cgroup, *text;
        bool in;
    } table[] = {
        {v1, V1, true},
        {v1, "4:freezer:/slurm_n1/uid_5/job_12\n", true},
        {v1, "4:freezer:/slurm_n1/uid_5/job_12", true},
        {v1, "2:cpuset:/\n4:freezer:/slurm_n1/uid_5/job_12/cosched-n1:step_0\n", true},
        /* another node's of this host, another job's, another hierarchy's */
        {v1, "4:freezer:/slurm_n2/uid_5/job_12/step_0\n", false},
        {v1, "4:freezer:/slurm_n1/uid_5/job_123/step_0\n", false},
        {v1, "2:cpuset:/slurm_n1/uid_5/job_12/step_0\n", false},
        /* a user's own, called alike */
        {v1, "13:name=systemd:/4:freezer:/slurm_n1/uid_5/job_12\n", false},
        {v2, "0::/user.slice/user-5.slice/user@5.service/job_12/step_0/user\n", false},
        {v2, V2 "/user/task_0\n", true},
        {v2, V2 "/user/task_special\n", true},
        {v2, V2 "/slurm\n", false},
        {v2, V2 "/slurm/x\n", false},
        {v2, V2 "/slurmy\n", true},
        {v2, "0::/system.slice/n1_slurmstepd.scope/system\n", false},
        /* an ssh session, adopted by pam_slurm_adopt, and its slurmstepd */
        {v1, "4:freezer:/slurm_n1/uid_5/job_12/step_extern\n", true},
        {v2, "0::/system.slice/n1_slurmstepd.scope/job_12/step_extern/user/task_special\n",
         true},
        {v2, "0::/system.slice/n1_slurmstepd.scope/job_12/step_extern/slurm\n", false},
        {v2, "", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (job_cgroup_has(table[i].cgroup, table[i].text) != table[i].in)
            fail_msg("%s in %s", table[i].text, table[i].cgroup);
}

static void test_next(void **state)
{
    const char *at = "1:x:/job_5/job_x/job_07/job_4294967296/job_9a\n0::/a/job_31";
    uint32_t id;

    (void)state;
    assert_non_null(at = job_cgroup_next(at, &id));
    assert_int_equal(id, 5);
    assert_non_null(at = job_cgroup_next(at, &id));
    assert_int_equal(id, 31);
    assert_null(job_cgroup_next(at, &id));
}

UNIT(test_owners)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dead, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_some_jobs, set_up, tear_down),
        cmocka_unit_test(test_find_cgroup),
        cmocka_unit_test(test_in_cgroup),
        cmocka_unit_test(test_next),
    };

    return cmocka_run_group_tests_name("test_owners", tests, NULL, NULL);
}
