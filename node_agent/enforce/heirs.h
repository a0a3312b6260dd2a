/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Processes that were made by held ones, and have the affinity of these. */

#ifndef COSCHED_HEIRS_H
#define COSCHED_HEIRS_H

/* Concept
 *
 * Affinity is inherited.  The agent notes in the ledger whom it holds, and who has inherited from
 * one of these when a scan finds him.  Who was born after its last scan (ledger_seen()) it cannot
 * note, as it has died: he is found by descent, group, session and cgroup (owners.h) from those
 * noted.  Who was there before is left alone: what he has, he has from his user or his runtime.
 */

#include "node_agent/enforce/ledger.h"

/* Put all threads of process PID, begun at START, on GRANTED.  How many were elsewhere. */
size_t heirs_widen(pid_t pid, uint64_t start, const struct cosched_cpuset *granted);

/* Do so with all who are noted in LEDGER as held, and their heirs, until there are no more. */
void heirs_widen_all(const struct ledger *ledger);

#endif /* COSCHED_HEIRS_H */
