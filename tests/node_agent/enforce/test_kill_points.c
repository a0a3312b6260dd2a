/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent is killed at each system call of what it does to processes that
 * changes something (COSCHED_KILL_ALL=1: at each that there is): all is undone,
 * by its supervisor, or by the next agent if the supervisor was killed as well.
 */

#include "tests/support/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/enforce/cgroup.h"
#include "node_agent/enforce/supervisor.h"
#include "protocol/cpulist.h"
#include "tests/node_agent/enforce/victims.h"
#include "tests/support/callpoints.h"

#define VICTIMS 3
#define JOB     7

enum means { BY_PROCESS, BY_CPUSET, BY_FREEZER };

/* What the agent does to a job, after it has done FIRST, which may be NULL. */
struct script {
    void (*first)(struct enforcer *e, struct job *job);
    void (*then)(struct enforcer *e, struct job *job);
    enum means means;
    unsigned at_least; /* so many points */
};

struct world {
    const struct script *script;
    bool both;         /* the supervisor is killed, too */
    pid_t *supervisor; /* shared with the lives */
    pid_t victim[VICTIMS];
    struct cosched_cpuset all;
    char directory[64], ledger[80];
    char group[CGROUP_PATH_MAX]; /* of the victims, or "" */
    char node[32];
};

/* ---- the cgroups of a job ------------------------------------------------ */

/* Make all directories of the PATH, and give them what a group of version 1
 * needs. */
static bool make_group(const char *path, size_t base)
{
    char at[CGROUP_PATH_MAX], text[256], file[CGROUP_PATH_MAX];

    snprintf(at, sizeof(at), "%s", path);
    for (char *slash = at + base; slash; slash = strchr(slash + 1, '/')) {
        char *end = strchr(slash + 1, '/');
        if (end)
            *end = '\0';
        if (mkdir(at, 0755) < 0 && errno != EEXIST)
            return false;
        for (int i = 0; i < 2; i++) {
            const char *name = i ? "cpuset.mems" : "cpuset.cpus";
            snprintf(file, sizeof(file), "%.*s/%s", (int)(slash - at), at,
                     name);
            int fd = open(file, O_RDONLY | O_CLOEXEC);
            ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
            if (fd >= 0)
                close(fd);
            text[n > 0 ? n : 0] = '\0';
            if (n > 0 && cgroup_write(at, name, text, NULL) < 0)
                return false;
        }
        if (!end)
            return true;
        *end = '/';
    }
    return true;
}

/* Remove the group at PATH and those above it, down to a length of BASE. */
static void remove_group(char *path, size_t base)
{
    while (strlen(path) > base) {
        for (int i = 0; i < 10000 && rmdir(path) < 0 && errno == EBUSY; i++)
            usleep(1000);
        *strrchr(path, '/') = '\0';
    }
}

static size_t base_of(const struct world *w, char mount[CGROUP_PATH_MAX])
{
    struct cgroup_tree tree;

    if ((w->script->means == BY_FREEZER
             ? cgroup_tree_find_unified(&tree, "/proc", NULL)
             : cgroup_tree_find(&tree, "/proc", w->node, NULL)) < 0)
        return 0;
    if (w->script->means == BY_CPUSET && tree.unified)
        return 0; /* Slurm's tree would need systemd's leave */
    return (size_t)snprintf(mount, CGROUP_PATH_MAX, "%s", tree.mount);
}

/* Put the victims where Slurm would have put them.  False: not possible here.
 */
static bool place(struct world *w)
{
    char mount[CGROUP_PATH_MAX / 2], number[16], *path = w->group;
    char room[CGROUP_PATH_MAX];
    size_t base;

    if (w->script->means == BY_PROCESS)
        return true;
    if (geteuid() != 0 || !(base = base_of(w, room)) || base >= sizeof(mount))
        return false;
    memcpy(mount, room, base + 1);
    if (w->script->means == BY_FREEZER)
        snprintf(path, CGROUP_PATH_MAX,
                 "%s/%s_slurmstepd.scope/job_%d/step_0/user/task_0", mount,
                 w->node, JOB);
    else
        snprintf(path, CGROUP_PATH_MAX, "%s/slurm_%s/uid_0/job_%d/step_0",
                 mount, w->node, JOB);
    if (!make_group(path, base))
        return false;
    for (size_t i = 0; i < VICTIMS; i++) {
        snprintf(number, sizeof(number), "%d", (int)w->victim[i]);
        if (cgroup_write(path, "cgroup.procs", number, NULL) < 0)
            return false;
    }
    return true;
}

/* ---- lives ----------------------------------------------------------------
 */

static void park(struct enforcer *e, struct job *job)
{
    enforcer_park(e, job);
}

static void unpark(struct enforcer *e, struct job *job)
{
    enforcer_unpark(e, job);
}

static void narrow(struct enforcer *e, struct job *job)
{
    struct cosched_cpuset one = job->granted;

    while (cpuset_count(&one) > 1)
        cpuset_remove(&one, cpuset_next(&one, 0));
    for (struct tracked *t = job->tracked; t; t = t->next)
        t->held = true;
    enforcer_hold(e, job, &one);
}

static void widen(struct enforcer *e, struct job *job)
{
    enforcer_let_go(e, job);
}

/* Both at once, in the order of a job that ends its turn. */
static void whole_turn(struct enforcer *e, struct job *job)
{
    narrow(e, job);
    park(e, job);
    enforcer_look(e);
    unpark(e, job);
    widen(e, job);
    enforcer_release(e, job);
}

static void live(void *arg)
{
    struct world *w = arg;
    struct node_options options = {.enforcement = w->script->means == BY_CPUSET
                                                      ? ENFORCEMENT_CPUSET
                                                      : ENFORCEMENT_AFFINITY};
    struct supervisor *supervisor = supervisor_new();
    struct enforcer *e = enforcer_new(supervisor, &options);
    struct job_table table = {0};
    struct job *job = job_add(&table, JOB);
    struct errtext err;
    char path[64];

    if (supervisor_start(supervisor, w->ledger, &err) < 0)
        _exit(1);
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%d", w->supervisor) != 1)
        _exit(2);
    fclose(file);
    if (w->script->means != BY_PROCESS)
        enforcer_use_cgroups(e, w->node);
    job->granted = w->all;
    job->doing = JOB_PINNED;
    for (size_t i = 0; i < VICTIMS; i++)
        if (!job_add_task(job, 0, w->victim[i]))
            _exit(3);
    enforcer_scan(e, &table, true, clock_ns());
    if (w->script->first)
        w->script->first(e, job);
    if (w->both) /* it sees nothing of the end */
        kill(*w->supervisor, SIGSTOP);
    callpoints_begin();
    w->script->then(e, job);
    callpoints_end();
}

/* ---- what must be after each ----------------------------------------------
 */

/* The supervisor has become this process' child. */
static void end_supervisor(struct world *w)
{
    if (w->both)
        kill(*w->supervisor, SIGKILL);
    while (waitpid(*w->supervisor, NULL, 0) < 0 && errno == EINTR)
        ;
    if (!w->both)
        return;
    struct supervisor *next = supervisor_new();
    struct errtext err;
    assert_int_equal(supervisor_start(next, w->ledger, &err), 0);
    supervisor_free(next);
}

static void assert_untouched(const struct world *w, unsigned number)
{
    char path[CGROUP_PATH_MAX + 32], text[8] = "";
    struct cosched_cpuset mask;
    struct proc_stop stop;

    for (size_t i = 0; i < VICTIMS; i++) {
        assert_int_equal(proc_read_stop(w->victim[i], &stop), 0);
        if (stop.stopped || stop.pending)
            fail_msg("victim %zu is stopped after call %u", i, number);
        assert_int_equal(cpuset_get_affinity(w->victim[i], &mask), 0);
        if (!cpuset_equal(&mask, &w->all))
            fail_msg("victim %zu is narrowed after call %u", i, number);
    }
    if (w->script->means == BY_CPUSET) {
        const char *slash = strrchr(w->group, '/');
        snprintf(path, sizeof(path), "%.*s/cosched-%s:step_0",
                 (int)(slash - w->group), w->group, w->node);
        assert_int_equal(access(path, F_OK), -1);
    } else if (w->script->means == BY_FREEZER) {
        snprintf(path, sizeof(path), "%s/cgroup.freeze", w->group);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
        close(fd);
        assert_string_equal(text, "0\n");
    }
}

static void kill_at_each(struct world *w)
{
    bool all = getenv("COSCHED_KILL_ALL");
    struct callpoint at = {.call = all ? CALLPOINT_ANY : CALLPOINT_CHANGING};
    struct callpoints_result result;

    do {
        at.number++;
        assert_int_equal(callpoints_run(live, w, &at, &result), 0);
        assert_true(WIFEXITED(result.status)
                        ? WEXITSTATUS(result.status) == 0
                        : WTERMSIG(result.status) == SIGKILL);
        end_supervisor(w);
        assert_untouched(w, at.number);
    } while (result.struck);
    assert_in_range(at.number, w->script->at_least, 4000);
}

static void run(const struct script *script)
{
    struct world w = {.script = script};
    char mount[CGROUP_PATH_MAX];

    if (!callpoints_supported())
        skip();
    log_open(LOG_WARNING, false);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(cpuset_get_affinity(0, &w.all), 0);
    strcpy(w.directory, "/tmp/cosched-test.XXXXXX");
    assert_non_null(mkdtemp(w.directory));
    snprintf(w.ledger, sizeof(w.ledger), "%s/ledger", w.directory);
    snprintf(w.node, sizeof(w.node), "kp%d", (int)getpid());
    w.supervisor = mmap(NULL, sizeof(pid_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < VICTIMS; i++)
        w.victim[i] = victim_start(0);
    bool placed = place(&w);
    for (int both = 0; placed && both < 2; both++) {
        w.both = both;
        kill_at_each(&w);
    }
    for (size_t i = 0; i < VICTIMS; i++)
        victim_end(w.victim[i]);
    if (*w.group)
        remove_group(w.group, base_of(&w, mount));
    munmap(w.supervisor, sizeof(pid_t));
    unlink(w.ledger);
    rmdir(w.directory);
    if (!placed)
        skip();
}

#define TEST_LIFE(name, ...)                                                   \
    static void name(void **state)                                             \
    {                                                                          \
        (void)state;                                                           \
        run(&(struct script){__VA_ARGS__});                                    \
    }

TEST_LIFE(test_park, NULL, park, BY_PROCESS, 4)
TEST_LIFE(test_unpark, park, unpark, BY_PROCESS, 4)
TEST_LIFE(test_narrow, NULL, narrow, BY_PROCESS, 4)
TEST_LIFE(test_widen, narrow, widen, BY_PROCESS, 4)
TEST_LIFE(test_turn, NULL, whole_turn, BY_PROCESS, 13)
TEST_LIFE(test_narrow_cpuset, NULL, narrow, BY_CPUSET, 7)
TEST_LIFE(test_widen_cpuset, narrow, widen, BY_CPUSET, 5)
TEST_LIFE(test_freeze, NULL, park, BY_FREEZER, 2)
TEST_LIFE(test_thaw, park, unpark, BY_FREEZER, 2)

UNIT(test_kill_points)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_park),
        cmocka_unit_test(test_unpark),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_widen),
        cmocka_unit_test(test_turn),
        cmocka_unit_test(test_narrow_cpuset),
        cmocka_unit_test(test_widen_cpuset),
        cmocka_unit_test(test_freeze),
        cmocka_unit_test(test_thaw),
    };

    return cmocka_run_group_tests_name("test_kill_points", tests, NULL, NULL);
}
