/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* CPUs of a program that is started by a managed one (inherit.h).  */

#include "coop.h"
#include "inherit.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpuset.h"
#include "settings.h"

#define NOTE "COSCHED_CPUS"
#define NUMBER_MAX 5 /* characters of "1023," */
#define STEP_MAX 48  /* and of a job and its step */

/* A note is of use only in the job step in which it was left: TEXT gets what
   it begins with there.  Returns the length.  */
static size_t
begin_note (char *text, size_t size)
{
  const char *step = secure_getenv ("SLURM_STEP_ID");
  return (size_t) snprintf (text, size, "%lu.%.20s:", coop_settings.job,
			    step ? step : "");
}

static void
leave_note (const struct cosched_cpuset *cpus)
{
  char text[STEP_MAX + COOP_MAX_CPUS * NUMBER_MAX + 1];
  size_t length = begin_note (text, sizeof text), begin = length;

  for (int cpu = 0; cpu < COOP_MAX_CPUS; cpu++)
    {
      int first = cpu;
      if (!cpuset_has (cpus, cpu))
	continue;
      while (cpuset_has (cpus, cpu + 1))
	cpu++;
      length += (size_t) snprintf (text + length, sizeof text - length,
				   cpu > first ? "%s%d-%d" : "%s%d",
				   length > begin ? "," : "", first, cpu);
    }
  setenv (NOTE, text, 1);
}

void
coop_inherit_cpus (struct cosched_cpuset *cpus)
{
  const char *note = secure_getenv (NOTE);
  struct cosched_cpuset noted;
  char here[STEP_MAX];
  size_t length = begin_note (here, sizeof here);

  if (note && cpuset_count (cpus) == 1 && !strncmp (note, here, length)
      && cpuset_parse (note + length, &noted)
      && cpuset_has (&noted, cpuset_first (cpus))
      && cpuset_apply (0, &noted) == 0)
    {
      /* Those of them that the process may use.  */
      memset (cpus, 0, sizeof *cpus);
      sched_getaffinity (0, sizeof *cpus, (cpu_set_t *) cpus);
    }
  leave_note (cpus);
}
