/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Placement: on which worker a task begins.

   Tasks are dealt out to the workers in turn, there and back.  A static loop gives what it
   has too many, or all if it has few iterations, to the first tasks: these are on as many
   workers as there are.  Neighbours, whose data lie next to each other, begin on
   neighbours of the CPUs, or on the same where a turn ends, or in pairs where there is no
   more than one worker in each LLC domain: with none of its neighbours there a stencil has
   two thirds of its misses on other NUMA nodes, with one less than half
   (docs/evaluation-emulated.md), and three leave more CPUs without work in loops of few
   iterations.  What a task works on before
   its first barrier, it touches first: the LLC domain of the worker that it is on then is
   the task's own from then on, wherever it was to begin.  Wherever stealing or another
   allotment has brought it meanwhile, it goes back there when it can: no worker gets more
   tasks for it than its share.  Who finds no room there stays where it is, and if there is
   none either, it is dealt out with regard to the tasks of lower number, so that these are
   on as many workers as there are again.  */

#ifndef COOP_PLACEMENT_H
#define COOP_PLACEMENT_H 1

#include "coop.h"

#pragma GCC visibility push(hidden)

/* Decides on which worker U, a new task, number ID in a team of SIZE, begins,
   and so on its LLC domain.  */
extern void coop_placement_first (struct coop_ult *u, unsigned id,
				  unsigned size);

/* Decides anew for tasks of a team of SIZE that wait: TASK[i] is number i, or
   NULL.  SCRATCH has SIZE bytes.  Nothing changes if no worker can be used.  Takes
   a time of SIZE plus the number of workers, and of the LLC domains for each task that
   finds no room.  */
extern void coop_placement_again (struct coop_ult *const *task, unsigned size,
				  unsigned char *scratch);

#pragma GCC visibility pop

#endif /* COOP_PLACEMENT_H */
