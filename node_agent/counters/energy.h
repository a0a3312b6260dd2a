/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Energy from the kernel's powercap files. */

#ifndef COSCHED_ENERGY_H
#define COSCHED_ENERGY_H

/* Concept
 *
 * Intel's and AMD's running average power limit (RAPL) counts energy; the
 * kernel shows it below SYSFS/class/powercap/ as zones:
 *
 *     intel-rapl:0/name                  "package-0", "package-0-die-1", "psys"
 *     intel-rapl:0/energy_uj             since some time, in microjoules
 *     intel-rapl:0/max_energy_range_uj   at which it starts again from 0
 *     intel-rapl:0:1/name                "core", "uncore", "dram"
 *
 * A package's energy is that of its package zones (of all its dies) and of the
 * memory, "dram", that is not contained in them.  "core" and "uncore" are parts
 * of the package; "psys" is the whole board.  intel-rapl-mmio shows the same
 * packages once more and is left alone.
 *
 * Packages are the setup's; "package-N" is the kernel's physical_package_id.
 * Since 2020 (PLATYPUS) kernels let only root read energy_uj.
 */

#include "node_agent/counters/counters.h"

/* Energy per package; a supplement to the others. */
extern const struct counters_backend counters_powercap;

#endif /* COSCHED_ENERGY_H */
