/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Virtual time: the agent's clock and timers in a simulation. */

#ifndef COSCHED_SIMULATOR_VIRTUAL_HOST_H
#define COSCHED_SIMULATOR_VIRTUAL_HOST_H

/* Concept
 *
 * The simulated implementation of node_agent/core/host.h.  Time moves only by
 * virtual_host_advance(); timers then come due in order of time, equal ones in the order in
 * which they were started.  Time begins at VIRTUAL_BEGIN_NS, because 0 means "never" to the
 * agent.  Every process exists.
 */

#include <stdbool.h>

#include "node_agent/core/host.h"

#define VIRTUAL_BEGIN_NS UINT64_C(1000)
#define VIRTUAL_NEVER UINT64_MAX

/* NULL when out of memory. */
struct host *virtual_host_new(void);

/* When the next timer is due; VIRTUAL_NEVER: none runs. */
uint64_t virtual_host_next(const struct host *host);

/* It is NOW_NS, not before the present time and not after the next timer. */
void virtual_host_advance(struct host *host, uint64_t now_ns);

/* Call one timer that is due now; false when there is none. */
bool virtual_host_call(struct host *host);

/* Its timers must have been stopped.  Takes NULL. */
void virtual_host_free(struct host *host);

#endif /* COSCHED_SIMULATOR_VIRTUAL_HOST_H */
