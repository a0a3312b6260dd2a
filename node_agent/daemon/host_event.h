/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The world of the agent: sd-event, the kernel's clocks and processes. */

#ifndef COSCHED_HOST_EVENT_H
#define COSCHED_HOST_EVENT_H

#include "node_agent/core/host.h"
#include "node_agent/daemon/event.h"

/* Epochs and other timers of the scheduler come before whatever else waits: ends of thousands
 * of processes, say. */
#define HOST_EVENT_PRIORITY SD_EVENT_PRIORITY_IMPORTANT

/* A host whose timers are EVENT's.  NULL when out of memory. */
struct host *host_event_new(sd_event *event);

/* Its timers must have been stopped.  Takes NULL. */
void host_event_free(struct host *host);

#endif /* COSCHED_HOST_EVENT_H */
