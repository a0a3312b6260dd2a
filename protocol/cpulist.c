/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* CPU sets and the kernel's list format. */

#include "protocol/cpulist.h"

#include <ctype.h>
#include <stdlib.h>


_Static_assert(CPU_SETSIZE == COSCHED_MAX_CPUS, "cpu_set_t has our size");

bool cpuset_subset(const struct cosched_cpuset *inner,
                   const struct cosched_cpuset *outer)
{
    for (int i = 0; i < CPUSET_WORDS; i++)
        if (inner->word[i] & ~outer->word[i])
            return false;
    return true;
}

bool cpuset_intersects(const struct cosched_cpuset *a,
                       const struct cosched_cpuset *b)
{
    for (int i = 0; i < CPUSET_WORDS; i++)
        if (a->word[i] & b->word[i])
            return true;
    return false;
}

/* Read a CPU number at *TEXT and move behind it. */
static int parse_cpu(const char **text, int *cpu)
{
    char *end;

    if (!isdigit((unsigned char)**text)) {
        errno = EINVAL;
        return -1;
    }
    errno = 0;
    unsigned long value = strtoul(*text, &end, 10);
    if (errno || value >= COSCHED_MAX_CPUS) {
        errno = ERANGE;
        return -1;
    }
    *text = end;
    *cpu = (int)value;
    return 0;
}

/* Read "first" or "first-last" at *TEXT into SET and move behind it. */
static int parse_range(const char **text, struct cosched_cpuset *set)
{
    int first, last;

    if (parse_cpu(text, &first) < 0)
        return -1;
    last = first;
    if (**text == '-') {
        ++*text;
        if (parse_cpu(text, &last) < 0)
            return -1;
    }
    if (last < first) {
        errno = EINVAL;
        return -1;
    }
    for (int cpu = first; cpu <= last; cpu++)
        cpuset_add(set, cpu);
    return 0;
}

int cpulist_parse(const char *text, struct cosched_cpuset *set,
                  struct errtext *err)
{
    const char *rest = text;
    struct cosched_cpuset result;

    cpuset_zero(&result);
    while (*rest) {
        if (parse_range(&rest, &result) < 0)
            return errno == ERANGE
                       ? errtext_set(err, ERANGE,
                                     "%.80s: CPU numbers go from 0 to %d", text,
                                     COSCHED_MAX_CPUS - 1)
                       : errtext_set(err, EINVAL,
                                     "%.80s: not a CPU list like 0-3,8", text);
        if (*rest == ',' && rest[1])
            rest++;
        else if (*rest)
            return errtext_set(err, EINVAL, "%.80s: not a CPU list like 0-3,8",
                               text);
    }
    *set = result;
    return 0;
}

char *cpulist_format(const struct cosched_cpuset *set, char *text, size_t size)
{
    size_t used = 0;

    if (size == 0)
        return text;
    text[0] = '\0';
    for (int first = cpuset_next(set, -1); first >= 0;) {
        char entry[24];
        int last = first;

        while (cpuset_has(set, last + 1))
            last++;
        int length = first == last
                         ? snprintf(entry, sizeof(entry), ",%d", first)
                         : snprintf(entry, sizeof(entry), ",%d-%d", first, last);
        const char *begin = used ? entry : entry + 1;
        length -= used ? 0 : 1;
        if (used + (size_t)length >= size)
            break;
        memcpy(text + used, begin, (size_t)length + 1);
        used += (size_t)length;
        first = cpuset_next(set, last);
    }
    return text;
}

int cpuset_get_affinity(pid_t tid, struct cosched_cpuset *set)
{
    cpu_set_t mask;

    _Static_assert(sizeof(mask) == sizeof(*set) && sizeof(long) == 8,
                   "both are words of 64 CPUs");
    if (sched_getaffinity(tid, sizeof(mask), &mask) < 0)
        return -1;
    memcpy(set, &mask, sizeof(*set));
    return 0;
}

int cpuset_set_affinity(pid_t tid, const struct cosched_cpuset *set)
{
    cpu_set_t mask;

    CPU_ZERO(&mask);
    for (int cpu = cpuset_next(set, -1); cpu >= 0; cpu = cpuset_next(set, cpu))
        CPU_SET(cpu, &mask);
    return sched_setaffinity(tid, sizeof(mask), &mask);
}
