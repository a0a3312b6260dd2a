/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The context switch by itself: registers, floating-point control, thread
 * pointer, stacks, unwinding; the same program for each processor.
 *
 * usage: test_switch [--bench] */

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unwind.h>

#include "libgomp-coop/config/coop/thread.h"

#include "libgomp-coop/config/coop/switch.h"

#define STACK 65536
#define RING 500       /* contexts, in the test of many switches */
#define ROUNDS 200     /* through the ring */
#define CROSSINGS 4000 /* between kernel threads */

__thread struct coop_tls coop_tls;
unsigned char coop_switch_by_kernel;

extern unsigned switch_registers(void **save, void *sp, void *tp,
                                 uintptr_t seed);

static int failed;

static void check(int good, const char *what)
{
    if (good)
        return;
    printf("FAIL: %s\n", what);
    failed = 1;
}

static void *here(void)
{
#ifdef __x86_64__ /* where GCC has the other from version 11 on */
    void *tp;

    __asm__ volatile("mov %%fs:0, %0" : "=r"(tp));
    return tp;
#else
    return __builtin_thread_pointer();
#endif
}

static void *new_context(void (*entry)(void))
{
    char *stack = aligned_alloc(64, STACK);

    if (!stack)
        abort();
    return coop_first_frame((uintptr_t)stack + STACK, entry);
}

/* ---- Two contexts that take turns. ---- */

static void *home_sp, *other_sp;
static unsigned other_wrong, other_turns;

static void registers_entry(void)
{
    for (;;) {
        other_wrong += switch_registers(&other_sp, home_sp, here(), 0x77000);
        other_turns++;
    }
}

static void test_registers(void)
{
    unsigned wrong = 0;

    other_sp = new_context(registers_entry);
    for (uintptr_t i = 0; i < 1000; i++)
        wrong += switch_registers(&home_sp, other_sp, here(), i << 32);
    check(wrong == 0, "callee-saved registers of the one who switches");
    check(other_wrong == 0 && other_turns == 999,
          "callee-saved registers of the other");
}

#ifdef __x86_64__
static unsigned control(void)
{
    unsigned mxcsr;
    unsigned short word;

    __asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(word));
    return (mxcsr & ~0x3fu) << 16 | word; /* without the sticky flags */
}

static void set_control(unsigned mxcsr, unsigned short word)
{
    __asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(word));
}

static void other_control(void)
{
    set_control(0xffc0, 0x027f); /* flush to zero, round to zero; 53 bits */
}
#else
static uint64_t control(void)
{
    uint64_t fpcr;

    __asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
}

static void other_control(void)
{
    uint64_t fpcr = 1u << 24 | 3u << 22; /* flush to zero, round to zero */

    __asm volatile("msr fpcr, %0" : : "r"(fpcr));
}
#endif

static int inherited;

static void control_entry(void)
{
    inherited = fegetround() == FE_UPWARD;
    other_control();
    __typeof__(control()) mine = control();
    for (;;) {
        coop_switch(&other_sp, home_sp, here());
        other_wrong += control() != mine;
    }
}

static void test_control(void)
{
    unsigned wrong = 0;

    fesetround(FE_UPWARD);
    other_wrong = 0;
    other_sp = new_context(control_entry);
    fesetround(FE_DOWNWARD);
    __typeof__(control()) mine = control();
    for (int i = 0; i < 10; i++) {
        coop_switch(&home_sp, other_sp, here());
        wrong += control() != mine;
    }
    fesetround(FE_TONEAREST);
    check(inherited, "a new context has its creator's rounding mode");
    check(wrong == 0 && other_wrong == 0, "floating-point control");
}

/* ---- Thread pointer. ---- */

static __thread int mine;
static pthread_barrier_t meet;
static void *donor_tp;
static int *donor_mine, *donor_errno;

static void *donor(void *unused)
{
    (void)unused;
    donor_tp = here();
    donor_mine = &mine;
    donor_errno = &errno;
    coop_tls.ult = (struct coop_ult *)&donor_tp;
    mine = 42;
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    return NULL;
}

static void *wrong_self;
static void *donor_self;

static void pointer_entry(void)
{
    for (;;) {
        mine++;
        errno = 7;
        donor_self = (void *)coop_tls_ult();
        other_wrong += &mine != donor_mine || &errno != donor_errno
                       || here() != donor_tp;
        coop_switch(&other_sp, home_sp, wrong_self);
    }
}

static void test_pointer(int by_kernel)
{
    pthread_t thread;

    coop_switch_by_kernel = (unsigned char)by_kernel;
    pthread_barrier_init(&meet, NULL, 2);
    pthread_create(&thread, NULL, donor, NULL);
    pthread_barrier_wait(&meet);
    wrong_self = here();
    other_wrong = 0;
    mine = 1;
    errno = 3;
    coop_tls.ult = (struct coop_ult *)&mine;
    other_sp = new_context(pointer_entry);
    for (int i = 0; i < 100; i++) {
        coop_switch(&home_sp, other_sp, donor_tp);
        other_wrong += mine != 1 || errno != 3 || *donor_errno != 7
                       || coop_tls_ult() != (struct coop_ult *)&mine;
    }
    check(other_wrong == 0, "thread-local storage follows the context");
    check(donor_self == &donor_tp, "coop_tls is read anew");
    check(*donor_mine == 142, "the donor's variable has been counted up");
    pthread_barrier_wait(&meet);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&meet);
    coop_switch_by_kernel = coop_switch_needs_kernel();
}

/* ---- Stack and unwinding. ---- */

static int aligned, frames;

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *c, void *unused)
{
    (void)c;
    (void)unused;
    return ++frames < 50 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void stack_entry(void)
{
    double local[2];

    __asm volatile("" : : "r"(local) : "memory");
    aligned = ((uintptr_t)__builtin_frame_address(0) & 15) == 0;
    _Unwind_Backtrace(count_frame, NULL);
    coop_switch(&other_sp, home_sp, here());
    abort();
}

static void test_stack(void)
{
    void *sp = other_sp = new_context(stack_entry);

    check((uintptr_t)((void **)sp)[COOP_FRAME_PC] == (uintptr_t)stack_entry,
          "COOP_FRAME_PC is where the context will begin");
    check(((uintptr_t)sp & 7) == 0, "COOP_FRAME_WORDS");
    coop_switch(&home_sp, other_sp, here());
    check(aligned, "the stack is aligned at the entry");
    check(frames >= 1 && frames < 5, "backtraces end at the first frame");
}

/* ---- Many contexts, several kernel threads. ---- */

static void *ring[RING];
static unsigned current;
static uint64_t sums[RING];

static void ring_entry(void)
{
    unsigned me = current;
    uint64_t sum = me;

    for (;;) {
        sum = sum * 31 + me;
        sums[me] = sum;
        current = me + 1;
        coop_switch(&ring[me], me + 1 < RING ? ring[me + 1] : home_sp, here());
    }
}

static void test_ring(void)
{
    int wrong = 0;

    for (unsigned i = 0; i < RING; i++)
        ring[i] = new_context(ring_entry);
    for (int round = 0; round < ROUNDS; round++) {
        current = 0;
        coop_switch(&home_sp, ring[0], here());
    }
    for (unsigned i = 0; i < RING; i++) {
        uint64_t sum = i;

        for (int round = 0; round < ROUNDS; round++)
            sum = sum * 31 + i;
        wrong += sum != sums[i];
    }
    check(wrong == 0, "many contexts, many switches");
}

/* One context, continued by two kernel threads in turn. */
static unsigned crossings;

struct carrier {
    void *sp, *tp;
};

static void crossing_entry(void)
{
    for (;;) {
        double x = crossings;
        struct carrier *carrier = (struct carrier *)coop_tls_worker();

        coop_switch(&other_sp, carrier->sp, carrier->tp);
        other_wrong += x + 1 != crossings;
    }
}

static void *carry(void *parity)
{
    struct carrier self = {NULL, here()};

    coop_tls.worker = (struct coop_worker *)&self;
    for (;;) {
        unsigned n = __atomic_load_n(&crossings, __ATOMIC_ACQUIRE);

        if (n >= CROSSINGS)
            return NULL;
        if (n % 2 != (uintptr_t)parity) {
            sched_yield();
            continue;
        }
        coop_switch(&self.sp, other_sp, self.tp);
        __atomic_store_n(&crossings, n + 1, __ATOMIC_RELEASE);
    }
}

static void test_crossing(void)
{
    pthread_t thread[2];

    other_wrong = 0;
    other_sp = new_context(crossing_entry);
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, carry, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    check(other_wrong == 0 && crossings == CROSSINGS,
          "a context moves between kernel threads");
}

/* As many as a worker has tasks by default on few CPUs; the last one is main's. */
enum { TEAM = 20 };
static void *team_sp[TEAM];
static int team_begun;

static void bench_entry(void)
{
    int me = team_begun++;

    for (;;)
        coop_switch(&team_sp[me], team_sp[me + 1], here());
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void bench(int by_kernel)
{
    enum { N = 2000 };
    double best = 1;

    coop_switch_by_kernel = (unsigned char)by_kernel;
    team_begun = 0;
    for (int i = 0; i < TEAM - 1; i++)
        team_sp[i] = new_context(bench_entry);
    for (int round = 0; round < 50; round++) {
        double begin = seconds();

        for (int i = 0; i < N; i++)
            coop_switch(&team_sp[TEAM - 1], team_sp[0], here());
        double t = (seconds() - begin) / N / TEAM;
        if (t < best)
            best = t;
    }
    printf("switch%s: %.1f ns\n", by_kernel ? " by the kernel" : "", best * 1e9);
    coop_switch_by_kernel = coop_switch_needs_kernel();
}

int main(int argc, char **argv)
{
    coop_switch_by_kernel = coop_switch_needs_kernel();
    test_registers();
    test_control();
    test_pointer(coop_switch_by_kernel);
    test_pointer(1);
    test_stack();
    test_ring();
    test_crossing();
    bench(coop_switch_by_kernel);
    if (argc > 1 && !strcmp(argv[1], "--bench"))
        bench(1);
    puts(failed ? "FAIL" : "PASS");
    return failed;
}
