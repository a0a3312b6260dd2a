/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Loops as compilers of the LLVM family hand them to libomp: all types and
 * schedules, up to the ends of the types, each iteration once, one last one.
 * Prints one line for each kind. */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ident ident_t;
enum { ITERATIONS = 1000 }; /* at most, of the loops here */

static unsigned char seen[ITERATIONS];
static int lasts, last_seen, bad;

static void begin(void)
{
    memset(seen, 0, sizeof seen);
    lasts = bad = 0;
    last_seen = -1;
}

/* Iteration I of COUNT; its thread was told that it has the LAST one. */
static void visit(unsigned long long i, unsigned long long count)
{
    if (i >= count || i >= ITERATIONS)
        __atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
}

static void told_last(unsigned long long i)
{
    __atomic_fetch_add(&lasts, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&last_seen, (int)i, __ATOMIC_RELAXED);
}

static int wrong(unsigned long long count)
{
    if (bad || (count && (lasts != 1 || last_seen != (int)count - 1)) ||
        (!count && lasts))
        return 1;
    for (unsigned long long i = 0; i < ITERATIONS; i++)
        if (seen[i] != (i < count))
            return 1;
    return 0;
}

static int failed;

static void check(const char *what, const char *type, int schedule, int chunk,
                  unsigned long long count, long long step)
{
    if (!wrong(count))
        return;
    failed++;
    printf("%s_%s schedule %d chunk %d count %llu step %lld: bad %d lasts %d "
           "at %d\n",
           what, type, schedule, chunk, count, step, bad, lasts, last_seen);
}

static const long long steps[] = {1, 3, -1, -7};
static const int counts[] = {0, 1, 2, 5, 100, 997};

/* NAME is libomp's suffix for type T, which is UT without sign and ST with one;
 * loops begin or end at LEAST or MOST. */
#define TYPE(name, T, UT, ST, least, most)                                     \
    void __kmpc_for_static_init_##name(ident_t *, int, int, int *, T *, T *,   \
                                       ST *, ST, ST);                          \
    void __kmpc_dispatch_init_##name(ident_t *, int, int, T, T, ST, ST);       \
    int __kmpc_dispatch_next_##name(ident_t *, int, int *, T *, T *, ST *);    \
    void __kmpc_dispatch_fini_##name(ident_t *, int);                          \
                                                                               \
    static void bounds_##name(int where, int count, ST step, T *lower,         \
                              T *upper)                                        \
    {                                                                          \
        UT length = (UT)(count - 1) * (UT)step;                                \
        if (where == 0)                                                        \
            *lower = step > 0 ? least : most,                                  \
            *upper = (T)((UT)*lower + length);                                 \
        else if (where == 1)                                                   \
            *upper = step > 0 ? most : least,                                  \
            *lower = (T)((UT)*upper - length);                                 \
        else                                                                   \
            *lower = step > 0 ? 7 : (T)9000,                                   \
            *upper = (T)((UT)*lower + length);                                 \
        if (count == 0 && where != 2)                                          \
            *lower = step > 0 ? 9 : 5, *upper = step > 0 ? 5 : 9;              \
    }                                                                          \
                                                                               \
    static void static_##name(int schedule, int chunk, int where, int count,   \
                              ST step)                                         \
    {                                                                          \
        T from, to;                                                            \
        bounds_##name(where, count, step, &from, &to);                         \
        begin();                                                               \
        _Pragma("omp parallel num_threads(3)")                                 \
        {                                                                      \
            T lower = from, upper = to;                                        \
            ST stride = 0;                                                     \
            int last = 0, gtid = 0;                                            \
            __kmpc_for_static_init_##name(NULL, gtid, schedule, &last, &lower, \
                                          &upper, &stride, step, chunk);       \
            if (count && (step > 0 ? lower <= upper : lower >= upper)) {       \
                UT size = step > 0 ? (UT)step : (UT)-step;                     \
                unsigned long long i, n, next = (unsigned)count;               \
                i = (step > 0 ? (UT)((UT)lower - (UT)from)                     \
                              : (UT)((UT)from - (UT)lower)) /                  \
                    size;                                                      \
                n = (step > 0 ? (UT)((UT)upper - (UT)lower)                    \
                              : (UT)((UT)lower - (UT)upper)) /                 \
                    size;                                                      \
                if (schedule == 33 && i + n < (unsigned)count - 1)             \
                    next = (step > 0 ? (UT)stride : (UT)-stride) / size;       \
                for (; i < (unsigned)count; i += next)                         \
                    for (unsigned long long k = i; k <= i + n; k++) {          \
                        if (k < (unsigned)count || schedule != 33 || i < next) \
                            visit(k, (unsigned)count);                         \
                        if (last && k == (unsigned)count - 1)                  \
                            told_last(k);                                      \
                    }                                                          \
            }                                                                  \
        }                                                                      \
        check("static", #name, schedule, chunk, (unsigned)count, step);        \
    }                                                                          \
                                                                               \
    static void dispatch_##name(int schedule, int chunk, int where, int count, \
                                ST step)                                       \
    {                                                                          \
        T from, to;                                                            \
        int in_turn = 0,                                                       \
            ordered = (schedule & 0xff) > 64 && (schedule & 0xff) < 128;       \
        bounds_##name(where, count, step, &from, &to);                         \
        begin();                                                               \
        _Pragma("omp parallel num_threads(3)")                                 \
        {                                                                      \
            T lower, upper;                                                    \
            ST by = 0;                                                         \
            int last = 0, gtid = omp_get_thread_num();                         \
            gtid = __kmpc_global_thread_num(NULL);                             \
            __kmpc_dispatch_init_##name(NULL, gtid, schedule, from, to, step,  \
                                        chunk);                                \
            while (__kmpc_dispatch_next_##name(NULL, gtid, &last, &lower,      \
                                               &upper, &by)) {                 \
                unsigned long long i = step > 0 ? (UT)((UT)lower - (UT)from) / \
                                                      (UT)step                 \
                                                : (UT)((UT)from - (UT)lower) / \
                                                      (UT)-step;               \
                for (T v = lower;; v = (T)((UT)v + (UT)by), i++) {             \
                    visit(i, (unsigned)count);                                 \
                    if (last && i == (unsigned)count - 1)                      \
                        told_last(i);                                          \
                    if (ordered) {                                             \
                        __kmpc_ordered(NULL, gtid);                            \
                        if ((unsigned long long)in_turn++ != i)                \
                            bad++;                                             \
                        __kmpc_end_ordered(NULL, gtid);                        \
                        __kmpc_dispatch_fini_##name(NULL, gtid);               \
                    }                                                          \
                    if (v == upper || i > ITERATIONS)                          \
                        break;                                                 \
                }                                                              \
            }                                                                  \
        }                                                                      \
        check("dispatch", #name, schedule, chunk, (unsigned)count, step);      \
    }                                                                          \
                                                                               \
    static void all_##name(int signed_steps)                                   \
    {                                                                          \
        static const int statics[] = {33, 34, 45};                             \
        static const int dynamics[] = {33, 34, 35, 36,  37,  38,  39, 42,      \
                                       43, 44, 46, 47,  65,  66,  67, 68,      \
                                       69, 70, 71, 163, 164, 165, 166};        \
        for (int s = 0; s < (signed_steps ? 4 : 2); s++)                       \
            for (int c = 0; c < 6; c++)                                        \
                for (int w = 0; w < 3; w++)                                    \
                    for (int k = 1; k <= 16; k *= 4) {                         \
                        for (int i = 0; i < 3; i++)                            \
                            static_##name(statics[i], k, w, counts[c],         \
                                          (ST)steps[s]);                       \
                        for (int i = 0; i < 23; i++)                           \
                            for (unsigned m = 0; m <= 1; m++)                  \
                                dispatch_##name(dynamics[i] | (int)(m << 30),  \
                                                k, w, counts[c],               \
                                                (ST)steps[s]);                 \
                    }                                                          \
        printf("loops over " #name ": %d wrong\n", failed);                    \
    }

int __kmpc_global_thread_num(ident_t *);
void __kmpc_ordered(ident_t *, int);
void __kmpc_end_ordered(ident_t *, int);

TYPE(4, int, unsigned, int, -2147483647 - 1, 2147483647)
TYPE(4u, unsigned, unsigned, int, 0, 4294967295u)
TYPE(8, long long, unsigned long long, long long, -9223372036854775807ll - 1,
     9223372036854775807ll)
TYPE(8u, unsigned long long, unsigned long long, long long, 0,
     18446744073709551615ull)

int main(void)
{
    all_4(1);
    all_4u(1);
    all_8(1);
    all_8u(1);
    return failed != 0;
}
