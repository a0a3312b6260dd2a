/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Which CPUs are near each other.

   The agent says which LLC domain each CPU is in.  As long as it has not, as there is none
   or it does not answer, NUMA nodes as the kernel has them do: tasks and their data
   then stay on their nodes without an agent, too.  What an agent that is lost has said
   stays true.  The two number domains differently, so that a task's domain is one only
   together with its source.

   The monitor writes coop_domains before it assigns CPUs (worker.h), which brings them into
   coop_workers[].node.  Invariant: coop_domain_source changes last, so that a task that has
   settled under it has a number of it; one that settles too early does so again.  */

#ifndef COOP_DOMAIN_H
#define COOP_DOMAIN_H 1

#include "coop.h"

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Who numbered the domains.  */
enum coop_domain_source
{
  COOP_DOMAINS_UNSETTLED, /* of a task that has not been at a barrier */
  COOP_DOMAINS_UNKNOWN,	  /* all CPUs count as of one, number 0 */
  COOP_DOMAINS_KERNEL,
  COOP_DOMAINS_AGENT
};

/* By CPU; the source of those that workers have.  */
extern uint16_t coop_domains[COSCHED_MAX_CPUS];
extern unsigned char coop_domain_source;

/* The workers have coop_domains now.  */
extern void coop_domain_in_effect (void);

/* DOMAIN[COSCHED_MAX_CPUS] is what the agent says.  */
extern void coop_domain_take (const uint16_t *domain);

#define COOP_DOMAIN_NODES "/sys/devices/system/node"

/* The NUMA nodes of all CPUs into DOMAIN[COSCHED_MAX_CPUS], from DIRECTORY, which the kernel has as
   COOP_DOMAIN_NODES.  False where fewer than two have CPUs.  */
extern bool coop_domain_read_nodes (const char *directory, uint16_t *domain);

/* Nobody says: take NUMA nodes from DIRECTORY, if there are several.  Looks once in a process,
   and not where an agent has said anything.  True when coop_domains has changed.  */
extern bool coop_domain_ask_kernel (const char *directory);

/* Has U been at a barrier since domains have had the numbers of now?  */
static inline bool
coop_domain_is_settled (const struct coop_ult *u)
{
  return u->settled == coop_peek (&coop_domain_source);
}

/* The domain of U: where its data are, as long as the numbers are those; else that of its
   worker.  */
static inline unsigned
coop_domain_of_task (const struct coop_ult *u)
{
  return u->settled == COOP_DOMAINS_UNSETTLED || coop_domain_is_settled (u)
	     ? u->node
	     : coop_peek (&coop_workers[u->home].node);
}

#pragma GCC visibility pop

#endif /* COOP_DOMAIN_H */
