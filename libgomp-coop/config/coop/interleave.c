/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Where memory lies that is touched before the first parallel region (interleave.h).  */

#include "coop.h"
#include "interleave.h"

#include <linux/mempolicy.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpuset.h"
#include "domain.h"
#include "settings.h"

#define MOST_NODES COSCHED_MAX_CPUS /* that domain.h knows */
#define WORD_BITS (8 * sizeof (unsigned long))
#define OURS (MPOL_INTERLEAVE | MPOL_F_STATIC_NODES)

typedef unsigned long node_mask[MOST_NODES / WORD_BITS];

/* Some threads may have our policy.  Set once, before there are others.  */
static bool interleaves;

/* The nodes that have some of CPUS: those with memory only are not meant for all data.  Returns how
   many.  */
static unsigned
find_nodes (const struct cosched_cpuset *cpus, node_mask mask)
{
  uint16_t node[COSCHED_MAX_CPUS];
  unsigned count = 0;

  if (!coop_domain_read_nodes (COOP_DOMAIN_NODES, node))
    return 0;
  memset (mask, 0, sizeof (node_mask));
  for (int cpu = 0; cpu < COSCHED_MAX_CPUS; cpu++)
    {
      unsigned long *word = &mask[node[cpu] / WORD_BITS];
      unsigned long bit = 1ul << node[cpu] % WORD_BITS;
      if (!cpuset_has (cpus, cpu))
	continue;
      count += !(*word & bit);
      *word |= bit;
    }
  return count;
}

/* The present policy of this thread, or -1.  */
static int
policy (void)
{
  int mode;

  return syscall (SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) ? -1 : mode;
}

void
coop_interleave_begin (const struct cosched_cpuset *cpus)
{
  node_mask mask;
  int mode = policy ();

  interleaves = mode == OURS; /* of whoever started the program */
  if (coop_settings.interleave && mode == MPOL_DEFAULT && find_nodes (cpus, mask) > 1)
    interleaves = syscall (SYS_set_mempolicy, OURS, mask, MOST_NODES) == 0;
}

void
coop_interleave_end (void)
{
  if (interleaves && policy () == OURS)
    syscall (SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
}
