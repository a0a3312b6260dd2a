/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Threads of a process are kept where they should be, and seldom listed. */

#include "tests/support/unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "node_agent/enforce/proc.h"
#include "node_agent/enforce/threads.h"
#include "protocol/cpulist.h"

/* A process that makes and ends threads when it is told to. */
struct stage {
    pid_t pid;
    int order[2], answer[2];
    struct cosched_cpuset all, one; /* what may be used; of it the first */
    struct threads *threads;
};

static int wake[2]; /* of the process: a byte ends a thread */

static void *wait_for_the_end(void *arg)
{
    char c;

    (void)!read(wake[0], &c, 1);
    return arg;
}

/* 't': another thread.  'e': one ends.  Answers with the number of threads. */
static void obey(const struct stage *s)
{
    pthread_t thread[16];
    int count = 0;
    char c;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pipe(wake) < 0)
        _exit(1);
    while (read(s->order[0], &c, 1) == 1) {
        if (c == 't' && pthread_create(&thread[count++], NULL,
                                       wait_for_the_end, NULL))
            _exit(1);
        if (c == 'e') {
            /* Whichever takes it: all are joined but those that still wait. */
            if (write(wake[1], &c, 1) != 1)
                _exit(1);
            for (int i = 0, found = 0; !found; i = (i + 1) % count)
                if (pthread_tryjoin_np(thread[i], NULL) == 0) {
                    thread[i] = thread[--count];
                    found = 1;
                }
        }
        if (write(s->answer[1], &count, sizeof(count)) < 0)
            _exit(1);
    }
    _exit(0);
}

static int tell(const struct stage *s, char order)
{
    int count;

    assert_int_equal(write(s->order[1], &order, 1), 1);
    assert_int_equal(read(s->answer[0], &count, sizeof(count)),
                     sizeof(count));
    return count;
}

/* A thread that was joined may still be in /proc for a moment. */
static ssize_t list(const struct stage *s, pid_t **tids, ssize_t expected)
{
    ssize_t n;

    while ((n = proc_threads(s->pid, tids)) != expected) {
        assert_true(n > 0);
        free(*tids);
        usleep(1000);
    }
    return n;
}

static int set_up(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));

    assert_int_equal(pipe(s->order), 0);
    assert_int_equal(pipe(s->answer), 0);
    assert_int_equal(cpuset_get_affinity(0, &s->all), 0);
    cpuset_add(&s->one, cpuset_next(&s->all, -1));
    s->pid = fork();
    if (s->pid == 0) {
        close(s->order[1]);
        obey(s);
    }
    close(s->order[0]);
    tell(s, 't');
    assert_int_equal(tell(s, 't'), 2);
    s->threads = threads_new(s->pid);
    assert_non_null(s->threads);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *s = *state;

    threads_free(s->threads);
    close(s->order[1]);
    if (s->pid > 0)
        waitpid(s->pid, NULL, 0);
    close(s->answer[0]);
    close(s->answer[1]);
    free(s);
    return 0;
}

/* With work for all. */
static size_t keep(struct threads *t, const struct cosched_cpuset *cpus, bool strays)
{
    size_t work = SIZE_MAX;

    return threads_keep(t, cpus, NULL, strays, &work);
}

static bool kept(struct threads *t, const struct cosched_cpuset *cpus, bool strays)
{
    size_t work = SIZE_MAX;

    return threads_kept(t, cpus, NULL, strays, &work);
}

/* While nothing happens they are listed once in THREADS_PASSES looks. */
static void test_remembered(void **state)
{
    struct stage *s = *state;

    for (int i = 0; i < 10 * (THREADS_PASSES + 1); i++)
        assert_int_equal(keep(s->threads, &s->all, true), 0);
    assert_int_equal(threads_lists(s->threads), 10);
}

/* A new thread is seen at once, also when another has ended. */
static void test_new(void **state)
{
    struct stage *s = *state;
    pid_t *tids;

    assert_int_equal(keep(s->threads, &s->all, true), 0);
    assert_true(kept(s->threads, &s->all, true));
    assert_int_equal(tell(s, 't'), 3);
    assert_false(kept(s->threads, &s->all, true));
    assert_int_equal(keep(s->threads, &s->all, true), 0);
    assert_true(kept(s->threads, &s->all, true));
    assert_int_equal(tell(s, 'e'), 2);
    assert_int_equal(tell(s, 't'), 3);
    list(s, &tids, 4);
    free(tids);
    assert_false(kept(s->threads, &s->all, true));
}

/* One that is elsewhere is moved; one within is a stray to nobody. */
static void test_moved(void **state)
{
    struct stage *s = *state;
    struct cosched_cpuset mask;
    pid_t *tids;

    if (cpuset_count(&s->all) < 2)
        skip();
    assert_int_equal(keep(s->threads, &s->one, false), 3);
    assert_int_equal(keep(s->threads, &s->one, false), 0);
    assert_int_equal(keep(s->threads, &s->all, true), 0);
    list(s, &tids, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cpuset_get_affinity(tids[i], &mask), 0);
        assert_true(cpuset_equal(&mask, &s->one));
        assert_int_equal(cpuset_set_affinity(tids[i], &s->all), 0);
        assert_false(kept(s->threads, &s->one, true));
        assert_int_equal(keep(s->threads, &s->one, true), 1);
    }
    free(tids);
    assert_int_equal(keep(s->threads, &s->all, false), 3);
}

static void test_ended(void **state)
{
    struct stage *s = *state;

    assert_int_equal(keep(s->threads, &s->all, true), 0);
    kill(s->pid, SIGKILL);
    assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
    assert_false(kept(s->threads, &s->all, true));
    assert_int_equal(keep(s->threads, &s->one, false), 0);
    assert_null(threads_new(s->pid));
    s->pid = 0;
}

/* A process with so many threads, which end with it; make bounds has more. */
#define MANY many()
#define WORK 20000

static int many(void)
{
    const char *wanted = getenv("COSCHED_THREADS");

    return wanted ? atoi(wanted) : 6000;
}

static int idle(void *arg)
{
    while (!arg)
        pause();
    return 0;
}

static pid_t start_crowd(int ready)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    size_t size = 8192;
    char *stacks = mmap(NULL, (size_t)MANY * size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int count = 1;
    for (; count < MANY && stacks != MAP_FAILED; count++)
        if (clone(idle, stacks + (size_t)count * size,
                  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                      CLONE_SYSVSEM,
                  NULL) < 0)
            break;
    if (write(ready, &count, sizeof(count)) < 0)
        _exit(1);
    for (;;)
        pause();
}

/* Let T keep its threads on CPUS, WORK after WORK, until that is done. */
static void keep_crowd(struct threads *t, const struct cosched_cpuset *cpus)
{
    size_t moved = 0, before;

    do {
        size_t work = WORK;
        before = threads_looked(t);
        moved += threads_keep(t, cpus, NULL, false, &work);
        assert_true(threads_looked(t) - before <= WORK);
        /* All but what it did not take was done. */
        assert_true(work == 0 || !threads_failed(t));
    } while (threads_failed(t));
    assert_int_equal(moved, MANY);
    assert_int_equal(threads_count(t), MANY);
}

static void assert_crowd_on(pid_t pid, const struct cosched_cpuset *cpus)
{
    struct cosched_cpuset mask;
    pid_t *tids;
    ssize_t n = proc_threads(pid, &tids);

    assert_int_equal(n, MANY);
    for (ssize_t i = 0; i < n; i++) {
        assert_int_equal(cpuset_get_affinity(tids[i], &mask), 0);
        assert_true(cpuset_equal(&mask, cpus));
    }
    free(tids);
}

/* However many threads a program has and however often it moves them, a look ends when its
 * work is done, and in some looks all have been moved, also where their CPUs change meanwhile. */
static void test_crowd(void **state)
{
    const struct stage *s = *state;
    int pipes[2], count;

    if (cpuset_count(&s->all) < 2)
        skip();
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = start_crowd(pipes[1]);
    assert_int_equal(read(pipes[0], &count, sizeof(count)), sizeof(count));
    close(pipes[0]);
    close(pipes[1]);
    struct threads *t = count == MANY ? threads_new(pid) : NULL;
    if (t) {
        size_t work = 0;
        keep_crowd(t, &s->one);
        assert_crowd_on(pid, &s->one);
        keep_crowd(t, &s->all);
        for (size_t moved = 0; !moved;) { /* to list so many may take all the work of a look */
            work = WORK;
            moved = threads_keep(t, &s->one, NULL, false, &work);
        }
        assert_true(threads_failed(t));
        while (threads_failed(t)) {
            work = WORK;
            threads_keep(t, &s->all, NULL, false, &work);
        }
        assert_crowd_on(pid, &s->all);
    }
    threads_free(t);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (!t)
        skip(); /* no room for so many here */
}

UNIT(test_threads)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_new, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_crowd, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("test_threads", tests, NULL, NULL);
}
