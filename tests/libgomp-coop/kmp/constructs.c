/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* OpenMP's constructs but tasks, as clang translates them. Prints one line for
 * each, which does not depend on who runs what.
 * usage: constructs [ROUNDS] */

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 5, N = 1000 };

static int ids_differ(void)
{
    extern int __kmpc_global_thread_num(void *);
    int id[THREADS], same = 0;
#pragma omp parallel num_threads(THREADS)
    id[omp_get_thread_num()] = __kmpc_global_thread_num(NULL);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < i; k++)
            same += id[i] == id[k];
    return same == 0;
}

static void regions(void)
{
    int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, sum = 0,
        inner = 0, serial = 0;
    double x = 0.5;
#pragma omp parallel num_threads(THREADS) firstprivate(a, x)
    {
        a += omp_get_num_threads();
#pragma omp critical
        sum += a + b + c + d + e + f + g + h + (int)(4 * x);
    }
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(3) proc_bind(close)
    {
#pragma omp atomic
        inner += omp_get_level() * 100 + omp_get_team_size(1) * 10 +
                 omp_get_num_threads();
#pragma omp parallel if (omp_get_level() > 5)
        {
#pragma omp atomic
            serial += omp_get_num_threads() + omp_get_level();
        }
    }
    printf("regions %d %d %d, numbers differ: %d\n", sum, inner, serial,
           ids_differ());
}

/* As many variables as compilers of Fortran may share. */
#define TEN(m, n)                                                              \
    m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8)    \
        m(n##9)
#define HUNDRED(m)                                                             \
    TEN(m, 1)                                                                  \
    TEN(m, 2) TEN(m, 3) TEN(m, 4) TEN(m, 5) TEN(m, 6) TEN(m, 7) TEN(m, 8)
#define DECLARE(n) int v##n = n;
#define ADD(n)     v##n += 1;
#define SUM(n)     +v##n

static void variables(void)
{
    HUNDRED(DECLARE)
#pragma omp parallel num_threads(3)
    {
#pragma omp critical
        {
            HUNDRED(ADD)
        }
    }
    printf("variables %d\n", 0 HUNDRED(SUM));
}

static void sync(void)
{
    int phases[THREADS] = {0}, late = 0, singles = 0, got = 0, masters = 0,
        masked = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : got, late)
    for (int p = 1; p <= 50; p++) {
        int mine = 0;
        phases[omp_get_thread_num()] = p;
#pragma omp barrier
        for (int i = 0; i < THREADS; i++)
            late += phases[i] != p;
#pragma omp barrier
#pragma omp single copyprivate(mine)
        {
            singles++;
            mine = p;
        }
        got += mine;
#pragma omp master
        masters++;
#pragma omp masked filter(2)
        masked++;
    }
    printf("sync late %d singles %d got %d masters %d masked %d\n", late,
           singles, got, masters, masked);
}

static void loops(void)
{
    long sum[12] = {0};
    int last = -1, k = 0;
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for schedule(static) reduction(+ : sum[0]) lastprivate(last) nowait
        for (int i = 3; i < N; i += 2)
            sum[0] += i, last = i;
#pragma omp for schedule(static, 7) reduction(+ : sum[1])
        for (long i = N; i > 0; i -= 3)
            sum[1] += i;
#pragma omp for schedule(dynamic) reduction(+ : sum[2]) lastprivate(k)
        for (unsigned i = 0; i < N; i++)
            sum[2] += i, k = (int)i;
#pragma omp for schedule(guided, 3) reduction(+ : sum[3]) nowait
        for (unsigned long i = 0; i < N; i++)
            sum[3] += (long)i;
#pragma omp for schedule(runtime) reduction(+ : sum[4])
        for (int i = 0; i < N; i++)
            sum[4] += i;
#pragma omp for schedule(auto) collapse(2) reduction(+ : sum[5])
        for (int i = 0; i < 30; i++)
            for (int j = 0; j < 20; j++)
                sum[5] += i * j;
#pragma omp for schedule(monotonic : dynamic, 2) reduction(+ : sum[6])
        for (int i = 0; i < N; i++)
            sum[6] += i;
#pragma omp for ordered schedule(dynamic, 3)
        for (int i = 0; i < 100; i++) {
#pragma omp ordered
            sum[7] = sum[7] * 3 % 1000003 + i;
        }
#pragma omp for ordered schedule(static)
        for (int i = 0; i < 100; i++) {
#pragma omp ordered
            sum[8] = sum[8] * 3 % 1000003 + i;
        }
#pragma omp sections reduction(+ : sum[9])
        {
#pragma omp section
            sum[9] += 1;
#pragma omp section
            sum[9] += 10;
#pragma omp section
            sum[9] += 100;
        }
    }
    printf("loops");
    for (int i = 0; i < 10; i++)
        printf(" %ld", sum[i]);
    printf(" last %d %d\n", last, k);
}

static void doacross(void)
{
    static long a[64][64], b[256];
    for (int round = 0; round < 3; round++)
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for ordered(2) schedule(static, 1) nowait
        for (int i = 0; i < 64; i++)
            for (int j = 0; j < 64; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                a[i][j] = (i ? a[i - 1][j] : 1) +
                          (j ? a[i][j - 1] : 1) % 1000003;
#pragma omp ordered depend(source)
            }
#pragma omp for ordered(1) schedule(dynamic, 2)
        for (int i = 255; i >= 0; i -= 3) {
#pragma omp ordered depend(sink : i + 3)
            b[i] = i + 3 <= 255 ? b[i + 3] * 2 % 1000003 + i : 1;
#pragma omp ordered depend(source)
        }
    }
    printf("doacross %ld %ld\n", a[63][63] % 1000003, b[0]);
}

struct big {
    long v[20];
};
static void add_big(struct big *to, const struct big *from)
{
    for (int i = 0; i < 20; i++)
        to->v[i] += from->v[i];
}
#pragma omp declare reduction(big                                              \
                              : struct big                                     \
                              : add_big(&omp_out, &omp_in))                    \
    initializer(omp_priv = (struct big){{0}})

static void reductions(void)
{
    int a = 0, least = 1 << 30, most = 0, bits = 0, all = 1;
    double d = 0, array[8] = {0};
    struct big big = {{0}};
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for num_threads(THREADS) reduction(+ : a, d) reduction(min : least) \
    reduction(max : most) reduction(| : bits) reduction(&& : all)
        for (int i = 1; i <= N; i++) {
            a += i, d += 0.5, bits |= 1 << i % 20, all = all && i;
            least = i < least ? i : least, most = i > most ? i : most;
        }
#pragma omp parallel num_threads(THREADS)
        {
#pragma omp for reduction(+ : array) reduction(big : big) nowait
            for (int i = 0; i < N; i++)
                array[i % 8] += i, big.v[i % 20] += i;
#pragma omp for reduction(+ : a)
            for (int i = 0; i < 100; i++)
                a += i;
        }
    }
    printf("reductions %d %g %d %d %d %d %g %ld\n", a, d, least, most, bits,
           all, array[3], big.v[7]);
}

static int counter = 10;
static struct big wide;
#pragma omp threadprivate(counter, wide)

static void threadprivate(void)
{
    int sum = 0, kept = 0;
    long copied = 0;
    omp_set_dynamic(0);
    wide.v[19] = 4;
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
    {
        counter += omp_get_thread_num();
        sum += counter;
    }
#pragma omp parallel num_threads(THREADS) reduction(+ : kept)
    kept += counter == 10 + omp_get_thread_num();
    counter = 77;
#pragma omp parallel num_threads(THREADS) copyin(counter, wide) reduction(+ : copied)
    copied += counter + wide.v[19];
    printf("threadprivate %d kept %d copied %ld\n", sum, kept, copied);
}

static void locks(void)
{
    omp_lock_t lock, *hinted = malloc(sizeof *hinted);
    omp_nest_lock_t nest;
    int n = 0, m = 0, depth = 0, guarded = 0;
    omp_init_lock(&lock);
    omp_init_lock_with_hint(hinted, omp_lock_hint_contended);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < 200; i++) {
        omp_set_lock(&lock);
        n++;
        omp_unset_lock(&lock);
        while (!omp_test_lock(hinted)) {
#pragma omp taskyield
        }
        m++;
        omp_unset_lock(hinted);
        omp_set_nest_lock(&nest);
        depth += omp_test_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
#pragma omp critical(hinted) hint(omp_sync_hint_contended)
        guarded++;
    }
    omp_destroy_lock(&lock);
    omp_destroy_lock(hinted);
    omp_destroy_nest_lock(&nest);
    free(hinted);
    printf("locks %d %d %d %d\n", n, m, depth, guarded);
}

static void cancellation(void)
{
    int after = 0, past = 0, done = 0;
    for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(THREADS)
        {
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 100000; i++) {
                if (i == 50) {
#pragma omp cancel for
                }
#pragma omp cancellation point for
            }
#pragma omp for schedule(static)
            for (int i = 0; i < 100000; i++) {
#pragma omp cancel for if (i % 100 == 50)
            }
#pragma omp atomic
            after++;
        }
#pragma omp parallel num_threads(THREADS)
        {
#pragma omp atomic
            done++;
#pragma omp barrier
            if (omp_get_thread_num() == 1) {
#pragma omp cancel parallel
            }
#pragma omp barrier
#pragma omp atomic
            past++;
        }
#pragma omp parallel sections num_threads(THREADS)
        {
#pragma omp section
            {
#pragma omp cancel sections
                past += 1000;
            }
#pragma omp section
            {
#pragma omp cancellation point sections
            }
        }
    }
    printf("cancellation %d after %d past %d done %d\n", omp_get_cancellation(),
           after, past, done);
}

static void teams(void)
{
    int sum = 0, leagues = 0, in = 0;
#pragma omp teams num_teams(3) thread_limit(2) reduction(+ : leagues)
    {
        leagues += omp_get_num_teams() + omp_get_team_num();
#pragma omp parallel reduction(+ : in)
        in += 0 * omp_get_num_threads();
    }
#pragma omp teams distribute parallel for num_teams(4) thread_limit(3) reduction(+ : sum)
    for (int i = 0; i < N; i++)
        sum += i;
#pragma omp teams distribute parallel for dist_schedule(static, 10) schedule(dynamic, 3) \
    reduction(+ : sum) num_teams(2)
    for (int i = 0; i < N; i++)
        sum += i;
    printf("teams %d %d %d\n", leagues, sum, in);
}

static void memory(void)
{
    omp_alloctrait_t traits[] = {{omp_atk_alignment, 256}};
    omp_allocator_handle_t a = omp_init_allocator(omp_default_mem_space, 1,
                                                  traits);
    char *p = omp_alloc(100, a),
         *q = omp_alloc(100, llvm_omp_target_host_mem_alloc),
         *r = omp_calloc(10, 10, omp_high_bw_mem_alloc),
         *s = kmp_calloc(10, 10);
    int zero = 0;
    for (int i = 0; i < 100; i++)
        zero += r[i] == 0 && s[i] == 0;
    printf("memory %d %d %d\n", p && (size_t)p % 256 == 0, q != NULL, zero);
    omp_free(p, a);
    omp_free(q, llvm_omp_target_host_mem_alloc);
    omp_free(r, omp_high_bw_mem_alloc);
    kmp_free(s);
    omp_destroy_allocator(a);
}

static void settings(void)
{
    omp_sched_t kind;
    int chunk;
    char text[64];
    omp_set_schedule(omp_sched_guided, 5);
    omp_get_schedule(&kind, &chunk);
    kmp_set_blocktime(100);
    omp_set_affinity_format("L%L n%n N%N");
    omp_capture_affinity(text, sizeof text, NULL);
    printf("settings %d %d %d '%s' %d %d %d %d\n", (int)kind, chunk,
           kmp_get_blocktime(), text, omp_in_parallel(), omp_get_num_devices(),
           omp_is_initial_device(), omp_control_tool(1, 0, NULL));
}

/* A thread of the program's own has a team of its own. */
static void *own_thread(void *sum)
{
#pragma omp parallel num_threads(3)
#pragma omp atomic
    *(int *)sum += omp_get_num_threads();
    return NULL;
}

static void threads(void)
{
    int sum = 0;
    for (int round = 0; round < 20; round++) {
        pthread_t t[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&t[i], NULL, own_thread, &sum);
        for (int i = 0; i < 2; i++)
            pthread_join(t[i], NULL);
    }
    printf("threads %d\n", sum);
}

int main(int argc, char **argv)
{
    for (int rounds = argc > 1 ? atoi(argv[1]) : 1; rounds > 0; rounds--) {
        regions();
        variables();
        sync();
        loops();
        doacross();
        reductions();
        threadprivate();
        locks();
        cancellation();
        teams();
        memory();
        settings();
        threads();
    }
    return 0;
}
