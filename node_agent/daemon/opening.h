/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Opens counters while the agent serves. */

#ifndef COSCHED_OPENING_H
#define COSCHED_OPENING_H

/* Concept
 *
 * To find out whether LIKWID works takes one or two seconds, and jobs that begin within them
 * would run without the agent.  So a thread opens the counters, and the event loop is called
 * back once it has.  Until then the agent counts with what opens at once.
 */

#include "node_agent/counters/counters.h"
#include "node_agent/daemon/event.h"

struct opening;

/* COUNTERS of SPECIFICATION (the callee's), and WHY they were chosen; or NULL, and why there are
 * none.  The opening is over: only opening_free() may follow, also from here. */
typedef void opening_done(void *arg, const char *specification, struct counters *counters,
                          const char *why);

/* Does opening SPECIFICATION take so long that nobody should wait for it? */
bool opening_is_slow(const char *specification);

/* Open SPECIFICATION (counters_open()) as SETUP says, which must outlive the opening.  DONE is
 * called with ARG from EVENT, never from here.  NULL with errno. */
struct opening *opening_new(sd_event *event, const char *specification,
                            const struct counters_setup *setup, opening_done *done, void *arg,
                            struct errtext *err);

/* Wait for the thread's end, and close what it has opened for nobody.  Takes NULL. */
void opening_free(struct opening *opening);

#endif /* COSCHED_OPENING_H */
