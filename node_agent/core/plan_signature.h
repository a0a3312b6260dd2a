/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Whether anything has changed on which a plan depends. */

#ifndef COSCHED_PLAN_SIGNATURE_H
#define COSCHED_PLAN_SIGNATURE_H

#include "node_agent/core/plan.h"

/* A number that differs (but for one chance in 2^64) when another plan may come of INPUT: other
 * jobs, regions or knowledge of them, other options, another turn.  EPOCH is the number of the
 * epoch where each needs a new plan (plan.periodic), else 0. */
uint64_t plan_signature(const struct plan_input *input, uint64_t epoch);

#endif /* COSCHED_PLAN_SIGNATURE_H */
