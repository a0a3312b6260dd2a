/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Tables of fields: what is written is read back, each field counts in a hash. */

#include "tests/protocol/unit.h"

#include <errno.h>
#include <math.h>

#include "protocol/json_fields.h"
#include "protocol/layout.h"

enum { A = 1, B = 2 };

enum colour { RED, GREEN };
static const char *const colours[] = {"red", "green", NULL};

struct thing {
    bool flag;
    int whole;
    uint32_t small;
    uint64_t large;
    double real;
    char text[8];
    const char *string;
    struct cosched_cpuset cpus;
    enum colour colour;
    size_t unnamed;
};

static const struct field fields[] = {
    FIELD(struct thing, flag, "flag", A),
    FIELD(struct thing, whole, "whole", A | B),
    FIELD(struct thing, small, "small", A),
    FIELD(struct thing, large, "large", A),
    FIELD(struct thing, real, "real", A | FIELD_OPTIONAL),
    FIELD(struct thing, text, "text", A),
    FIELD(struct thing, string, "string", A | FIELD_OPTIONAL),
    FIELD(struct thing, cpus, "cpus", A),
    FIELD_ENUM(struct thing, colour, "colour", A, colours),
    {0}};

static const struct thing sample = {.flag = true,
                                    .whole = -3,
                                    .small = UINT32_MAX,
                                    .large = INT64_MAX,
                                    .real = 0.1,
                                    .text = "seven 7",
                                    .string = "any length at all",
                                    .cpus = {{0x10f}},
                                    .colour = GREEN};

static void test_round_trip(void **state)
{
    struct thing back = {.unnamed = 5};
    json_t *json = json_fields_write(fields, &sample, A);

    (void)state;
    assert_int_equal(json_object_size(json), 9);
    assert_string_equal(json_string_value(json_object_get(json, "cpus")),
                        "0-3,8");
    assert_int_equal(json_fields_read(fields, &back, json, A, NULL), 0);
    assert_int_equal(back.unnamed, 5);
    json_t *again = json_fields_write(fields, &back, A);
    assert_true(json_equal(json, again));
    json_decref(again);
    json_decref(json);
    json = json_fields_write(fields, &sample, B);
    assert_int_equal(json_object_size(json), 1);
    json_decref(json);
}

/* What JSON cannot hold is left out, and stays as it is where it is absent. */
static void test_absent(void **state)
{
    struct thing thing = sample;

    (void)state;
    thing.real = INFINITY;
    thing.string = NULL;
    json_t *json = json_fields_write(fields, &thing, A);
    assert_int_equal(json_object_size(json), 7);
    thing.real = 4;
    assert_int_equal(json_fields_read(fields, &thing, json, A, NULL), 0);
    assert_true(thing.real == 4);
    json_decref(json);
}

static void test_refused(void **state)
{
    static const struct {
        const char *key, *value;
    } bad[] = {
        {"flag", "1"},          {"flag", NULL},
        {"whole", "2147483648"}, {"whole", "1.0"},
        {"small", "-1"},        {"small", "4294967296"},
        {"large", "-1"},        {"large", "\"1\""},
        {"real", "null"},       {"text", "\"eight 88\""},
        {"text", NULL},         {"string", "1"},
        {"cpus", "\"3-1\""},    {"cpus", "\"9999\""},
        {"colour", "\"blue\""}, {"colour", "1"},
    };
    struct thing thing;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *json = json_fields_write(fields, &sample, A);
        const char *named = "";
        if (bad[i].value)
            json_object_set_new(json, bad[i].key,
                                json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(json, bad[i].key);
        errno = 0;
        assert_int_equal(json_fields_read(fields, &thing, json, A, &named), -1);
        assert_int_equal(errno, EINVAL);
        assert_string_equal(named, bad[i].key);
        json_decref(json);
    }
}

static uint64_t hash_of(const struct thing *thing, unsigned where)
{
    uint64_t h = HASH_START;

    fields_hash(&h, fields, thing, where);
    return h;
}

static void test_hash(void **state)
{
    char copy[sizeof("any length at all")];
    struct thing thing = sample;

    (void)state;
    for (const struct field *f = fields; f->key; f++) {
        thing = sample;
        if (f->type == FIELD_STRING)
            thing.string = "another";
        else
            *((char *)&thing + f->offset) ^= 1;
        assert_true(hash_of(&thing, A) != hash_of(&sample, A));
        assert_int_equal(hash_of(&thing, B) == hash_of(&sample, B),
                         !(f->where & B));
    }
    /* A text counts, not where it is, nor what is behind it. */
    thing = sample;
    thing.string = strcpy(copy, sample.string);
    memset(thing.text, 'x', sizeof(thing.text));
    strcpy(thing.text, "a");
    struct thing same = thing;
    same.text[3] = 'y';
    assert_true(hash_of(&thing, A) == hash_of(&same, A));
}

UNIT(test_fields)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_absent),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_hash),
    };

    return cmocka_run_group_tests_name("test_fields", tests, NULL, NULL);
}
