/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What every unit test of the protocol includes before anything else. */

#ifndef COSCHED_PROTOCOL_UNIT_H
#define COSCHED_PROTOCOL_UNIT_H

#include "tests/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Fail, naming row INPUT of a table, unless CONDITION holds. */
#define check(condition, input)                                                \
    do {                                                                       \
        if (!(condition))                                                      \
            fail_msg("%s: %s", (input), #condition);                           \
    } while (0)

#endif /* COSCHED_PROTOCOL_UNIT_H */
