/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* NPB EP's computation, for whatever kind of threads carries it out. */

#ifndef JOBS_GAUSS_H
#define JOBS_GAUSS_H

#include "jobs/program.h"

/* EP makes 2^m pairs of Gaussian deviates by the polar method from one stream
 * of random numbers, sums them, and counts them by their distance from the
 * origin in square annuli.  The stream is cut into blocks that know their
 * place in it, so that any thread may compute any block at any time. */

enum { GAUSS_ANNULI = 10 };

struct gauss_sums {
    double x, y;
    double count[GAUSS_ANNULI];
};

/* Number of blocks of SIZE_CLASS; a block takes about a millisecond. */
long gauss_blocks(char size_class);

/* Pairs of random numbers of SIZE_CLASS. */
double gauss_pairs(char size_class);

/* Add block INDEX (from 0) to SUMS. */
void gauss_block(long index, struct gauss_sums *sums);

/* Compare SUMS of all blocks with the published ones; calls program_fail(). */
void gauss_verify(struct program *p, const struct gauss_sums *sums);

#endif /* JOBS_GAUSS_H */
