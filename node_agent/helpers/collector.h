/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Final records that nodes hand over, at the one place that writes into the accounting. */

#ifndef COSCHED_COLLECTOR_H
#define COSCHED_COLLECTOR_H

/* Concept
 *
 * One process of the cluster (coschedd-slurm --records FILE --collect PORT, on slurmctld's host)
 * takes the records of all nodes, so that none of these has to reach slurmdbd.  It is deliver.h
 * with a socket in the place of standard input.  A node's courier (hand_over.h) makes one
 * connection for all of its records that are due:
 *
 *   node -> collector   a credential of munge, up to the end of what the node writes; in it
 *                         cosched-records/1 NONCE
 *                         {"job":N,"end":S,"text":TEXT}       one line for each record
 *   collector -> node   NONCE: all are on the collector's disk, and the node may forget them
 *
 * No answer, whatever the reason, leaves them with the node, which tries again; the same record
 * twice is one.
 *
 * The credential is root's, and only root can open it: users write no records, and one who listens
 * at the port while the collector is away cannot answer.  Connections come from reserved ports, so
 * that users take none of those that there are.
 */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errtext.h"

#define COLLECTOR_CONNECTIONS 64
#define COLLECTOR_FDS (1 + COLLECTOR_CONNECTIONS)

struct collector;

/* Listen at WHERE ("PORT" or "HOST:PORT"), with munged's socket at MUNGE or NULL.  NULL with
 * ERR. */
struct collector *collector_open(const char *where, const char *munge, struct errtext *err);

/* What to wait for, and until when (monotonic). */
int64_t collector_wait(const struct collector *collector, struct pollfd fds[COLLECTOR_FDS]);

/* Read what has come.  TAKE gets each record's line; false: there is no room for it. */
void collector_read(struct collector *collector, const struct pollfd fds[COLLECTOR_FDS],
                    bool (*take)(const char *line));

/* All that was taken is on disk, or, not KEPT, is not: tell the nodes. */
void collector_answer(struct collector *collector, bool kept);

#endif /* COSCHED_COLLECTOR_H */
