/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Programs for test_stack.py and others that look at stacks.
 *
 * usage: test_stack NAME
 *
 *   deep       each thread goes down 4 MiB, then serial code until stdin ends
 *   hold       each goes down 4 MiB, then waits with 1 MiB of it in use
 *   overflow   one thread recurses without end
 *   frame      one thread has an array that is too large for its stack
 *   interrupt  as frame, and a signal comes before it writes there
 *   initial    the initial thread recurses without end
 *   null       a thread writes to address 0
 *   own        as null, with a handler of the program's own that exits with 42
 *   sent       sends itself SIGSEGV, with such a handler
 *   bad        a thread writes behind an array on its stack
 *   gdb        threads 1 and later suspended in wait_here, thread 0 stops
 *   small      a region with barriers
 *   tasks      tasks, nested regions, barriers; prints a sum */

#include <omp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEEP = 4 << 20, TOO_LARGE = 700 << 10 };

static volatile int sink;

static __attribute__((noinline)) int recurse(int n)
{
    volatile char here[512];

    here[0] = (char)n;
    if (n == sink)
        return here[0];
    return recurse(n - 1) + here[0];
}

static bool interrupted; /* touch() is, once its stack pointer is too low */
static pid_t process, thread;

static __attribute__((noinline)) void touch(size_t size)
{
    volatile char *array = __builtin_alloca(size);

#ifdef __x86_64__
    if (interrupted) {
        long number = SYS_tgkill;
        __asm volatile("syscall" : "+a"(number)
                       : "D"(process), "S"(thread), "d"(SIGUSR1) : "rcx", "r11", "memory");
    }
#endif
    for (size_t i = 0; i < size; i += 1024)
        array[size - 1 - i] = 1;
}

static void handle(int signo)
{
    static const char text[] = "own handler\n";

    (void)signo;
    if (write(STDOUT_FILENO, text, sizeof text - 1) > 0)
        _exit(42);
}

static void wait_for_stdin(void)
{
    char line[16];

    puts("ready");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin))
        return;
}

static int deep(void)
{
    int sum = 0;

#pragma omp parallel
    touch(DEEP);
    wait_for_stdin();
    /* All that was kept is there, and what was not can be used again. */
#pragma omp parallel reduction(+ : sum)
    {
        touch(DEEP);
        sum++;
    }
    return sum;
}

/* Thread 0 waits for the user, the others in a barrier for thread 0. */
static __attribute__((noinline)) int hold_at(int me, size_t size)
{
    volatile unsigned char *array = __builtin_alloca(size);
    int good = 1;

    for (size_t i = 0; i < size; i++)
        array[i] = (unsigned char)(i * 7 + (size_t)me);
#pragma omp barrier
    if (me == 0)
        wait_for_stdin();
#pragma omp barrier
    for (size_t i = 0; i < size; i++)
        good &= array[i] == (unsigned char)(i * 7 + (size_t)me);
    return good;
}

static int hold(void)
{
    int sum = 0;

#pragma omp parallel reduction(+ : sum)
    {
        touch(DEEP);
        sum += hold_at(omp_get_thread_num(), 1 << 20);
    }
    return sum;
}

static int tasks(void)
{
    int sum = 0;

#pragma omp parallel reduction(+ : sum)
    {
        for (int i = 0; i < 20; i++) {
#pragma omp barrier
            sum += i;
        }
#pragma omp single
        for (int i = 0; i < 50; i++)
#pragma omp task shared(sum)
        {
            int inner = 0;

#pragma omp parallel num_threads(2) reduction(+ : inner)
            inner += i;
#pragma omp atomic
            sum += inner;
        }
    }
    return sum;
}

static __attribute__((noinline)) void write_at(volatile char *p, int n)
{
    p[n] = 1;
}

static __attribute__((noinline)) void bad(void)
{
    volatile char array[16];

    array[0] = 0;
    write_at(array, 16 + sink);
    sink = array[0];
}

static int waiting;

/* Each thread has a number of its own here. */
static __attribute__((noinline)) void wait_here(int mine)
{
    volatile int number = 100 + mine;

#pragma omp atomic
    waiting++;
#pragma omp barrier
    sink = number;
}

static void stop_in_region(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num(), there = 0;

        if (me == 0) {
            while (there < omp_get_num_threads() - 1) {
#pragma omp taskyield
#pragma omp atomic read
                there = waiting;
            }
            wait_for_stdin();
        }
        wait_here(me);
    }
}

/* In the last thread of a team, which is no initial thread. */
static void in_thread(const char *name)
{
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() == 3) {
        if (!strcmp(name, "overflow"))
            sink = recurse(1 << 30);
        else if (!strcmp(name, "frame") || interrupted) {
            thread = (pid_t)syscall(SYS_gettid);
            touch(TOO_LARGE);
        }
        else if (!strcmp(name, "bad"))
            bad();
        else
            *(volatile char *)(uintptr_t)sink = 1;
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int sum = 1;

    sink = 0;
    if (!strcmp(name, "own") || !strcmp(name, "sent"))
        signal(SIGSEGV, handle);
    interrupted = !strcmp(name, "interrupt");
    if (interrupted)
        signal(SIGUSR1, handle);
    process = getpid();
    if (!strcmp(name, "deep"))
        sum = deep();
    else if (!strcmp(name, "hold"))
        sum = hold();
    else if (!strcmp(name, "tasks"))
        sum = tasks();
    else if (!strcmp(name, "gdb"))
        stop_in_region();
    else if (!strcmp(name, "small") || !strcmp(name, "initial")
             || !strcmp(name, "sent"))
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp barrier
        sum++;
    }
    else
        in_thread(name);
    if (!strcmp(name, "initial"))
        sink = recurse(1 << 30);
    if (!strcmp(name, "sent"))
        kill(getpid(), SIGSEGV);
    printf("sum %d\n", sum);
    return 0;
}
