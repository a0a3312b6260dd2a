/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A node with a liblikwid of the test's own, for tests of the backend. */

#ifndef COSCHED_TEST_LIKWID_STAGE_H
#define COSCHED_TEST_LIKWID_STAGE_H

#include "tests/support/unit.h"

#include <math.h>
#include <sys/stat.h>
#include <time.h>

#include "model/machine.h"
#include "node_agent/counters/likwid.h"

#define PATIENCE_S 60

/* Two packages of two CPUs, Haswell-EP; DIR has what fake_likwid.c reads. */
struct fixture {
    char dir[64];
    char libexec[96];
    struct machine *machine;
    int package[4];
    struct cosched_cpuset cpus;
    struct counters_setup setup;
    struct sample *sample;
    void *state; /* of the backend; closed with the stage */
};

/* What the cores of a Haswell count in each read, for `values`. */
extern const char *const core_values;

int stage_setup(void **state);
int stage_teardown(void **state);

#define STAGE_TEST(name) \
    cmocka_unit_test_setup_teardown(name, stage_setup, stage_teardown)

/* Path of the stage's file NAME into PATH[256]; write it; remove it. */
void path_of(const struct fixture *f, const char *name, char *path);
void put(const struct fixture *f, const char *name, const char *text);
void drop(const struct fixture *f, const char *name);

/* Whether a call that begins with CALL was noted by the library. */
bool called(const struct fixture *f, const char *call);

/* The helper's program is SCRIPT. */
void helper(const struct fixture *f, const char *script);

/* Open the backend, close it; opening must fail with ERRNUM and TEXT. */
void open_good(struct fixture *f);
void close_it(struct fixture *f);
void open_bad(struct fixture *f, int errnum, const char *text);

int sample_once(struct fixture *f, struct errtext *err);

/* Sample until there are values; what the samples say meanwhile is TEXT (NULL:
 * nothing), once. */
void sample_good(struct fixture *f, int errnum, const char *text);

/* Sample until that is refused; the reason. */
void sample_bad(struct fixture *f, struct errtext *err);

#endif /* COSCHED_TEST_LIKWID_STAGE_H */
