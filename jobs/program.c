/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Command line, clock and result line of the programs in jobs/. */

#include "jobs/program.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATUS_PASS = 0, STATUS_FAIL = 1, STATUS_USAGE = 2 };

/* Longest time or count that makes sense: about three years of seconds. */
static const double number_max = 1e8;

static void usage(const struct program *p)
{
    printf("usage: %s [--class S|W|A|B|C] [--repeat N] [--min-time SECONDS]"
           " [--json]\n\n%s\n\n"
           "  --class C           size of the problem: S (smallest), W, A"
           " (default), B, C%s%s\n"
           "  --repeat N          compute N times (default: 1)\n"
           "  --min-time SECONDS  go on computing for at least so long"
           " (default: 0)\n"
           "  --json              print the result as JSON\n",
           p->name, p->summary, p->own_class ? ", " : "", p->own_class ? p->own_class : "");
    for (const struct program_option *o = p->options; o && o->name; o++)
        printf("  %s %-*s  %s\n", o->name, 17 - (int)strlen(o->name), "N",
               o->help);
    printf("  --help              print this text\n\n"
           "Exit status: 0 result verified, 1 wrong result, 2 bad arguments.\n");
}

__attribute__((format(printf, 2, 3)))
static int complain(struct program *p, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "%s: ", p->name);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fprintf(stderr, " (see %s --help)\n", p->name);
    p->status = STATUS_USAGE;
    return 1;
}

/* A decimal number within [min, max]; 0 on success. */
static int parse_number(struct program *p, const char *option, const char *s,
                        double min, double max, double *value)
{
    char *end;

    if (!s)
        return complain(p, "%s needs a value", option);
    errno = 0;
    *value = strtod(s, &end);
    if (end == s || *end || errno || !isfinite(*value))
        return complain(p, "%s: not a number: %s", option, s);
    if (*value < min || *value > max)
        return complain(p, "%s: %s is not between %g and %g", option, s, min,
                        max);
    return 0;
}

static int parse_count(struct program *p, const char *option, const char *s,
                       long min, long max, long *value)
{
    double number;

    if (parse_number(p, option, s, min, max, &number))
        return 1;
    if (number != floor(number))
        return complain(p, "%s: not a whole number: %s", option, s);
    *value = (long)number;
    return 0;
}

static int parse_class(struct program *p, const char *s)
{
    if (!s)
        return complain(p, "--class needs a value");
    if (strlen(s) != 1 || (!strchr("SWABC", *s) && !(p->own_class && *s == *p->own_class)))
        return complain(p, "--class: %s is not one of S, W, A, B, C%s%.1s", s,
                        p->own_class ? ", " : "", p->own_class ? p->own_class : "");
    p->size_class = *s;
    return 0;
}

/* An option that takes VALUE; NULL where the command line ends. */
static int parse_option(struct program *p, const char *option,
                        const char *value)
{
    if (strcmp(option, "--class") == 0)
        return parse_class(p, value);
    if (strcmp(option, "--repeat") == 0)
        return parse_count(p, option, value, 1, (long)number_max, &p->repeat);
    if (strcmp(option, "--min-time") == 0)
        return parse_number(p, option, value, 0, number_max, &p->min_time);
    for (struct program_option *o = p->options; o && o->name; o++)
        if (strcmp(option, o->name) == 0)
            return parse_count(p, option, value, o->min, o->max, &o->value);
    return complain(p, "unknown argument: %s", option);
}

int program_parse(struct program *p, int argc, char **argv)
{
    p->size_class = 'A';
    p->repeat = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            usage(p);
            p->status = STATUS_PASS;
            return 1;
        }
        if (strcmp(argv[i], "--json") == 0) {
            p->json = true;
            continue;
        }
        if (parse_option(p, argv[i], argv[i + 1]))
            return 1;
        i++;
    }
    return 0;
}

double program_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void program_start(struct program *p)
{
    p->done = 0;
    p->started = program_clock();
}

bool program_again(struct program *p)
{
    p->done++;
    p->time = program_clock() - p->started;
    return !p->reason[0] && (p->done < p->repeat || p->time < p->min_time);
}

void program_fail(struct program *p, const char *format, ...)
{
    va_list ap;

    if (p->reason[0])
        return;
    va_start(ap, format);
    vsnprintf(p->reason, sizeof(p->reason), format, ap);
    va_end(ap);
}

bool program_close(double value, double expected, double epsilon)
{
    return fabs(value - expected) <= epsilon * fabs(expected);
}

void *program_alloc(const struct program *p, size_t count, size_t size)
{
    const size_t line = 64;
    void *memory = NULL;

    if (count <= (SIZE_MAX - line) / size)
        memory = aligned_alloc(line, (count * size + line - 1) / line * line);
    if (!memory) {
        fprintf(stderr, "%s: no memory for %zu x %zu bytes\n", p->name, count,
                size);
        exit(STATUS_FAIL);
    }
    return memory;
}

int program_finish(struct program *p, int threads, const char *figure,
                   double value)
{
    const char *result = p->reason[0] ? "FAIL" : "PASS";
    char step[64] = "";

    if (p->reason[0])
        fprintf(stderr, "%s: %s\n", p->name, p->reason);
    if (p->steps)
        snprintf(step, sizeof(step), p->json ? " \"step_s\": %.6g," : " step_s=%.4g",
                 p->time / ((double)p->steps * (double)p->done));
    if (p->json)
        printf("{\"result\": \"%s\", \"program\": \"%s\", \"class\": \"%c\","
               " \"time_s\": %.6f, \"threads\": %d, \"repeat\": %ld,%s"
               " \"%s\": %.6g}\n",
               result, p->name, p->size_class, p->time, threads, p->done, step,
               figure, value);
    else
        printf("%s %s class=%c time_s=%.3f threads=%d repeat=%ld%s %s=%.5g\n",
               result, p->name, p->size_class, p->time, threads, p->done, step,
               figure, value);
    p->status = p->reason[0] ? STATUS_FAIL : STATUS_PASS;
    return p->status;
}
