/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Mixes of which more is known than profiles. */

#ifndef TESTS_KNOWN_H
#define TESTS_KNOWN_H

#include "tests/model/mix.h"

/* A mix on one LLC domain of 16 cores whose jobs have facts. */
struct known {
    struct mix mix;
    struct policy_facts facts[MAX_JOBS];
    double values[POLICY_OPTIONS_MAX];
};

static inline void known_init(struct known *k, const char *policy, size_t cores, size_t jobs)
{
    mix_init(&k->mix, 1, cores, jobs);
    for (size_t j = 0; j < jobs; j++) {
        policy_facts_init(&k->facts[j]);
        k->mix.jobs[j].facts = &k->facts[j];
    }
    policy_options_init(policy_find(policy), k->values);
    k->mix.input.options = k->values;
}

static inline void option(struct known *k, const char *policy, const char *text)
{
    const char *bad;

    assert_int_equal(policy_options_parse(policy_find(policy), text, k->values,
                                          &bad), MODEL_OK);
}

/* Work that takes TIME on one core alone; RHO is the job's. */
static inline double work(double time, double rho)
{
    return time / (1 + rho);
}

#endif /* TESTS_KNOWN_H */
