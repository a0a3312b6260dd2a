/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The model's machine in a recording: exactly what decisions were made with. */

#ifndef COSCHED_JOURNAL_MACHINE_H
#define COSCHED_JOURNAL_MACHINE_H

#include <jansson.h>

#include "model/machine.h"
#include "common/errtext.h"

/* All of MACHINE as JSON: a new reference, or NULL when out of memory. */
json_t *journal_machine_write(const struct machine *machine);

/* The machine of OBJECT, which the caller frees.  NULL with errno EINVAL or
 * ENOMEM and ERR. */
struct machine *journal_machine_read(const json_t *object,
                                     struct errtext *err);

#endif /* COSCHED_JOURNAL_MACHINE_H */
