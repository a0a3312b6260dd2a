/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Samples as JSON, for recordings and reports. */

#ifndef COSCHED_SAMPLE_JSON_H
#define COSCHED_SAMPLE_JSON_H

/* Concept
 *
 *     {"ns": 50000000, "coverage": 1,
 *      "cpu": {"0": [cycles, stalled, instructions, llc_accesses, read_misses,
 *                    local_misses, remote_misses], ...},
 *      "memory": [[reads, writes, prefetches], ...],
 *      "traffic": [[[reads, writes, prefetches], ...], ...],
 *      "energy": [joule, ...],
 *      "groups": {"17": [[local, total, llc_bytes], ...], ...}}
 *
 * null is a value that was not measured; CPUs, and whole members, of which
 * nothing was are left out.
 */

#include <jansson.h>

#include "node_agent/counters/sample.h"
#include "common/errtext.h"

/* A new reference, or NULL when out of memory. */
json_t *sample_json_write(const struct sample *sample);

/* Fill SAMPLE, which was made for the machine.  -1 with errno EINVAL and ERR
 * naming the member that does not fit, or ENOMEM. */
int sample_json_read(const json_t *object, struct sample *sample,
                     struct errtext *err);

#endif /* COSCHED_SAMPLE_JSON_H */
