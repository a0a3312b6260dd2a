/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* When the enforcer looks for processes, and which it finds. */

#include "tests/support/unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "node_agent/enforce/proc.h"
#include "tests/node_agent/enforce/enforcer_stage.h"

static pid_t start_program(struct stage *s)
{
    pid_t program;

    assert_int_equal(write(s->order[1], "g", 1), 1);
    assert_int_equal(read(s->answer[0], &program, sizeof(program)),
                     sizeof(program));
    return program;
}

static bool found(const struct stage *s, pid_t pid)
{
    for (const struct tracked *t = s->job->tracked; t; t = t->next)
        if (t->pid == pid && !t->dead)
            return true;
    return false;
}

/* A scan, if one is due, in as many epochs as it takes. */
static void scan_due(struct stage *s, uint64_t now_ns)
{
    do {
        enforcer_look(s->enforcer);
        enforcer_scan(s->enforcer, &s->table, false, now_ns);
    } while (enforcer_scans(s->enforcer));
}

/* What has just been looked for is not looked for again, unless a task has
 * begun. */
static void test_scan_is_due(void **state)
{
    struct stage *s = *state;

    scan_due(s, NOW_NS);
    assert_true(found(s, s->task));
    pid_t program = start_program(s);
    scan_due(s, NOW_NS);
    assert_false(found(s, program));
    enforcer_expect(s->enforcer, NOW_NS);
    scan_due(s, NOW_NS);
    assert_true(found(s, program));
}

/* However long a scan was kept from the CPU, its pause is for what it cost: a
 * second of CPU time is never spent by one. */
static void test_scan_comes_again(void **state)
{
    struct stage *s = *state;

    scan_due(s, NOW_NS);
    pid_t program = start_program(s);
    uint64_t longest_ns = (uint64_t)(1e9 / SCAN_SHARE_QUIET);
    scan_due(s, NOW_NS + longest_ns);
    assert_true(found(s, program));
}

static void test_forced(void **state)
{
    struct stage *s = *state;

    scan_due(s, NOW_NS);
    pid_t program = start_program(s);
    enforcer_scan(s->enforcer, &s->table, true, NOW_NS);
    assert_true(found(s, program));
}

/* When a process last came or went is known: until a while later CPU clocks are not of all. */
static void test_joined(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;

    enforcer_scan(s->enforcer, &s->table, true, now_ns);
    assert_int_equal(s->job->joined_ns, now_ns);
    enforcer_scan(s->enforcer, &s->table, true, now_ns + NS_PER_S);
    assert_int_equal(s->job->joined_ns, now_ns);
    pid_t program = start_program(s);
    now_ns += 2 * NS_PER_S;
    enforcer_scan(s->enforcer, &s->table, true, now_ns);
    assert_int_equal(s->job->joined_ns, now_ns);
    kill(program, SIGKILL);
    do {
        now_ns += NS_PER_S;
        enforcer_scan(s->enforcer, &s->table, true, now_ns);
    } while (found(s, program));
    assert_int_equal(s->job->joined_ns, now_ns);
    s->job->joined_ns = clock_ns();
    assert_int_equal(enforcer_cpu_ns(s->job), STRETCH_UNKNOWN);
    s->job->joined_ns = 0;
    uint64_t used_ns = enforcer_cpu_ns(s->job);
    assert_int_not_equal(used_ns, STRETCH_UNKNOWN);
    assert_true(enforcer_cpu_ns(s->job) >= used_ns);
    assert_int_not_equal(enforcer_waited_ns(s->job), STRETCH_UNKNOWN);
}

/* ---- who is held --------------------------------------------------------- */

static void on_order(int signal)
{
    (void)signal;
    execl("/bin/sh", "sh", "-c", "while :; do :; done", NULL);
    _exit(1);
}

/* A busy process called slurmstepd, as a task is that has still to execute its
 * program, until SIGUSR1. */
static pid_t start_busy(void)
{
    struct proc_stat stat;
    pid_t pid = fork();

    if (pid != 0) {
        do /* then it waits for the signal */
            assert_int_equal(proc_read(pid, &stat), 0);
        while (strcmp(stat.comm, "slurmstepd"));
        assert_true(stat.forked);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, on_order);
    prctl(PR_SET_NAME, "slurmstepd");
    for (;;)
        ;
}

/* Let PID execute its program. */
static void execute(pid_t pid)
{
    struct proc_stat stat;

    kill(pid, SIGUSR1);
    do
        assert_int_equal(proc_read(pid, &stat), 0);
    while (stat.forked);
}

/* Scan each 200 ms of *NOW_NS until PID has used so many clock ticks more, at
 * least two in each. */
static const struct tracked *scan_busy(struct stage *s, pid_t pid,
                                       uint64_t *now_ns, int scans)
{
    struct proc_stat before, now;

    for (int i = 0; i < scans; i++) {
        assert_int_equal(proc_read(pid, &before), 0);
        do
            assert_int_equal(proc_read(pid, &now), 0);
        while (now.ticks < before.ticks + 3);
        *now_ns += UINT64_C(200000000);
        enforcer_scan(s->enforcer, &s->table, true, *now_ns);
    }
    for (const struct tracked *t = s->job->tracked; t; t = t->next)
        if (t->pid == pid)
            return t;
    fail();
    return NULL;
}

/* What slurmstepd does before it executes the program is no job's. */
static void test_executed(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    pid_t pid = start_busy();

    s->job->doing = JOB_PINNED;
    assert_non_null(job_add_task(s->job, 0, pid));
    assert_false(scan_busy(s, pid, &now_ns, 3)->held);
    now_ns += UINT64_C(60000000000); /* however long that takes */
    assert_false(scan_busy(s, pid, &now_ns, 2)->held);
    execute(pid);
    assert_true(scan_busy(s, pid, &now_ns, 3)->held);
    end_task(s, pid);
}

/* A name does not help: this one is of the job, as it is in a session of its
 * task's, and has executed nothing, but is no task. */
static void test_called_stepd(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;

    s->job->doing = JOB_PINNED;
    assert_int_equal(write(s->order[1], "s", 1), 1);
    pid_t pid;
    assert_int_equal(read(s->answer[0], &pid, sizeof(pid)), sizeof(pid));
    assert_true(scan_busy(s, pid, &now_ns, 2)->held);
}

/* That there is no cpuset to hold a process by is said of one that is still
 * there a second later. */
static void test_no_cpuset(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    struct cosched_cpuset cpus;
    pid_t pid = start_busy();

    assert_int_equal(cpuset_get_affinity(0, &cpus), 0);
    s->options.enforcement = ENFORCEMENT_CPUSET;
    s->job->doing = JOB_PINNED;
    s->job->granted = cpus;
    execute(pid);
    assert_non_null(job_add_task(s->job, 0, pid));
    scan_busy(s, pid, &now_ns, 1);
    assert_true(scan_busy(s, pid, &now_ns, 2)->held);
    for (int i = 0; i < 5; i++) {
        enforcer_hold(s->enforcer, s->job, &cpus);
        enforcer_hold(s->enforcer, s->job, &cpus);
        assert_false(s->job->no_cpuset);
        scan_busy(s, pid, &now_ns, 1);
    }
    scan_busy(s, pid, &now_ns, 1);
    enforcer_hold(s->enforcer, s->job, &cpus);
    assert_true(s->job->no_cpuset);

    /* Who ends in between has not been without. */
    s->job->no_cpuset = false;
    pid_t other = start_busy();
    execute(other);
    assert_non_null(job_add_task(s->job, 0, other));
    end_task(s, pid);
    scan_busy(s, other, &now_ns, 1);
    assert_true(scan_busy(s, other, &now_ns, 2)->held);
    enforcer_hold(s->enforcer, s->job, &cpus);
    kill(other, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)other, &info, WEXITED | WNOWAIT), 0);
    now_ns += UINT64_C(2000000000);
    enforcer_scan(s->enforcer, &s->table, true, now_ns);
    enforcer_hold(s->enforcer, s->job, &cpus);
    assert_false(s->job->no_cpuset);
    end_task(s, other);
}

/* ---- who is let go ------------------------------------------------------- */

static struct tracked *tracked_of(const struct stage *s, pid_t pid)
{
    for (struct tracked *t = s->job->tracked; t; t = t->next)
        if (t->pid == pid && !t->dead)
            return t;
    fail();
    return NULL;
}

static void assert_on(pid_t pid, const struct cosched_cpuset *cpus)
{
    struct cosched_cpuset mask;

    assert_int_equal(cpuset_get_affinity(pid, &mask), 0);
    assert_true(cpuset_equal(&mask, cpus));
}

/* In a unpinned job nobody is held, and who was may run everywhere again; what he
 * started meanwhile as well, once it has had the time to attach. */
static void test_let_go(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    struct cosched_cpuset one;

    if (!choose_cpus(s, &one))
        skip();
    s->options.attach_ns = NS_PER_S;
    s->job->doing = JOB_PINNED;
    scan_later(s, &now_ns, 0);
    struct tracked *task = tracked_of(s, s->task);
    task->held = true; /* as if it had been busy */
    enforcer_hold(s->enforcer, s->job, &one);
    assert_on(s->task, &one);
    assert_true(job_kept(s->job));
    pid_t program = start_program(s);
    scan_later(s, &now_ns, NS_PER_S);
    assert_on(program, &one);

    s->job->doing = JOB_SERIAL;
    s->job->unpinned = true;
    enforcer_let_go(s->enforcer, s->job);
    assert_false(task->held);
    assert_on(s->task, &s->job->granted);
    assert_on(program, &one);
    scan_later(s, &now_ns, NS_PER_S);
    enforcer_let_go(s->enforcer, s->job);
    assert_on(program, &s->job->granted);

    /* Later it may bind itself as it likes. */
    assert_int_equal(cpuset_set_affinity(program, &one), 0);
    scan_later(s, &now_ns, NS_PER_S);
    enforcer_let_go(s->enforcer, s->job);
    assert_on(program, &one);
}

/* What was started by a process that was held no more is left alone. */
static void test_started_later(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    struct cosched_cpuset one;

    if (!choose_cpus(s, &one))
        skip();
    scan_later(s, &now_ns, 0);
    struct tracked *task = tracked_of(s, s->task);
    task->held = true;
    enforcer_hold(s->enforcer, s->job, &one);
    s->job->unpinned = true;
    enforcer_let_go(s->enforcer, s->job);
    task->let_go_ticks -= 1000; /* that long ago */
    pid_t program = start_program(s);
    assert_int_equal(cpuset_set_affinity(program, &one), 0);
    for (int i = 0; i < 3; i++) {
        scan_later(s, &now_ns, NS_PER_S);
        enforcer_let_go(s->enforcer, s->job);
    }
    assert_on(program, &one);
}

/* Masks that an agent left which was killed with its supervisor. */
static void test_taken_over(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    struct cosched_cpuset one;

    if (!choose_cpus(s, &one))
        skip();
    s->options.attach_ns = NS_PER_S;
    assert_int_equal(cpuset_set_affinity(s->task, &one), 0);
    pid_t program = start_program(s);
    enforcer_take_over(s->job);
    assert_true(job_kept(s->job));
    s->job->unpinned = true;
    scan_later(s, &now_ns, 0);
    enforcer_let_go(s->enforcer, s->job); /* they may attach again */
    assert_on(s->task, &one);
    scan_later(s, &now_ns, NS_PER_S);
    enforcer_let_go(s->enforcer, s->job);
    assert_on(s->task, &s->job->granted);
    assert_on(program, &s->job->granted);
}

/* The task of the job ends, and with it the job; a process that it started lives. */
static pid_t release_with_survivor(struct stage *s, uint64_t *now_ns,
                                   const struct cosched_cpuset *one)
{
    scan_later(s, now_ns, 0);
    tracked_of(s, s->task)->held = true;
    enforcer_hold(s->enforcer, s->job, one);
    assert_on(s->task, one);
    job_remove_task(s->job->tasks);
    enforcer_release(s->enforcer, s->job);
    pid_t program = start_program(s); /* before anybody looks again */
    assert_on(program, one);
    return program;
}

static void look_until_let_go(const struct stage *s)
{
    for (int i = 0; i < 100 && enforcer_owes(s->enforcer, NULL); i++)
        enforcer_look(s->enforcer);
    assert_false(enforcer_owes(s->enforcer, NULL));
}

/* Who lives on when the job is over may run everywhere again, and so may what he starts meanwhile;
 * nobody comes back to them afterwards. */
static void test_survivors(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    struct cosched_cpuset one;

    if (!choose_cpus(s, &one))
        skip();
    pid_t program = release_with_survivor(s, &now_ns, &one);
    look_until_let_go(s);
    assert_on(s->task, &s->job->granted);
    assert_on(program, &s->job->granted);
    assert_int_equal(cpuset_set_affinity(program, &one), 0); /* as its user likes */
    enforcer_look(s->enforcer);
    assert_on(program, &one);
}

/* The job goes on with another step before that: they are its again, and are held with it. */
static void test_rejoins(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    struct cosched_cpuset one;

    if (!choose_cpus(s, &one))
        skip();
    pid_t program = release_with_survivor(s, &now_ns, &one);
    assert_non_null(job_add_task(s->job, 1, s->task));
    scan_later(s, &now_ns, 0);
    look_until_let_go(s);
    assert_on(s->task, &one);
    s->job->unpinned = true;
    for (int i = 0; i < 2; i++) {
        enforcer_let_go(s->enforcer, s->job);
        scan_later(s, &now_ns, NS_PER_S);
    }
    assert_on(s->task, &s->job->granted);
    assert_on(program, &s->job->granted);
}

/* Who has more than was granted was not narrowed by an agent before, and is left alone. */
static void test_wider(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    struct cosched_cpuset all, one;

    if (!choose_cpus(s, &one))
        skip();
    all = s->job->granted;
    s->job->granted = one;
    enforcer_take_over(s->job);
    s->job->unpinned = true;
    scan_later(s, &now_ns, 0);
    scan_later(s, &now_ns, NS_PER_S);
    enforcer_let_go(s->enforcer, s->job);
    assert_on(s->task, &all);
    enforcer_take_over(s->job);
    tracked_clear(s->job);
    scan_later(s, &now_ns, 0);
    job_remove_task(s->job->tasks);
    enforcer_release(s->enforcer, s->job);
    look_until_let_go(s);
    assert_on(s->task, &all);
}

/* Nobody gets to be held in a unpinned job, however busy, nor at once when it is
 * unpinned no more for what he did before. */
static void test_unpinned_is_not_held(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS, since_ns;
    pid_t pid = start_busy();

    kill(pid, SIGUSR1);
    assert_non_null(job_add_task(s->job, 0, pid));
    s->job->unpinned = true;
    scan_busy(s, pid, &now_ns, 1);
    now_ns += UINT64_C(30000000000); /* whatever it is called meanwhile */
    assert_false(scan_busy(s, pid, &now_ns, 3)->held);
    assert_true(enforcer_use(s->job, &since_ns) > 0);
    assert_true(since_ns > NOW_NS);
    kill(pid, SIGSTOP);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
    scan_later(s, &now_ns, UINT64_C(200000000));
    s->job->unpinned = false;
    s->job->doing = JOB_PINNED;
    scan_later(s, &now_ns, UINT64_C(200000000));
    assert_false(tracked_of(s, pid)->held);
    kill(pid, SIGCONT);
    assert_true(scan_busy(s, pid, &now_ns, 1)->held);
    end_task(s, pid);
}

/* ---- a process whose first thread has ended -------------------------------- */

static void *wait_on(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* The id of its only thread that lives, in *TID. */
static pid_t start_headless(const struct stage *s, pid_t *tid)
{
    char text[64], state = 0;
    pid_t pid = fork(), *tids;
    pthread_t thread;

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(s->order[1]);
        if (pthread_create(&thread, NULL, wait_on, NULL))
            _exit(1);
        syscall(SYS_exit, 0);
    }
    snprintf(text, sizeof(text), "/proc/%d/stat", (int)pid);
    for (int i = 0; i < 30000 && state != 'Z'; i++) {
        FILE *f = fopen(text, "r");
        assert_non_null(f);
        assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
        fclose(f);
        usleep(1000);
    }
    assert_int_equal(state, 'Z');
    assert_int_equal(proc_threads(pid, &tids), 2);
    *tid = tids[1];
    free(tids);
    return pid;
}

/* It is a job's like any other: known, held, stopped and continued. */
static void test_headless(void **state)
{
    struct stage *s = *state;
    uint64_t now_ns = NOW_NS;
    struct proc_stat stat;
    struct cosched_cpuset one;
    pid_t tid, pid = start_headless(s, &tid);

    assert_int_equal(proc_read(pid, &stat), 0);
    assert_int_not_equal(stat.state, 'Z'); /* of the other thread: it may not wait yet */
    assert_non_null(job_add_task(s->job, 0, pid));
    scan_later(s, &now_ns, 0);
    assert_true(found(s, pid));
    if (choose_cpus(s, &one)) {
        tracked_of(s, pid)->held = true;
        enforcer_hold(s->enforcer, s->job, &one);
        assert_on(tid, &one);
        s->job->unpinned = true;
        enforcer_let_go(s->enforcer, s->job);
        assert_on(tid, &s->job->granted);
    }
    enforcer_park(s->enforcer, s->job);
    do
        assert_int_equal(proc_read(pid, &stat), 0);
    while (stat.state != 'T');
    struct proc_stop stop;
    assert_int_equal(proc_read_stop(pid, &stop), 0);
    assert_true(stop.stopped);
    enforcer_look(s->enforcer);
    enforcer_unpark(s->enforcer, s->job);
    do
        assert_int_equal(proc_read(pid, &stat), 0);
    while (stat.state == 'T');
    end_task(s, pid);
    assert_int_equal(proc_read(pid, &stat), -1);
}

UNIT(test_enforcer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scan_is_due, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_scan_comes_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_forced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_joined, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_executed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_called_stepd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_cpuset, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_let_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_started_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_taken_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unpinned_is_not_held, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_survivors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rejoins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wider, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_headless, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("test_enforcer", tests, NULL, NULL);
}
