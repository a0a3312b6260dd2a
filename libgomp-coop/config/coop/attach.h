/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Connection to the node agent.

   One request, one reply that carries the descriptors of both pages; then the
   socket stays open, and its hang-up tells that the agent has ended.  Used by
   the monitor thread alone.  */

#ifndef COOP_ATTACH_H
#define COOP_ATTACH_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

enum coop_attach_result
{
  COOP_ATTACH_OK,
  COOP_ATTACH_ABSENT, /* nobody listens, or it hung up */
  COOP_ATTACH_SILENT, /* somebody listens, no reply in time */
  COOP_ATTACH_ASKED,  /* no reply yet: call again */
  COOP_ATTACH_REFUSED /* the agent answered, but not with two good pages */
};

/* Connects, attaches, maps the allotment page to *PAGE and has the report page
   behind coop_report.  TEXT[SIZE] gets the reason of a refusal.  */
extern enum coop_attach_result
coop_attach (const struct cosched_allotment **page, char *text, size_t size);

/* After COOP_ATTACH_ASKED: has the agent been at work since, or does it wait for a CPU?  Then
   it will answer; one that sleeps although it was asked will not.  */
extern bool coop_attach_awaited (void);

/* Has the agent hung up?  */
extern bool coop_attach_lost (void);

/* Closes the connection.  */
extern void coop_attach_close (void);

#pragma GCC visibility pop

#endif /* COOP_ATTACH_H */
