/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which partitions a node is in; needs libslurm (coschedd-slurm only). */

#ifndef COSCHED_SLURM_PARTITIONS_H
#define COSCHED_SLURM_PARTITIONS_H

#include <time.h>

/* Comma separated names; NULL: not loaded so far. */
struct slurm_partitions {
    char *mine;   /* with the node */
    char *others; /* without */
    time_t last_update;
};

/* Load what is new for NODE.  0 or -1 with errno of libslurm, *PARTITIONS as it
 * was; nothing new is no error. */
int slurm_partitions_load(struct slurm_partitions *partitions,
                          const char *node);

/* Back to "not loaded". */
void slurm_partitions_clear(struct slurm_partitions *partitions);

#endif /* COSCHED_SLURM_PARTITIONS_H */
