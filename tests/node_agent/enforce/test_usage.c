/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* How many cores a job uses, from the CPU times of its processes. */

#include "tests/support/unit.h"

#include "common/clock.h"
#include "node_agent/enforce/usage.h"

#define PROCESSES 2
#define BEGIN_NS (1000 * NS_PER_S)
#define BEGIN_TICKS 5000 /* since boot */

/* What the kernel says of the processes with the numbers 1 and 2: the threads of 2
 * have the numbers from 2 on. */
#define MANY 100
static struct {
    uint64_t ran_ns, waited_ns;
} waits[MANY];
static bool waits_known;
static size_t threads;
static size_t looks, lists; /* at threads, and of processes */
static uint64_t clocks[MANY + USAGE_CLOCKS]; /* by process number */
static size_t clocks_read;

uint64_t __wrap_proc_cpu_ns(pid_t pid);

uint64_t __wrap_proc_cpu_ns(pid_t pid)
{
    clocks_read++;
    return clocks[pid];
}

int __wrap_proc_waits(pid_t pid, pid_t tid, uint64_t *ran_ns,
                      uint64_t *waited_ns);
ssize_t __wrap_proc_threads(pid_t pid, pid_t **tids);

int __wrap_proc_waits(pid_t pid, pid_t tid, uint64_t *ran_ns,
                      uint64_t *waited_ns)
{
    (void)pid;
    looks++;
    if (!waits_known)
        return -1;
    *ran_ns = waits[tid - 1].ran_ns;
    *waited_ns = waits[tid - 1].waited_ns;
    return 0;
}

ssize_t __wrap_proc_threads(pid_t pid, pid_t **tids)
{
    lists++;
    *tids = calloc(MANY, sizeof(**tids));
    for (size_t i = 0; i < threads; i++)
        (*tids)[i] = pid + (pid_t)i;
    return (ssize_t)threads;
}

struct stage {
    struct job job;
    struct tracked process[PROCESSES];
    struct proc_stat stat[PROCESSES];
    uint64_t now_ns, boot_ticks;
    uint64_t tick_ns;
};

/* Two processes from before anybody looked, which have used much. */
static int set_up(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));

    s->now_ns = BEGIN_NS;
    s->boot_ticks = BEGIN_TICKS;
    s->tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    for (size_t i = 0; i < PROCESSES; i++) {
        s->process[i].next = i + 1 < PROCESSES ? &s->process[i + 1] : NULL;
        s->process[i].pid = (pid_t)i + 1;
        s->process[i].start = 1000 + i;
        s->stat[i].ticks = 4000;
        s->stat[i].threads = 1;
    }
    s->job.tracked = s->process;
    waits_known = false;
    memset(waits, 0, sizeof(waits));
    threads = 1;
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *s = *state;

    for (size_t i = 0; i < PROCESSES; i++)
        usage_forget(&s->process[i]);
    free(s);
    return 0;
}

/* A scan of LATE_NS. */
static void scan(struct stage *s, uint64_t late_ns)
{
    for (size_t i = 0; i < PROCESSES; i++)
        if (!s->process[i].attached)
            usage_note(&s->process[i], &s->stat[i]);
        else
            usage_forget(&s->process[i]);
    usage_measure(&s->job, s->now_ns, s->now_ns + late_ns, s->boot_ticks);
}

/* So many windows go by, in which the processes use so many of it. */
static void windows(struct stage *s, double windows, double first, double second)
{
    double ticks = (double)USAGE_WINDOW_NS / (double)s->tick_ns;

    s->now_ns += (uint64_t)(windows * (double)USAGE_WINDOW_NS);
    s->boot_ticks += (uint64_t)(windows * ticks);
    s->stat[0].ticks += (uint64_t)(first * ticks);
    s->stat[1].ticks += (uint64_t)(second * ticks);
}

static void assert_use(const struct stage *s, double cores)
{
    assert_true(s->job.use > cores - 0.01 && s->job.use < cores + 0.01);
}

/* All processes together, between two scans; the first says nothing. */
static void test_several(void **state)
{
    struct stage *s = *state;

    scan(s, 0);
    assert_use(s, 0);
    assert_int_equal(s->job.use_from_ns, 0);
    windows(s, 1, 1, 1);
    scan(s, 0);
    assert_use(s, 2);
    assert_int_equal(s->job.use_from_ns, BEGIN_NS);
    windows(s, 10, 4, 1);
    scan(s, 0);
    assert_use(s, 0.5);
}

/* Scans that are too close together make one window. */
static void test_window(void **state)
{
    struct stage *s = *state;

    scan(s, 0);
    windows(s, 0.5, 0.5, 0.5);
    scan(s, 0);
    assert_use(s, 0);
    windows(s, 0.5, 0.5, 0);
    scan(s, 0);
    assert_use(s, 1.5);
    /* Also when one is of an earlier epoch than the one before. */
    s->now_ns -= USAGE_WINDOW_NS / 10;
    scan(s, 0);
    assert_use(s, 1.5);
}

/* One thread never uses more than a core, however late the kernel counts. */
static void test_threads(void **state)
{
    struct stage *s = *state;

    scan(s, 0);
    windows(s, 1, 10, 0);
    scan(s, 0);
    assert_use(s, 1);
    s->stat[0].threads = 4;
    windows(s, 1, 10, 0);
    scan(s, 0);
    assert_use(s, 4);
}

/* What the scan itself takes is no time in which nothing was used. */
static void test_late(void **state)
{
    struct stage *s = *state;

    s->stat[0].threads = 8;
    scan(s, 0);
    windows(s, 1, 2, 0);
    scan(s, USAGE_WINDOW_NS);
    assert_use(s, 1);
}

/* A process that takes over from another in the middle of a window counts for
 * the rest of it; one from before that nobody saw not at all. */
static void test_takes_over(void **state)
{
    struct stage *s = *state;

    s->process[1].dead = true;
    s->process[1].start = BEGIN_TICKS + 2;
    s->stat[1].ticks = 0;
    scan(s, 0);
    usage_forget(&s->process[1]);
    s->process[1].dead = false;
    windows(s, 1, 0.5, 0.5);
    scan(s, 0);
    assert_use(s, 1);
    s->process[1].dead = true;
    windows(s, 1, 0.7, 0);
    scan(s, 0);
    assert_use(s, 0.7);

    usage_forget(&s->process[0]);
    s->process[0].start = BEGIN_TICKS - 1;
    windows(s, 1, 1, 0);
    scan(s, 0);
    assert_use(s, 0);
    windows(s, 1, 1, 0);
    scan(s, 0);
    assert_use(s, 1);
}

/* Attached processes report what they do, and have no past when they are not. */
static void test_attached(void **state)
{
    struct stage *s = *state;

    scan(s, 0);
    s->process[0].attached = true;
    windows(s, 1, 1, 1);
    scan(s, 0);
    assert_use(s, 1);
    s->process[0].attached = false;
    windows(s, 1, 1, 0);
    scan(s, 0);
    assert_use(s, 0);
    windows(s, 1, 1, 0);
    scan(s, 0);
    assert_use(s, 1);
}

/* A process waits while others run on its CPUs. */
static void test_waits(void **state)
{
    struct stage *s = *state;
    uint64_t half_ns = USAGE_WINDOW_NS / 2;

    waits_known = true;
    scan(s, 0);
    for (size_t i = 0; i < PROCESSES; i++) {
        waits[i].ran_ns += half_ns;
        waits[i].waited_ns += half_ns;
    }
    windows(s, 1, 0.5, 0.5);
    scan(s, 0);
    assert_use(s, 2);

    /* All that it waited before it ran again is no more than the rest of the
     * window, whatever other threads it has. */
    s->stat[0].threads = 8;
    waits[0].ran_ns += half_ns;
    waits[0].waited_ns += 10 * half_ns;
    windows(s, 1, 0.5, 0);
    scan(s, 0);
    assert_use(s, 1);

    /* Nor does it count what was before anybody looked. */
    s->process[0].attached = true;
    windows(s, 1, 0, 0);
    scan(s, 0);
    s->process[0].attached = false;
    waits[0].waited_ns += 2 * half_ns;
    windows(s, 1, 0, 0);
    scan(s, 0);
    assert_use(s, 0);
}

/* So do threads, also new ones; of very many those that were made last. */
static void test_threads_wait(void **state)
{
    struct stage *s = *state;

    waits_known = true;
    threads = s->stat[1].threads = 2;
    scan(s, 0);
    threads = s->stat[1].threads = 3;
    for (size_t i = 1; i <= 3; i++)
        waits[i].waited_ns += USAGE_WINDOW_NS;
    windows(s, 1, 0, 0);
    scan(s, 0);
    assert_use(s, 3);

    /* What sleeps at times would use little without waiting. */
    for (size_t i = 1; i <= 3; i++) {
        waits[i].ran_ns += USAGE_WINDOW_NS / 10;
        waits[i].waited_ns += USAGE_WINDOW_NS / 2;
    }
    windows(s, 1, 0, 0.3);
    scan(s, 0);
    assert_use(s, 0.3);

    threads = s->stat[1].threads = MANY - 1;
    scan(s, 0);
    windows(s, 1, 0, 0);
    scan(s, 0);
    for (size_t i = 1; i < MANY; i++)
        waits[i].waited_ns += USAGE_WINDOW_NS;
    windows(s, 1, 0, 0);
    scan(s, 0);
    assert_use(s, USAGE_THREADS);
}

/* While it waits for its turn, or is suspended, a job does not use little. */
static void test_stopped(void **state)
{
    struct stage *s = *state;
    bool *stopped[] = {&s->job.parked, &s->job.suspended};

    for (size_t i = 0; i < 2; i++) {
        windows(s, 2, 0, 0);
        scan(s, 0);
        windows(s, 1, 1, 1);
        scan(s, 0);
        assert_use(s, 2);
        *stopped[i] = true;
        windows(s, 10, 0, 0);
        scan(s, 0);
        assert_use(s, 0);
        *stopped[i] = false;
        assert_int_equal(s->job.use_until_ns, 0);
        windows(s, 10, 0, 0);
        scan(s, 0);
        assert_int_equal(s->job.use_from_ns, 0);
        uint64_t from_ns = s->now_ns;
        windows(s, 1, 1, 1);
        scan(s, 0);
        assert_use(s, 2);
        assert_int_equal(s->job.use_from_ns, from_ns);
    }
}

/* However many threads a job has, so many of them are looked at. */
static void test_looks(void **state)
{
    struct tracked process[20] = {{0}};
    struct job job = {.tracked = process};
    struct proc_stat stat = {.ticks = 4000, .threads = USAGE_THREADS};

    (void)state;
    threads = USAGE_THREADS;
    looks = lists = 0;
    for (size_t i = 0; i < 20; i++) {
        process[i].next = i + 1 < 20 ? &process[i + 1] : NULL;
        process[i].pid = (pid_t)i + 1;
        usage_note(&process[i], &stat);
    }
    usage_measure(&job, BEGIN_NS, BEGIN_NS + 1, BEGIN_TICKS);
    assert_int_equal(looks, USAGE_LOOKS);
    assert_int_equal(lists, USAGE_LOOKS / USAGE_THREADS);
    stat.threads = USAGE_LISTED + 1;
    for (size_t i = 0; i < 20; i++)
        usage_note(&process[i], &stat);
    usage_measure(&job, BEGIN_NS + NS_PER_S, BEGIN_NS + NS_PER_S + 1, BEGIN_TICKS);
    assert_int_equal(lists, USAGE_LOOKS / USAGE_THREADS);
    for (size_t i = 0; i < 20; i++)
        usage_forget(&process[i]);
}

/* ---- CPU clocks ----------------------------------------------------------- */

/* They are of all processes, or say nothing. */
static void test_clocks_unknown(void **state)
{
    struct stage *s = *state;
    struct tracked many[USAGE_CLOCKS + 1] = {0};

    clocks[1] = 5;
    clocks[2] = 70;
    scan(s, 0);
    assert_int_equal(usage_cpu_ns(&s->job, s->now_ns), 75);
    s->job.joined_ns = s->now_ns - USAGE_STEADY_NS + 1;
    assert_int_equal(usage_cpu_ns(&s->job, s->now_ns), STRETCH_UNKNOWN);
    assert_int_equal(usage_cpu_ns(&s->job, s->now_ns + 1), 75);
    clocks[2] = UINT64_MAX; /* it has ended, and no scan has seen that */
    assert_int_equal(usage_cpu_ns(&s->job, s->now_ns + 1), STRETCH_UNKNOWN);
    s->process[1].dead = true;
    assert_int_equal(usage_cpu_ns(&s->job, s->now_ns + 1), 5);
    s->process[0].threads_noted = USAGE_LISTED + 1;
    assert_int_equal(usage_cpu_ns(&s->job, s->now_ns + 1), STRETCH_UNKNOWN);
    s->process[0].attached = true; /* and nobody else is there */
    assert_int_equal(usage_cpu_ns(&s->job, s->now_ns + 1), STRETCH_UNKNOWN);

    for (size_t i = 0; i <= USAGE_CLOCKS; i++) {
        many[i].pid = (pid_t)i + 3;
        clocks[i + 3] = 1;
        many[i].next = i ? &many[i - 1] : NULL;
    }
    s->job.tracked = &many[USAGE_CLOCKS - 1];
    assert_int_equal(usage_cpu_ns(&s->job, s->now_ns + 1), USAGE_CLOCKS);
    clocks_read = 0;
    s->job.tracked = &many[USAGE_CLOCKS];
    assert_int_equal(usage_cpu_ns(&s->job, s->now_ns + 1), STRETCH_UNKNOWN);
    assert_int_equal(clocks_read, USAGE_CLOCKS);
    s->job.tracked = s->process;
}

/* Waits of the newest threads, of so many in all. */
static void test_clocks_waits(void **state)
{
    struct stage *s = *state;
    struct tracked many[USAGE_LOOKS] = {0};

    assert_int_equal(usage_waited_ns(&s->job), 0); /* the kernel does not count */
    waits_known = true;
    threads = s->stat[1].threads = MANY - 1;
    scan(s, 0);
    for (size_t i = 0; i < MANY; i++)
        waits[i].waited_ns = 1;
    waits[0].waited_ns = 1000;
    assert_int_equal(usage_waited_ns(&s->job), 1000 + USAGE_THREADS);
    s->process[0].attached = true;
    assert_int_equal(usage_waited_ns(&s->job), USAGE_THREADS);
    s->process[1].dead = true;
    assert_int_equal(usage_waited_ns(&s->job), 0);
    for (size_t i = 0; i < USAGE_LOOKS; i++)
        many[i] = (struct tracked){
            .pid = 2, .threads_noted = 2, .next = i ? &many[i - 1] : NULL};
    s->job.tracked = &many[USAGE_LOOKS - 1];
    looks = lists = 0;
    assert_int_equal(usage_waited_ns(&s->job), USAGE_LOOKS);
    assert_int_equal(looks, USAGE_LOOKS);
    assert_in_range(lists, 1, USAGE_LOOKS / USAGE_THREADS);
    s->job.tracked = s->process;
}

/* Where CPUs have no tick, clocks of running threads stand still. */
static void test_tickless(void **state)
{
    char file[] = "/tmp/test_usage.XXXXXX";
    static const struct {
        const char *text;
        bool tickless;
    } texts[] = {{"", false}, {"\n", false}, {"(null)\n", false}, {"1-63\n", true},
                 {"0\n", true}};
    int fd = mkstemp(file);

    (void)state;
    assert_true(fd >= 0);
    assert_false(usage_tickless("/nowhere/nohz_full"));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, texts[i].text, strlen(texts[i].text), 0),
                         strlen(texts[i].text));
        assert_int_equal(usage_tickless(file), texts[i].tickless);
    }
    close(fd);
    unlink(file);
}

UNIT(test_usage)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_several, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_takes_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_attached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stopped, set_up, tear_down),
        cmocka_unit_test(test_looks),
        cmocka_unit_test_setup_teardown(test_clocks_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clocks_waits, set_up, tear_down),
        cmocka_unit_test(test_tickless),
    };

    return cmocka_run_group_tests_name("test_usage", tests, NULL, NULL);
}
