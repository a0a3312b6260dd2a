/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The node as hwloc sees it, in the words of the model and of Slurm. */

#ifndef COSCHED_TOPOLOGY_H
#define COSCHED_TOPOLOGY_H

#include <stddef.h>

#include "model/machine.h"
#include "common/errtext.h"
#include "protocol/layout.h"
#include "model/io/machine_json.h"

/* Concept
 *
 * The model and the policies allocate cores.  A core is named by its first CPU (hardware
 * thread); topology_expand() adds its siblings, so two jobs never share a core.  An LLC
 * domain is what lies behind one L3 cache; where the machine does not tell, a package,
 * else a NUMA node, else the machine.
 *
 * Links between NUMA nodes are guessed from distances (topology_links.h); service times
 * are the model's default.  A stored description replaces all of that:
 * topology_use_description().
 *
 * HWLOC_XMLFILE and HWLOC_SYNTHETIC describe another machine, for tests.
 */

struct topology;

/* Discover the machine, restricted to the CPUs in ONLY (NULL: all that the
 * process may use).  NULL with errno EINVAL when ONLY has none of them. */
struct topology *topology_new(const struct cosched_cpuset *only,
                              struct errtext *err);

/* A topology of MACHINE, which must outlive it, for simulation: each CPU is a core, all in one
 * package.  topology_map_cores() does not work on it.  NULL when out of memory. */
struct topology *topology_of_machine(struct machine *machine,
                                     struct errtext *err);

/* All CPUs that may be given to jobs. */
const struct cosched_cpuset *topology_cpus(const struct topology *topology);

/* The machine as a description that can be stored; the caller frees it.  NULL
 * with errno ENOMEM. */
struct machine_description *
topology_description(const struct topology *topology);

/* Take LLC domains, NUMA nodes, links, routes and service times from DESCRIPTION.  It fits when it
 * has all cores of this node (each by one of its CPUs), at least as many LLC domains as these need,
 * and as many NUMA nodes as hwloc; the rest is left out.  -1 with errno EINVAL where it does not
 * fit, or ENOMEM, and TOPOLOGY as it was. */
int topology_use_description(struct topology *topology,
                             const struct machine_description *description,
                             struct errtext *err);

/* The operating system's number of NUMA node NODE, for libnuma; -1: none. */
int topology_memory_os(const struct topology *topology, size_t node);

/* The machine for the model: CPUs that are no core's first are holes. */
const struct machine *topology_machine(const struct topology *topology);

/* CPU -> LLC domain for all CPUs (-1: hole); [machine->cpus]. */
const int *topology_llc_domains(const struct topology *topology);

/* CPU -> package, numbered from 0, for all CPUs (-1: hole); [machine->cpus].
 * *COUNT, if not NULL, is their number. */
const int *topology_packages(const struct topology *topology, size_t *count);

/* The cores of CPUS, each by its first CPU in the machine. */
void topology_cores(const struct topology *topology,
                    const struct cosched_cpuset *cpus,
                    struct cosched_cpuset *cores);

/* Number of cores of which CPUS has at least one CPU. */
size_t topology_count_cores(const struct topology *topology,
                            const struct cosched_cpuset *cpus);

/* All CPUs of CORES (given by their first CPUs). */
void topology_expand(const struct topology *topology,
                     const struct cosched_cpuset *cores,
                     struct cosched_cpuset *cpus);

/* CPUs of Slurm's list of allocated cores ("0-3,8").  Slurm numbers cores in
 * hwloc's logical order; where its configuration counts hardware threads as
 * cores (an index reaches beyond the cores), threads are meant.  Entries
 * beyond the machine are dropped.  -1 with errno EINVAL: syntax, or nothing
 * left. */
int topology_map_cores(const struct topology *topology, const char *cores,
                       struct cosched_cpuset *cpus, struct errtext *err);

/* Replace the model's machine by MACHINE, which becomes the topology's: another description of the
 * same CPUs and nodes, e.g. a calibrated one.  -1 with errno EINVAL and ERR, MACHINE untouched,
 * if it differs. */
int topology_set_machine(struct topology *topology, struct machine *machine,
                         struct errtext *err);

/* Write the machine as hwloc's XML to FILE, which is closed, for HWLOC_XMLFILE; of
 * topology_of_machine() if its LLC domains are alike.  -1 with errno and ERR. */
int topology_export(const struct topology *topology, FILE *file,
                    struct errtext *err);

/* Takes NULL. */
void topology_free(struct topology *topology);

#endif /* COSCHED_TOPOLOGY_H */
