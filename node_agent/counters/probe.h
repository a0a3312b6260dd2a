/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Looking at backends from outside: what they can, and whether values move. */

#ifndef COSCHED_PROBE_H
#define COSCHED_PROBE_H

#include <jansson.h>

#include "node_agent/counters/counters.h"

/* What the open backends can measure, by metric: {"cycles": {"can": true,
 * "shared": false, "why": TEXT}, ...}.  A new reference, NULL when out of
 * memory. */
json_t *counters_metrics_json(const struct counters *counters);

/* Open BACKEND by itself, look, and close it:
 *     {"name", "help", "opens": BOOL, "moves": BOOL or null, "error": TEXT or
 *      null, "metrics": as above or null, "sample": sample_json.h or null}
 * `moves` is null where nothing has to.  The sample is of the time in
 * which SETUP's load ran, ROUNDS times; 0: it is not run. */
json_t *probe_backend(const struct counters_setup *setup,
                      const struct counters_backend *backend, size_t rounds);

/* A load of known size for selftest: a thread on each CPU of SETUP that the
 * caller may use reads so many lines as *LINES says in all, for about MS. */
void probe_load(const struct counters_setup *setup, unsigned ms,
                size_t *threads, double *lines);

#endif /* COSCHED_PROBE_H */
