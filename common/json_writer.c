/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What several writers of JSON need beyond jansson. */

#include "common/json_writer.h"

#include <math.h>

json_t *json_writer_numbers(const double *values, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, isfinite(values[i]) ? json_real(values[i])
                                                         : json_null());
    return array;
}
