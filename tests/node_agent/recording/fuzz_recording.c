/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: recordings, and the numbers for tests of the model that are
 * taken from them. */

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "node_agent/counters/sample_json.h"
#include "node_agent/recording/journal_machine.h"
#include "node_agent/recording/recording.h"
#include "node_agent/recording/request_counts.h"

/* What was read is written, and read again, the same. */
static void as_machine(const json_t *object)
{
    struct errtext err = {""};
    struct machine *machine = journal_machine_read(object, &err);

    if (!machine) {
        fuzz_refused(&err);
        return;
    }
    REQUIRE(machine_check(machine) == MODEL_OK);
    json_t *text = journal_machine_write(machine);
    struct machine *again = journal_machine_read(text, &err);
    REQUIRE(again != NULL);
    json_t *same = journal_machine_write(again);
    REQUIRE(json_equal(text, same));
    json_decref(same);
    json_decref(text);
    machine_free(again);
    machine_free(machine);
}

static void as_sample(const json_t *line)
{
    static struct sample *sample, *again;
    struct errtext err = {""};

    if (!sample)
        REQUIRE((sample = sample_new(4, 2, 2, 1)) &&
                (again = sample_new(4, 2, 2, 1)));
    if (sample_json_read(line, sample, &err) < 0) {
        fuzz_refused(&err);
        return;
    }
    json_t *text = sample_json_write(sample);
    REQUIRE(text && sample_json_read(text, again, &err) == 0);
    json_t *same = sample_json_write(again);
    REQUIRE(json_equal(text, same));
    json_decref(same);
    json_decref(text);
}

static void as_lines(const char *path)
{
    struct errtext err = {""};
    struct recording *r = recording_open(path, &err);
    const char *type;
    json_t *line;
    int rc;

    if (!r) {
        fuzz_refused(&err);
        return;
    }
    as_machine(json_object_get(recording_begin(r), "machine"));
    while ((rc = recording_next(r, &line, &type, &err)) > 0) {
        REQUIRE(type != NULL);
        as_sample(line);
        json_decref(line);
    }
    if (rc < 0)
        fuzz_refused(&err);
    recording_close(r);
}

static void as_counts(const char *path)
{
    struct errtext err = {""};
    struct request_counts *c = request_counts_read(path, &err);

    if (!c)
        fuzz_refused(&err);
    for (size_t i = 0; c && i < c->regions; i++) {
        const struct request_region *region = &c->region[i];
        double *counts = calloc(region->samples + 1, sizeof(*counts));
        uint64_t ns;
        REQUIRE(counts && region->name && region->nodes);
        for (size_t n = 0; n < region->nodes; n++) {
            size_t all = request_region_counts(region, n, 0, counts, &ns);
            REQUIRE(all <= region->samples);
            for (size_t k = 0; k < all; k++)
                REQUIRE(!isnan(counts[k]));
        }
        free(counts);
    }
    request_counts_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(data, size);

    as_lines(path);
    as_counts(path);
    return 0;
}
