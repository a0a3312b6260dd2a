/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Atomic operations that Intel's compilers call: each kind of operation and
 * type is called through its own name by all threads; sums and products tell
 * whether an update was lost. Prints PASS. */

#include <complex.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 2000 };

static int failed;

#define EXPECT(what, condition)                                                \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("wrong: %s\n", what);                                       \
            failed++;                                                          \
        }                                                                      \
    } while (0)

#define PARALLEL _Pragma("omp parallel for num_threads(THREADS)")

/* Adds and takes away; the values captured before must all differ. */
#define COUNTS(T, name)                                                        \
    {                                                                          \
        void __kmpc_atomic_##name##_add(void *, int, T *, T);                  \
        void __kmpc_atomic_##name##_sub(void *, int, T *, T);                  \
        void __kmpc_atomic_##name##_sub_rev(void *, int, T *, T);              \
        T __kmpc_atomic_##name##_rd(void *, int, T *);                         \
        void __kmpc_atomic_##name##_wr(void *, int, T *, T);                   \
        T x;                                                                   \
        __kmpc_atomic_##name##_wr(NULL, 0, &x, (T)5);                          \
        PARALLEL for (int i = 0; i < ROUNDS; i++)                              \
        {                                                                      \
            __kmpc_atomic_##name##_add(NULL, 0, &x, (T)3);                     \
            __kmpc_atomic_##name##_sub(NULL, 0, &x, (T)2);                     \
            __kmpc_atomic_##name##_sub(NULL, 0, &x, (T)1);                     \
        }                                                                      \
        EXPECT(#name "_add", __kmpc_atomic_##name##_rd(NULL, 0, &x) == (T)5);  \
        __kmpc_atomic_##name##_sub_rev(NULL, 0, &x, (T)7);                     \
        EXPECT(#name "_sub_rev", x == (T)2);                                   \
    }

#define CAPTURES(T, name)                                                      \
    {                                                                          \
        T __kmpc_atomic_##name##_add_cpt(void *, int, T *, T, int);            \
        T __kmpc_atomic_##name##_swp(void *, int, T *, T);                     \
        T __kmpc_atomic_##name##_max_cpt(void *, int, T *, T, int);            \
        T __kmpc_atomic_##name##_div_cpt_rev(void *, int, T *, T, int);        \
        void __kmpc_atomic_##name##_min(void *, int, T *, T);                  \
        T x = 0;                                                               \
        int once[100] = {0};                                                   \
        PARALLEL for (int i = 0; i < 100; i++)                                 \
        {                                                                      \
            once[(int)__kmpc_atomic_##name##_add_cpt(NULL, 0, &x, (T)1, 0)]++; \
        }                                                                      \
        for (int i = 0; i < 100; i++)                                          \
            EXPECT(#name "_add_cpt", once[i] == 1);                            \
        EXPECT(#name "_swp",                                                   \
               __kmpc_atomic_##name##_swp(NULL, 0, &x, (T)4) == (T)100);       \
        EXPECT(#name "_max",                                                   \
               __kmpc_atomic_##name##_max_cpt(NULL, 0, &x, (T)9, 0) == (T)4 && \
                   x == (T)9);                                                 \
        __kmpc_atomic_##name##_min(NULL, 0, &x, (T)3);                         \
        EXPECT(#name "_div_rev", __kmpc_atomic_##name##_div_cpt_rev(           \
                                     NULL, 0, &x, (T)12, 1) == (T)4);          \
    }

#define BITS(T, name)                                                          \
    {                                                                          \
        void __kmpc_atomic_##name##_orb(void *, int, T *, T);                  \
        void __kmpc_atomic_##name##_andb(void *, int, T *, T);                 \
        void __kmpc_atomic_##name##_xor(void *, int, T *, T);                  \
        void __kmpc_atomic_##name##_eqv(void *, int, T *, T);                  \
        void __kmpc_atomic_##name##_andl(void *, int, T *, T);                 \
        void __kmpc_atomic_##name##_shl(void *, int, T *, T);                  \
        void __kmpc_atomic_##name##_shr(void *, int, T *, T);                  \
        void __kmpc_atomic_##name##u_shr(void *, int, T *, T);                 \
        T x = 0;                                                               \
        PARALLEL for (int i = 0; i < 7; i++)                                   \
            __kmpc_atomic_##name##_orb(NULL, 0, &x, (T)(1 << i));              \
        EXPECT(#name "_orb", x == 127);                                        \
        __kmpc_atomic_##name##_andb(NULL, 0, &x, (T)0x55);                     \
        __kmpc_atomic_##name##_xor(NULL, 0, &x, (T)0x0f);                      \
        EXPECT(#name "_xor", x == 0x5a);                                       \
        __kmpc_atomic_##name##_eqv(NULL, 0, &x, (T)0x5a);                      \
        EXPECT(#name "_eqv", x == (T)-1);                                      \
        __kmpc_atomic_##name##_shl(NULL, 0, &x, (T)2);                         \
        __kmpc_atomic_##name##_shr(NULL, 0, &x, (T)1);                         \
        EXPECT(#name "_shr", x == (T)-2);                                      \
        __kmpc_atomic_##name##u_shr(NULL, 0, &x, (T)1);                        \
        EXPECT(#name "u_shr", x > 0 && (T)((unsigned long long)x * 2) == (T)-2);                   \
        __kmpc_atomic_##name##_andl(NULL, 0, &x, (T)8);                        \
        EXPECT(#name "_andl", x == 1);                                         \
    }

static void add_any(void *result, void *left, void *right)
{
    for (int i = 0; i < 4; i++)
        ((double *)result)[i] = ((double *)left)[i] + ((double *)right)[i];
}

static void mixed(void)
{
    void __kmpc_atomic_32(void *, int, void *, void *,
                          void (*)(void *, void *, void *));
    void __kmpc_atomic_fixed4_mul_float8(void *, int, int *, double);
    void __kmpc_atomic_cmplx4_mul_cpt(void *, int, float complex *,
                                      float complex, float complex *, int);
    int __kmpc_atomic_bool_4_cas(void *, int, int *, int, int);
    double any[4] = {0}, one[4] = {1, 2, 3, 4};
    float complex z = 1, out = 0;
    int n = 5, won = 0;
    PARALLEL for (int i = 0; i < ROUNDS; i++)
        __kmpc_atomic_32(NULL, 0, any, one, add_any);
    EXPECT("atomic_32", any[0] == ROUNDS && any[3] == 4 * ROUNDS);
    __kmpc_atomic_fixed4_mul_float8(NULL, 0, &n, 1.5);
    EXPECT("fixed4_mul_float8", n == 7);
    __kmpc_atomic_cmplx4_mul_cpt(NULL, 0, &z, 2 + 1 * I, &out, 1);
    EXPECT("cmplx4_mul_cpt", out == 2 + 1 * I && z == out);
    PARALLEL for (int i = 0; i < 50;
                  i++) if (__kmpc_atomic_bool_4_cas(NULL, 0, &n, 7, 100 + i))
        __atomic_fetch_add(&won, 1, __ATOMIC_RELAXED);
    EXPECT("bool_4_cas", won == 1 && n >= 100);
#ifdef __x86_64__
    /* Libiomp5 has it, libomp has not. */
    extern void __kmpc_atomic_fixed8_add_fp(void *, int, int64_t *, __float128)
        __attribute__((weak));
    int64_t big = 1;
    if (__kmpc_atomic_fixed8_add_fp) {
        __kmpc_atomic_fixed8_add_fp(NULL, 0, &big, (__float128)2.75);
        EXPECT("fixed8_add_fp", big == 3);
    }
#endif
}

int main(void)
{
    COUNTS(int8_t, fixed1)
    COUNTS(int16_t, fixed2)
    COUNTS(int32_t, fixed4)
    COUNTS(int64_t, fixed8)
    COUNTS(float, float4)
    COUNTS(double, float8)
    COUNTS(double complex, cmplx8)
    CAPTURES(int8_t, fixed1)
    CAPTURES(int16_t, fixed2)
    CAPTURES(int32_t, fixed4)
    CAPTURES(int64_t, fixed8)
    CAPTURES(float, float4)
    CAPTURES(double, float8)
    BITS(int8_t, fixed1)
    BITS(int16_t, fixed2)
    BITS(int32_t, fixed4)
    BITS(int64_t, fixed8)
#ifdef __x86_64__
    COUNTS(long double, float10)
    CAPTURES(long double, float10)
#endif
    mixed();
    puts(failed ? "FAIL" : "PASS");
    return failed != 0;
}
