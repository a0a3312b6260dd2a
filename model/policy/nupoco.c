/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Policy "nupoco": NuPoCo's two steps, greedy number of cores, then adaptive
 * placement.  The second step (thesis algorithm 3) swaps cores between CPU
 * nodes by their measured LLC accesses; counters that cannot see the LLC, as
 * `progress`, give it nothing to work on, and the placement is then the common
 * one of model/placement.h. */

#include "model/policy/shares.h"

const struct policy policy_nupoco = {
    .name = "nupoco",
    .help = "greedy by predicted system utilisation, then placement by LLC use",
    .profiles = true,
    .decide = greedy_dop,
    .value = greedy_value,
    .explain = greedy_explain,
};
