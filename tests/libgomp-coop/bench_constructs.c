/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What each construct of OpenMP costs: one line "NAME MICROSECONDS" each.
 *
 * usage: bench_constructs [--ms N] [--each GAP] [NAME...]
 *
 * The work of a construct does not depend on the size of the team: a loop has
 * the same iterations, a critical section is entered as often.  So figures of
 * teams that differ in size can be compared.  Each construct is repeated until
 * a batch takes about N/BATCHES ms; printed is the median of the batches.  With
 * --each, every repetition in N ms is timed alone, after GAP microseconds of
 * serial code, and the line has median, mean and worst: where other programs
 * have the CPUs, few repetitions take nearly all the time. Run by bench-runtime
 * with either library. */

#include <errno.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../support/median.h"

enum { BATCHES = 9, REPEAT_MAX = 1 << 20 };

/* Iterations of the loops, and how many multiplications one has (some 70 ns). */
enum { LOOP = 1024, WORK = 40 };

enum { TASKS = 100 };

static volatile double sink;
static double shared_sum;
static omp_lock_t lock;

static void work(int n)
{
    double x = 1.0;

    for (int i = 0; i < n; i++)
        x = x * 0.999999 + 1e-9;
    __asm__ volatile("" : : "x"(x));
}

static void region(int n)
{
    for (int i = 0; i < n; i++) {
#pragma omp parallel
        __asm__ volatile("");
    }
}

static void barrier(int n)
{
#pragma omp parallel
    for (int i = 0; i < n; i++) {
#pragma omp barrier
    }
}

#define LOOP_BENCH(NAME, SCHEDULE)                                             \
    static void NAME(int n)                                                    \
    {                                                                          \
        _Pragma("omp parallel") for (int i = 0; i < n; i++)                    \
        {                                                                      \
            _Pragma(SCHEDULE) for (int j = 0; j < LOOP; j++) work(WORK);       \
        }                                                                      \
    }

LOOP_BENCH(static_block, "omp for schedule(static)")
LOOP_BENCH(static_16, "omp for schedule(static, 16)")
LOOP_BENCH(dynamic_1, "omp for schedule(dynamic, 1)")
LOOP_BENCH(dynamic_16, "omp for schedule(dynamic, 16)")
LOOP_BENCH(dynamic_128, "omp for schedule(dynamic, 128)")
LOOP_BENCH(guided_1, "omp for schedule(guided, 1)")
LOOP_BENCH(guided_16, "omp for schedule(guided, 16)")

static void single(int n)
{
#pragma omp parallel
    for (int i = 0; i < n; i++) {
#pragma omp single
        __asm__ volatile("");
    }
}

/* These are entered by all threads together n times, and always contended. */

static void critical(int n)
{
#pragma omp parallel
    {
        int last = (omp_get_thread_num() + 1) * n / omp_get_num_threads();

        for (int i = omp_get_thread_num() * n / omp_get_num_threads(); i < last; i++) {
#pragma omp critical
            sink += 1.0;
        }
    }
}

static void atomic(int n)
{
#pragma omp parallel
    {
        int last = (omp_get_thread_num() + 1) * n / omp_get_num_threads();

        for (int i = omp_get_thread_num() * n / omp_get_num_threads(); i < last; i++) {
#pragma omp atomic
            shared_sum += 1.0;
        }
    }
}

static void locks(int n)
{
#pragma omp parallel
    {
        int last = (omp_get_thread_num() + 1) * n / omp_get_num_threads();

        for (int i = omp_get_thread_num() * n / omp_get_num_threads(); i < last; i++) {
            omp_set_lock(&lock);
            sink += 1.0;
            omp_unset_lock(&lock);
        }
    }
}

static void ordered(int n)
{
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < n; i++) {
#pragma omp ordered
        sink += 1.0;
    }
}

static void reduction(int n)
{
    for (int i = 0; i < n; i++) {
        double sum = 0.0;

#pragma omp parallel reduction(+ : sum)
        sum += 1.0;
        sink = sum;
    }
}

/* n batches of tasks from one thread, for all. */
static void task(int n)
{
#pragma omp parallel
    for (int i = 0; i < n; i++) {
#pragma omp single
        for (int j = 0; j < TASKS; j++) {
#pragma omp task
            work(WORK);
        }
    }
}

static void taskwait(int n)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n; i++) {
#pragma omp task
        __asm__ volatile("");
#pragma omp task
        __asm__ volatile("");
#pragma omp taskwait
    }
}

static void nested(int n)
{
    omp_set_max_active_levels(2);
    for (int i = 0; i < n; i++) {
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
        __asm__ volatile("");
    }
    omp_set_max_active_levels(1);
}

/* Two threads hand a baton to each other: each time, one blocks, wakes the
 * other and is switched to.  With one core nothing else can happen. */
static void baton(int n)
{
    omp_lock_t baton[2];

    omp_init_lock(&baton[0]);
    omp_init_lock(&baton[1]);
    omp_set_lock(&baton[1]);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();

        for (int i = me; i < n; i += 2) {
            omp_set_lock(&baton[me]);
            omp_unset_lock(&baton[!me]);
        }
    }
    omp_destroy_lock(&baton[0]);
    omp_destroy_lock(&baton[1]);
}

/* A region as programs have them: 1 ms of work on each core, once statically
 * and once dynamically scheduled. */

static void region_static(int n)
{
    enum { ITERATIONS = 6800 };
    int count = ITERATIONS * omp_get_num_procs();

    for (int i = 0; i < n; i++) {
#pragma omp parallel for schedule(static)
        for (int j = 0; j < count; j++)
            work(WORK * 3);
    }
}

static void region_dynamic(int n)
{
    enum { ITERATIONS = 6800, CHUNK = 16 };
    int count = ITERATIONS * omp_get_num_procs();

    for (int i = 0; i < n; i++) {
#pragma omp parallel for schedule(dynamic, CHUNK)
        for (int j = 0; j < count; j++)
            work(WORK * 3);
    }
}

static const struct {
    const char *name;
    void (*run)(int n);
    int units; /* constructs in one repetition */
} benches[] = {
    {"region", region, 1},
    {"barrier", barrier, 1},
    {"for-static", static_block, 1},
    {"for-static-16", static_16, 1},
    {"for-dynamic-1", dynamic_1, 1},
    {"for-dynamic-16", dynamic_16, 1},
    {"for-dynamic-128", dynamic_128, 1},
    {"for-guided-1", guided_1, 1},
    {"for-guided-16", guided_16, 1},
    {"single", single, 1},
    {"critical", critical, 1},
    {"atomic", atomic, 1},
    {"lock", locks, 1},
    {"ordered", ordered, 1},
    {"reduction", reduction, 1},
    {"task", task, TASKS},
    {"taskwait", taskwait, 1},
    {"nested", nested, 1},
    {"switch", baton, 1},
    {"region-1ms-static", region_static, 1},
    {"region-1ms-dynamic", region_dynamic, 1},
};

static double seconds(void (*run)(int n), int n)
{
    double start = omp_get_wtime();

    run(n);
    return omp_get_wtime() - start;
}

/* The least of a few times: a team that has just been made has slow ones, which must not
 * count as if so few repetitions took so long. */
static double least_seconds(void (*run)(int n), int n)
{
    double least = seconds(run, n);

    for (int i = 0; i < 4; i++) {
        double again = seconds(run, n);
        least = again < least ? again : least;
    }
    return least;
}

/* Microseconds for one repetition of RUN, in MS milliseconds altogether. */
static double measure(void (*run)(int n), double ms)
{
    double target = ms * 1e-3 / BATCHES, us[BATCHES];
    int n = 1;

    run(1);
    while (n < REPEAT_MAX && least_seconds(run, n) < target / 2)
        n *= 2;
    for (int i = 0; i < BATCHES; i++)
        us[i] = seconds(run, n) * 1e6 / n;
    return median(us, BATCHES);
}

static void serial(double us)
{
    for (double start = omp_get_wtime(); omp_get_wtime() - start < us * 1e-6;)
        work(WORK);
}

static void each(const char *name, void (*run)(int n), double ms, double gap)
{
    static double us[REPEAT_MAX];
    double start, sum = 0.0, worst = 0.0;
    int n = 0;

    run(1);
    start = omp_get_wtime();
    do {
        serial(gap);
        us[n] = seconds(run, 1) * 1e6;
        sum += us[n];
        worst = us[n] > worst ? us[n] : worst;
        n++;
    } while (n < REPEAT_MAX && omp_get_wtime() - start < ms * 1e-3);
    printf("%s %.5f %.5f %.5f\n", name, median(us, n), sum / n, worst);
}

static bool wanted(const char *name, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return count == 0;
}

int main(int argc, char **argv)
{
    double ms = 20.0;
    int first = 1, printed = 0;
    double gap = -1.0;

    if (argc > 2 && strcmp(argv[1], "--ms") == 0) {
        ms = atof(argv[2]);
        first = 3;
    }
    if (argc > first + 1 && strcmp(argv[first], "--each") == 0) {
        gap = atof(argv[first + 1]);
        first += 2;
    }
    if (ms <= 0.0) {
        fprintf(stderr, "bench_constructs: --ms %s: not a time\n", argv[2]);
        return 2;
    }
    omp_init_lock(&lock);
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++) {
        if (!wanted(benches[i].name, argv + first, argc - first))
            continue;
        if (gap >= 0.0)
            each(benches[i].name, benches[i].run, ms, gap);
        else
            printf("%s %.5f\n", benches[i].name,
                   measure(benches[i].run, ms) / benches[i].units);
        fflush(stdout);
        printed++;
    }
    if (argc > first && printed < argc - first) {
        fprintf(stderr, "bench_constructs: unknown construct among");
        for (int i = first; i < argc; i++)
            fprintf(stderr, " %s", argv[i]);
        fprintf(stderr, "\n");
        return 2;
    }
    return 0;
}
