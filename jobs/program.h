/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the programs of jobs/ share: command line, clock, result line. */

#ifndef JOBS_PROGRAM_H
#define JOBS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* A program computes something whose right result is known, once or several
 * times, checks it, and prints one line:
 *
 *     PASS bt class=A time_s=61.4 threads=2 repeat=1 step_s=0.307 steps_per_s=3.26
 *
 * or, with --json, the same as one JSON object; step_s only where a program has steps.
 * Its exit status is 0 for PASS, 1 for FAIL, 2 for a bad command line.  main() is always
 *
 *     struct program p = {.name = "ep", .summary = "...", .options = own};
 *     if (program_parse(&p, argc, argv))
 *         return p.status;
 *     ... set up ...
 *     program_start(&p);
 *     do
 *         ... compute and check; on a wrong result program_fail(&p, ...) ...
 *     while (program_again(&p));
 *     return program_finish(&p, threads, "mops", rate);
 */

/* A numeric option that one program has beside the common ones. */
struct program_option {
    const char *name;       /* with dashes: "--mb"; NULL ends a list */
    const char *help;       /* one line, with the unit and the default */
    long min, max;          /* limits of the value, inclusive */
    long value;             /* default, replaced by the user's */
};

struct program {
    const char *name;               /* as printed in the result line */
    const char *summary;            /* one sentence for --help */
    struct program_option *options; /* own options, or NULL */
    const char *own_class;          /* that only it has: letter and what it is; or NULL */
    char size_class;                /* S, W, A (default), B, C or its own */
    long steps;                     /* of one computation; 0: it has none */
    long repeat;                    /* --repeat: times to compute, at least */
    double min_time;                /* --min-time: seconds to go on, at least */
    bool json;
    int status;                     /* exit status, once known */
    long done;                      /* times computed so far */
    double started, time;           /* seconds; time is of all repetitions */
    char reason[160];               /* why it failed; empty: it did not */
};

/* Read the command line into P, whose name, summary, options and own class are set
 * and the rest zero.  Returns 0 to go on, 1 when there is nothing more to do: help
 * was printed, or an error that names the argument; P->status is then set. */
int program_parse(struct program *p, int argc, char **argv);

/* Seconds of a clock that only moves forward. */
double program_clock(void);

/* Begin the measured time. */
void program_start(struct program *p);

/* Count one computation.  True if another is due, and none has failed. */
bool program_again(struct program *p);

/* Note why the result is wrong.  Only the first reason is kept. */
__attribute__((format(printf, 2, 3)))
void program_fail(struct program *p, const char *format, ...);

/* Is VALUE within the relative error EPSILON of EXPECTED? */
bool program_close(double value, double expected, double epsilon);

/* Memory for COUNT objects of SIZE bytes, aligned to cache lines and not yet
 * touched, so that the thread that writes first decides where it lies.  Exits
 * with a message if there is none: these programs can do nothing without. */
void *program_alloc(const struct program *p, size_t count, size_t size);

/* Print the result line (the reason of a failure goes to stderr) with one
 * figure of the program's own, and return the exit status. */
int program_finish(struct program *p, int threads, const char *figure,
                   double value);

#endif /* JOBS_PROGRAM_H */
