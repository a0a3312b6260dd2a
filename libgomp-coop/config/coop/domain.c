/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Which CPUs are near each other (domain.h).  */

#include "domain.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cpuset.h"

#define LIST_MAX (COSCHED_MAX_CPUS * 5) /* characters of "1023," */

uint16_t coop_domains[COSCHED_MAX_CPUS];
unsigned char coop_domain_source = COOP_DOMAINS_UNKNOWN;
static unsigned char source = COOP_DOMAINS_UNKNOWN; /* of coop_domains */

static void
take (const uint16_t *domain, enum coop_domain_source whose)
{
  memcpy (coop_domains, domain, sizeof coop_domains);
  source = (unsigned char) whose;
}

void
coop_domain_in_effect (void)
{
  coop_store (&coop_domain_source, source);
}

void
coop_domain_take (const uint16_t *domain)
{
  take (domain, COOP_DOMAINS_AGENT);
}

/* Reads the list in FILE of DIRECTORY; false if it is none.  */
static bool
read_list (const char *directory, const char *file, struct cosched_cpuset *list)
{
  char path[256], text[LIST_MAX + 1];

  snprintf (path, sizeof path, "%s/%s", directory, file);
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t length = read (fd, text, LIST_MAX);
  close (fd);
  if (length <= 0)
    return false;
  text[length - (text[length - 1] == '\n')] = '\0';
  return cpuset_parse (text, list);
}

bool
coop_domain_read_nodes (const char *directory, uint16_t *domain)
{
  struct cosched_cpuset nodes, cpus;

  memset (domain, 0, COSCHED_MAX_CPUS * sizeof *domain);
  if (!read_list (directory, "has_cpu", &nodes) || cpuset_count (&nodes) < 2)
    return false;
  for (int node = 0; node < COSCHED_MAX_CPUS; node++)
    {
      char file[32];
      snprintf (file, sizeof file, "node%d/cpulist", node);
      if (!cpuset_has (&nodes, node) || !read_list (directory, file, &cpus))
	continue;
      for (int cpu = 0; cpu < COSCHED_MAX_CPUS; cpu++)
	if (cpuset_has (&cpus, cpu))
	  domain[cpu] = (uint16_t) node;
    }
  return true;
}

bool
coop_domain_ask_kernel (const char *directory)
{
  static bool asked;
  uint16_t domain[COSCHED_MAX_CPUS];

  if (asked || source != COOP_DOMAINS_UNKNOWN)
    return false;
  asked = true;
  if (!coop_domain_read_nodes (directory, domain))
    return false;
  take (domain, COOP_DOMAINS_KERNEL);
  return true;
}
