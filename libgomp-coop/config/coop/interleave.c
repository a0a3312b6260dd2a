/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Where memory lies that is touched before the first parallel region (interleave.h).  */

#include "coop.h"
#include "interleave.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpuset.h"
#include "settings.h"

#define NODES "/sys/devices/system/node/"
#define MOST_NODES 1024
#define OURS (MPOL_INTERLEAVE | MPOL_F_STATIC_NODES)

typedef unsigned long node_mask[MOST_NODES / (8 * sizeof (unsigned long))];

/* Some threads may have our policy.  Set once, before there are others.  */
static bool interleaves;

/* Reads a list of numbers, which end with a newline, from a file of NODES.  */
static bool
read_list (const char *name, struct cosched_cpuset *list)
{
  char text[4096];
  int fd = open (name, O_RDONLY | O_CLOEXEC);
  ssize_t size = fd < 0 ? -1 : read (fd, text, sizeof text - 1);

  if (fd >= 0)
    close (fd);
  if (size < 1)
    return false;
  text[text[size - 1] == '\n' ? size - 1 : size] = '\0';
  return cpuset_parse (text, list);
}

/* The nodes that have some of CPUS: those with memory only are not meant for all data.  Returns how
   many.  */
static unsigned
find_nodes (const struct cosched_cpuset *cpus, node_mask mask)
{
  struct cosched_cpuset nodes, own;
  unsigned count = 0;

  if (!read_list (NODES "has_cpu", &nodes) || cpuset_count (&nodes) < 2)
    return 0;
  memset (mask, 0, sizeof (node_mask));
  for (int node = 0; node < COSCHED_MAX_CPUS && node < MOST_NODES; node++)
    {
      char name[sizeof NODES + 32];
      if (!cpuset_has (&nodes, node))
	continue;
      snprintf (name, sizeof name, NODES "node%d/cpulist", node);
      if (!read_list (name, &own))
	continue;
      for (int i = 0; i < COOP_CPUSET_WORDS; i++)
	own.word[i] &= cpus->word[i];
      if (cpuset_first (&own) < 0)
	continue;
      mask[node / (8 * sizeof *mask)] |= 1ul << node % (8 * sizeof *mask);
      count++;
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
