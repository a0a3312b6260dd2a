/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The page of counters, written between two quanta. */

#ifndef COSCHED_EMULATOR_PAGE_H
#define COSCHED_EMULATOR_PAGE_H

#include "emulator/plugin/settings.h"

struct stations;

/* Maps the file and writes what stays.  NULL, with a sentence in ERROR. */
struct emulated_counters *page_open(const struct settings *settings, char *error, size_t size);

/* Write CPUs' counters in between; page_begin sets the rest, page_end lets readers in. */
void page_begin(struct emulated_counters *page, uint64_t virtual_ns, uint64_t host_ns,
                uint64_t quanta, const struct stations *stations);
void page_end(struct emulated_counters *page);

#endif
