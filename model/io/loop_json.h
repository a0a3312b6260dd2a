/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Loop profiles as files. */

#ifndef COSCHED_LOOP_JSON_H
#define COSCHED_LOOP_JSON_H

/* Concept
 *
 * The profile of model/loop.h for a machine of so many nodes.  Tables have a
 * row for each LLC domain, with an element for each NUMA node:
 *
 *     {"cores": [8, 0], "total_us": 15000, "work": 1, "sync_share": 0.02,
 *      "requests": [[{"read": 9e6, "write": 2e6, "prefetch": 1e6}, {...}],
 *                   [{...}, {...}]],
 *      "read_misses": [[8e6, 8e6], [0, 0]],
 *      "llc_accesses": [...], "useful_cycles": [...], "stalled_cycles": [...]}
 *
 * A row may be null for an LLC domain without cores.  Required are cores, total_us
 * and requests; read_misses are the reads where they are not given, the rest is
 * as loop_new() has it.
 */

#include "model/loop.h"
#include "common/json_reader.h"

/* Make a profile of VALUE, which is at the path of READER.  NULL with errno
 * EINVAL or ENOMEM and the text set.  Free with loop_free(). */
struct loop *loop_json_read(struct json_reader *reader, const json_t *value,
                            size_t llc_domains, size_t numa_nodes);

#endif /* COSCHED_LOOP_JSON_H */
