/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* pinned: the computation of ep by plain POSIX threads, which know nothing of
 * allotments: an example of a job that is not cooperative. */

#include "jobs/gauss.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    pthread_t thread;
    long first, step, end;      /* its blocks: first, first + step, ... < end */
    struct gauss_sums sums;
};

static void *work(void *arg)
{
    struct worker *w = arg;

    for (long i = w->first; i < w->end; i += w->step)
        gauss_block(i, &w->sums);
    return NULL;
}

static void add(struct gauss_sums *total, const struct gauss_sums *part)
{
    total->x += part->x;
    total->y += part->y;
    for (int i = 0; i < GAUSS_ANNULI; i++)
        total->count[i] += part->count[i];
}

static struct gauss_sums compute(struct program *p, struct worker *workers,
                                 long threads)
{
    struct gauss_sums total = {0};
    long started = 0;

    for (; started < threads; started++) {
        struct worker *w = &workers[started];
        int error;

        *w = (struct worker){.first = started, .step = threads,
                             .end = gauss_blocks(p->size_class)};
        error = pthread_create(&w->thread, NULL, work, w);
        if (error) {
            program_fail(p, "thread %ld: %s", started, strerror(error));
            break;
        }
    }
    while (started--) {
        pthread_join(workers[started].thread, NULL);
        add(&total, &workers[started].sums);
    }
    return total;
}

/* As many threads as libgomp would start: one for each CPU it may use. */
static long default_threads(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);
}

int main(int argc, char **argv)
{
    struct program_option own[] = {
        {"--threads", "number of threads (default: CPUs it may use)", 1, 4096,
         default_threads()},
        {0},
    };
    struct program p = {
        .name = "pinned",
        .summary = "NPB EP by POSIX threads: a job that is not cooperative.",
        .options = own,
    };
    struct worker *workers;

    if (program_parse(&p, argc, argv))
        return p.status;
    workers = program_alloc(&p, (size_t)own[0].value, sizeof(*workers));
    program_start(&p);
    do {
        struct gauss_sums sums = compute(&p, workers, own[0].value);

        gauss_verify(&p, &sums);
    } while (program_again(&p));
    free(workers);
    return program_finish(&p, (int)own[0].value, "mops",
                          1e-6 * gauss_pairs(p.size_class) * (double)p.done /
                              p.time);
}
