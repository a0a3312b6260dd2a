/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Weights of the predictors of concurrency as files. */

#ifndef COSCHED_CONCURRENCY_JSON_H
#define COSCHED_CONCURRENCY_JSON_H

/* Concept
 *
 * What coschedmodel train writes: struct concurrency_model with the description of its machine.
 *
 *     {"machine": {...}, "mean": [4 numbers], "scale": [4],
 *      "time": {"middle": [...], "spread": [...], "network": [...], "linear": [...]},
 *      "edp": {...}, "training": {...}}
 *
 * Weights are of use on machines only whose cores, NUMA nodes and links are as those of theirs.
 */

#include "common/json_reader.h"
#include "model/concurrency.h"
#include "model/io/machine_json.h"

/* Make a model of VALUE, which is at the path of READER, for MACHINE (NULL: whichever it is of).
 * NULL with errno EINVAL or ENOMEM and the text set.  Free with concurrency_model_free(). */
struct concurrency_model *concurrency_json_read(struct json_reader *reader, const json_t *value,
                                                const struct machine *machine);

/* Load FILE.  As above, or errno of open(2), read(2). */
struct concurrency_model *concurrency_json_load(const char *file, const struct machine *machine,
                                                struct errtext *err);

/* The model with member "training", whose reference is stolen: a new reference, or NULL when out
 * of memory. */
json_t *concurrency_json_write(const struct concurrency_model *model,
                               const struct machine_description *description, json_t *training);

#endif /* COSCHED_CONCURRENCY_JSON_H */
