/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Growth: a job touches new memory. */

#ifndef COSCHED_GROWTH_H
#define COSCHED_GROWTH_H

/* Concept
 *
 * A page lies on the NUMA node of the thread that touches it first, and stays there.  So where a
 * job's cores are while its resident memory grows decides how fast it can ever be: on one node, it
 * has that node's bandwidth for good.  A job grows while its memory, if it went on like that,
 * would double within GROWTH_DOUBLES_NS.  Policies put its cores on all nodes then
 * (policy_job.grows).
 */

#include <stdbool.h>
#include <stdint.h>

#define GROWTH_DOUBLES_NS UINT64_C(10000000000)

/* Memory is looked at so often while it grows, and less often, twice as long each time, while it
 * does not. */
#define GROWTH_LOOK_NS      UINT64_C(40000000)
#define GROWTH_LOOK_MOST_NS UINT64_C(1280000000)

struct job;

/* All zero: nothing is known. */
struct growth {
    bool grows;
    uint64_t bytes;   /* resident, all attached processes, at most: who frees and touches again and
                         again has others moved once only */
    uint64_t at_ns;   /* of the last look; 0: none yet */
    uint64_t look_ns; /* until the next one */
};

/* Look at JOB's attached processes, if it is time: also when one has attached, which begins the
 * struct anew. */
void growth_look(struct job *job, uint64_t now_ns);

#endif /* COSCHED_GROWTH_H */
