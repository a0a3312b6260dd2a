/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent counts with. */

#ifndef COSCHED_AGENT_COUNTERS_H
#define COSCHED_AGENT_COUNTERS_H

#include "node_agent/daemon/agent.h"

/* The first counters: those that the settings say, or, if they take long to open, what is always
 * there until they are.  -1 with errno and ERR. */
int agent_open_counters(struct agent *agent, struct errtext *err);

/* Change to those that take long, in a thread, if the settings say such. */
void agent_open_slow_counters(struct agent *agent);

/* Change to what the settings say, once that is open. */
void agent_switch_counters(struct agent *agent);

#endif /* COSCHED_AGENT_COUNTERS_H */
