/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The options in force on this node, and where each is from. */

#ifndef COSCHED_NODE_CONFIG_H
#define COSCHED_NODE_CONFIG_H

/* Concept
 *
 * Options have the layers of protocol/options.h: defaults, slurm.conf, its entries for the
 * partitions of this node, the command line.  A wrong entry of slurm.conf counts as absent,
 * so that nodes with the same slurm.conf behave the same.  A wrong command line stops the
 * agent's start.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/errtext.h"
#include "protocol/options.h"

/* What Slurm says; NULL where it is not known. */
struct slurm_says {
    const char *scheduler_parameters;
    const char *partitions; /* of this node, "a,b" */
    const char *others;     /* all other partitions; NULL: unknown */
    bool private_jobs;      /* PrivateData=jobs: users see only their own */
    uid_t slurm_user;       /* then, who sees all, as root does */
};

struct node_config {
    struct node_options options;
    struct node_origins origins;
    struct node_problems problems;
    char partitions[256]; /* of this node, as far as known */
};

/* Make *CONFIG of what Slurm SAYS (NULL: nothing) and of the command line's
 * OVERRIDES, which must have passed node_config_check(). */
void node_config_make(struct node_config *config, const struct slurm_says *says,
                      const char *overrides);

/* Whether OVERRIDES are entries without a fault: 0, or -1 with ERR. */
int node_config_check(const char *overrides, struct errtext *err);

/* "default", "slurm.conf", "slurm.conf, partition P" or "command line": where
 * option INDEX is from, in BUFFER (at least 96 bytes). */
const char *node_config_origin(const struct node_config *config, size_t index,
                               char *buffer, size_t size);

#endif /* COSCHED_NODE_CONFIG_H */
