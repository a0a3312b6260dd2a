/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Threads that spin for each other: what one has in registers, below its stack
 * pointer, in errno and in its floating-point environment survives when others
 * run in between, while signals, changes of group ids and forks go on.
 *
 * usage: test_preempt ROUNDS [sweeps | count | doubt | compute]
 *
 *   sweeps   pipelines there and back again, with barriers in between: on one
 *            CPU the threads soon begin in an order in which none has to wait
 *   count    threads that wait count, which looks like computing
 *   doubt    threads that wait in a loop in which they first waited and then computed
 *   compute  all just compute, for 30 ms ROUNDS times
 *
 * Prints PASS.  Imports nothing that a signal ends early. */

#include <errno.h>
#include <fenv.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../common/clock.h"

enum { THREADS_MAX = 256 };

static struct {
    int round;
    char line[60];
} done[THREADS_MAX];

static int wrong;
static volatile sig_atomic_t alarms;
static __thread int mine;

static void fail(const char *what)
{
#pragma omp critical
    {
        fprintf(stderr, "thread %d: %s\n", omp_get_thread_num(), what);
        wrong = 1;
    }
}

#ifdef __x86_64__
/* Waits until *WORD is at least ROUND with V in all vector registers, and its
 * first eight bytes in the general ones and in the red zone.  True: all of it
 * is still there. */
__attribute__((noinline)) static int
wait_with_registers(const int *word, int round, const long v[2])
{
    int good;

#define EACH_VECTOR(X)                                                         \
    X(0)                                                                       \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define LOAD(N) "movdqu (%[v]), %%xmm" #N "\n\t"
#define CHECK(N)                                                               \
    "movdqu (%[v]), %%xmm15\n\tpxor %%xmm" #N ", %%xmm15\n\t"                  \
    "ptest %%xmm15, %%xmm15\n\tjnz 3f\n\t"
    __asm__ volatile(
        EACH_VECTOR(
            LOAD) "movq (%[v]), %%r8\n\tmovq %%r8, %%r9\n\tmovq %%r8, %%r10\n\t"
                  "movq %%r8, %%r11\n\tmovq %%r8, %%r12\n\tmovq %%r8, %%r13\n\t"
                  "movq %%r8, %%r14\n\tmovq %%r8, %%r15\n\tmovq %%r8, "
                  "-8(%%rsp)\n\t"
                  "movq %%r8, -120(%%rsp)\n"
                  "1:\tpause\n\tcmpl %[round], (%[word])\n\tjl 1b\n\t"
                  "movq (%[v]), %%rax\n\t"
                  "cmpq %%rax, %%r8\n\tjne 3f\n\tcmpq %%rax, %%r9\n\tjne 3f\n\t"
                  "cmpq %%rax, %%r10\n\tjne 3f\n\tcmpq %%rax, %%r11\n\tjne "
                  "3f\n\t"
                  "cmpq %%rax, %%r12\n\tjne 3f\n\tcmpq %%rax, %%r13\n\tjne "
                  "3f\n\t"
                  "cmpq %%rax, %%r14\n\tjne 3f\n\tcmpq %%rax, %%r15\n\tjne "
                  "3f\n\t"
                  "cmpq %%rax, -8(%%rsp)\n\tjne 3f\n\tcmpq %%rax, "
                  "-120(%%rsp)\n\tjne 3f\n\t" EACH_VECTOR(
                      CHECK) "movl $1, %%eax\n\tjmp 4f\n"
                             "3:\txorl %%eax, %%eax\n"
                             "4:\n"
        : "=&a"(good)
        : [word] "D"(word), [round] "S"(round), [v] "d"(v)
        : "memory", "cc", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
          "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
          "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    return good;
}
#else
static int wait_with_registers(const int *word, int round, const long v[2])
{
    (void)v;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < round) {
    }
    return 1;
}
#endif

/* One that a compiler makes, with a flush. */
static void wait_simply(const int *word, int round)
{
    while (*(const volatile int *)word < round) {
#pragma omp flush
    }
}

static void count(int signo)
{
    (void)signo;
    alarms++;
}

static void disturb(int round)
{
    int status;
    pid_t child;

    if (round % 16 == 5 && setgid(getgid()) != 0)
        fail("setgid");
    if (round % 16 != 11)
        return;
    child = fork();
    if (child == 0)
        _exit(7);
    if (child < 0 || waitpid(child, &status, 0) != child ||
        !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        fail("fork");
}

static void check_thread(int me, int rounding, const sigset_t *before)
{
    sigset_t mask;
    stack_t alternate;

    if (errno != me + 1000)
        fail("errno");
    if (fegetround() != rounding)
        fail("rounding");
    if (mine != me)
        fail("thread-local variable");
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (memcmp(&mask, before, sizeof(unsigned long)) != 0)
        fail("signal mask");
    if (sigaltstack(NULL, &alternate) != 0 || alternate.ss_flags & SS_ONSTACK)
        fail("alternate stack");
}

static void run(int me, int team, int rounds, const sigset_t *mask)
{
    static const int roundings[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD,
                                    FE_TOWARDZERO};
    long v[2] = {me * 0x0101010101010101L + 1, ~(long)me};
    const int *right = &done[(me + 1) % team].round;
    int old = fegetround();

    mine = me;
    for (int i = 1; i <= rounds; i++) {
        int wanted = me == team - 1 ? i - 1 : i;

        errno = me + 1000;
        fesetround(roundings[me % 4]);
        if (i % 2)
            wait_simply(right, wanted);
        else if (!wait_with_registers(right, wanted, v))
            fail("registers");
        check_thread(me, roundings[me % 4], mask);
        fesetround(old);
        if (done[me].round != i - 1)
            fail("order");
        if (me == 0)
            disturb(i);
        __atomic_store_n(&done[me].round, i, __ATOMIC_RELEASE);
    }
}

/* All stages, each after thread BEFORE has done it; true: it had to wait. */
static int sweep(int me, int before, int team)
{
    enum { STAGES = 4 };
    int waited = 0;

    done[me].round = 0;
#pragma omp barrier
    for (int i = 1; i <= STAGES; i++) {
        if (before >= 0 && before < team &&
            __atomic_load_n(&done[before].round, __ATOMIC_ACQUIRE) < i) {
            waited = 1;
            wait_simply(&done[before].round, i);
        }
        __atomic_store_n(&done[me].round, i, __ATOMIC_RELEASE);
    }
#pragma omp barrier
    return waited;
}

/* Sweeps in the second half of ROUNDS in which a thread had to wait. */
static int sweeps(int rounds)
{
    int waits = 0;

    for (int i = 0; i < rounds; i++) {
        int here = 0;
#pragma omp parallel reduction(+ : here)
        {
            int me = omp_get_thread_num(), team = omp_get_num_threads();

            here = sweep(me, me - 1, team) + sweep(me, me + 1, team);
        }
        waits += i >= rounds / 2 ? here : 0;
    }
    return waits;
}

/* Each thread after its right neighbour, which begins later. */
static void count_and_wait(int rounds)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        const int *right = &done[(me + 1) % team].round;

        for (int i = 1; i <= rounds; i++) {
            long n = 0;

            while (__atomic_load_n(right, __ATOMIC_ACQUIRE) < i - (me == team - 1))
                __asm__ volatile("inc %0" : "+r"(n));
            __atomic_store_n(&done[me].round, i, __ATOMIC_RELEASE);
        }
    }
}

/* Until *WORD is ROUND at least, or STEP has been taken from N down to 0. */
__attribute__((noinline)) static void look_often(const int *word, int round, long n, long step)
{
    while (n > 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) < round)
        n -= step;
}

/* The loop is known to wait, then it is found to compute, and then it waits again. */
static void doubt(int rounds)
{
    enum { WAITS = 200 };
    static const int never = 0;

#pragma omp parallel
    {
        int me = omp_get_thread_num(), last = omp_get_num_threads() - 1;
        const int *right = &done[(me + 1) % (last + 1)].round;

        for (int i = 1; i <= WAITS + rounds; i++) {
            look_often(right, i - (me == last), 1, 0);
            __atomic_store_n(&done[me].round, i, __ATOMIC_RELEASE);
            if (i == WAITS)
                look_often(&never, 1, 300000000, 1);
        }
    }
}

static void compute(int rounds)
{
#pragma omp parallel
    for (int i = 0; i < rounds; i++) {
        uint64_t end = clock_cpu_ns() + 30 * NS_PER_MS;

        while (clock_cpu_ns() < end)
            for (long n = 0; n < 100000; n++)
                __asm__ volatile("" : "+r"(n));
    }
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 700}, {0, 700}};
    int rounds = argc >= 2 ? atoi(argv[1]) : 0;
    sigset_t mask;

    if (rounds <= 0 || omp_get_max_threads() > THREADS_MAX)
        return 2;
    if (argc == 3 && strcmp(argv[2], "sweeps") != 0) {
        (strcmp(argv[2], "count") == 0   ? count_and_wait
         : strcmp(argv[2], "doubt") == 0 ? doubt
                                         : compute)(rounds);
        puts("PASS");
        return 0;
    }
    if (argc == 3) {
        int waits = sweeps(rounds);

        printf("%s, %d waits\n", waits < rounds / 4 ? "PASS" : "FAIL", waits);
        return waits >= rounds / 4;
    }
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
#pragma omp parallel
    run(omp_get_thread_num(), omp_get_num_threads(), rounds, &mask);
    printf("%s, %d alarms\n", wrong ? "FAIL" : "PASS", (int)alarms);
    return wrong;
}
