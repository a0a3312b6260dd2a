/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What the audit library needs of a C library, which it must not load. */

#ifndef COSCHED_BARE_H
#define COSCHED_BARE_H

/* Concept
 *
 * The loader gives an audit library a namespace of its own: one that needed
 * libc would load a second copy into every process, for half a millisecond, and
 * could not be loaded where that libc is older than the one it was built with.
 * So this library imports nothing.  Its functions are called by the loader, one
 * at a time, before or outside the program's own code; none of them allocates
 * memory or touches errno.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* A system call: its result, or -errno. */
static inline long bare_syscall(long number, long a, long b, long c, long d,
                                long e, long f)
{
#if defined __x86_64__
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
                       "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined __aarch64__
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
#error "no system calls for this processor"
#endif
}

static inline size_t bare_length(const char *text)
{
    size_t n = 0;

    while (text[n])
        n++;
    return n;
}

static inline bool bare_equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

/* What follows PREFIX in TEXT, or NULL. */
static inline const char *bare_after(const char *text, const char *prefix)
{
    while (*prefix)
        if (*text++ != *prefix++)
            return NULL;
    return text;
}

/* What follows the last slash. */
static inline const char *bare_basename(const char *path)
{
    const char *name = path;

    for (; *path; path++)
        if (*path == '/')
            name = path + 1;
    return name;
}

/* Add TEXT to the string LINE of SIZE bytes, as much of it as fits. */
static inline void bare_add(char *line, size_t size, const char *text)
{
    size_t used = bare_length(line);

    while (*text && used + 1 < size)
        line[used++] = *text++;
    line[used] = '\0';
}

#endif /* COSCHED_BARE_H */
