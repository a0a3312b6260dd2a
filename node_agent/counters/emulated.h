/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Counters of an emulated machine. */

#ifndef COSCHED_EMULATED_H
#define COSCHED_EMULATED_H

/* Concept
 *
 * An emulated machine (emulator/) counts in a page that it sees as the memory
 * of a PCI device: protocol/emulated_counters.h says what is in it.  This
 * backend looks for the device in SYSFS (bus/pci/devices) and maps resource2,
 * read-only; with an argument, that file.  It writes nothing: a device that
 * nobody has switched on is not there.
 *
 * The page is another's: what does not fit to the machine is refused, a page
 * that is written for ever is given up, and a count that falls is none.
 */

#include "node_agent/counters/counters.h"

extern const struct counters_backend counters_emulated;

#endif /* COSCHED_EMULATED_H */
