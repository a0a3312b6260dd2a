/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Replies that describe the agent (shapes: protocol/replies.md). */

#ifndef COSCHED_STATUS_H
#define COSCHED_STATUS_H

#include <jansson.h>
#include <stdint.h>

#include "node_agent/daemon/agent.h"

/* Each returns a new JSON object, NULL when out of memory.  JOB 0: all. */
json_t *status_reply(const struct agent *agent, uint32_t job);
json_t *status_explain(const struct agent *agent, uint32_t job);
json_t *status_config(const struct agent *agent);
json_t *status_ping(const struct agent *agent);
json_t *status_counters(const struct agent *agent);

#endif /* COSCHED_STATUS_H */
