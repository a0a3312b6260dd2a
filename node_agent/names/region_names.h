/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Names of parallel regions: "conj_grad, cg.c:87" for "729df73bfc2d7c41+1d80". */

#ifndef COSCHED_REGION_NAMES_H
#define COSCHED_REGION_NAMES_H

/* Concept
 *
 * The agent knows a region by build id and offset.  What it is called is in a file of the job's
 * user, so who looks finds it, never the agent: a forked child becomes the job's user where the
 * caller is root, finds the file among what a process of the job has mapped, and reads symbols and
 * debug information.  It has limits of CPU time, memory and wall time (NAMES_MS), can write nothing
 * and send no signal to others than its user's, and its answer is text of bounded length.  What a
 * file says wrongly misleads nobody but its own user, and root in the same line.
 *
 * Each region is looked for once, and what was found is kept as long as the caller likes.  Looks at
 * one user's files may take twice NAMES_MS in all; his other regions have no names then.
 */

#include <stdint.h>
#include <sys/types.h>

#include "node_agent/names/elf_names.h"

#define NAMES_MS    2000 /* of one look */
#define NAMES_BATCH 512  /* regions of one look */

struct region_names;

/* NULL when out of memory. */
struct region_names *region_names_new(void);

/* Look for the COUNT regions at REGION ("OBJECT+OFFSET") in process PID (0: none) of the user UID,
 * all but those that are known, or were looked for there last.  At most NAMES_BATCH. */
void region_names_look(struct region_names *names, pid_t pid, uid_t uid,
                       const char *const *region, size_t count);

/* What is known of REGION: its name, without control characters, quotes and backslashes, else
 * REGION itself. */
const char *region_names_get(const struct region_names *names, const char *region);

/* Looks so far. */
size_t region_names_looks(const struct region_names *names);

/* Takes NULL. */
void region_names_free(struct region_names *names);

#endif /* COSCHED_REGION_NAMES_H */
