/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* --coschedule completed by the environment and the site. */

#include "tests/protocol/unit.h"

#include "common/errtext.h"
#include "protocol/job_defaults.h"
#include "protocol/options.h"

/* The environment of a test: "NAME=value" up to NULL. */
static const char *const *environment;

static const char *lookup(const char *name)
{
    size_t length = strlen(name);

    for (const char *const *e = environment; *e; e++)
        if (strncmp(*e, name, length) == 0 && (*e)[length] == '=')
            return *e + length + 1;
    return NULL;
}

static void names(void **state)
{
    char name[JOB_VARIABLE_MAX];
    struct job_options options;
    struct errtext err;

    (void)state;
    assert_string_equal(job_variable("min_cores", name), "COSCHED_MIN_CORES");
    for (size_t i = 0; job_options_key(i); i++) {
        assert_non_null(job_variable(job_options_key(i), name));
        assert_true(strlen(name) < JOB_VARIABLE_MAX - 1);
        /* Each is a key that the parser knows. */
        snprintf(name, sizeof(name), "%s=", job_options_key(i));
        assert_int_equal(job_options_parse(&options, name, &err), -1);
        assert_null(strstr(err.text, "neither a policy"));
    }
}

static void environment__good(void **state)
{
    static const struct {
        const char *variables[6];
        const char *want;
    } table[] = {
        {{NULL}, ""},
        {{"COSCHED_POLICY=equal", NULL}, "policy=equal"},
        {{"COSCHED_MAX_CORES=4", "COSCHED_ULTS=2", "COSCHED_WEIGHT=0.5", NULL},
         "ults=2,max_cores=4,weight=0.5"},
        {{"COSCHED_ULTS=auto", "COSCHED_MIN_CORES=", NULL}, ""},
        {{"COSCHED_REPORT=1", "COSCHED_SOCKET=/x", "COSCHED_JOB=7", NULL},
         "report=1"},
        {{"COSCHED_=1", "COSCHED_policy=equal", "POLICY=equal", NULL}, ""},
    };
    char result[128];

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        environment = table[i].variables;
        check(job_defaults_environment(lookup, result, sizeof(result), NULL) ==
                  0, table[i].want);
        check(strcmp(result, table[i].want) == 0, table[i].want);
    }
}

static void environment__bad(void **state)
{
    static const struct {
        const char *variable, *begin, *allowed;
    } table[] = {
        {"COSCHED_POLICY=bogus", "COSCHED_POLICY=bogus: ", "nupoco, greedy"},
        {"COSCHED_ULTS=70", "COSCHED_ULTS=70: ", "1 to 64"},
        {"COSCHED_MIN_CORES=x", "COSCHED_MIN_CORES=x: ", "1 to 1024"},
        {"COSCHED_MAX_CORES=2,ults=3", "COSCHED_MAX_CORES=2,ults=3: ",
         "one value"},
        {"COSCHED_WEIGHT=11", "COSCHED_WEIGHT=11: ", "0.1 to 10"},
        {"COSCHED_REPORT=perhaps", "COSCHED_REPORT=perhaps: ", "yes nor no"},
    };
    char result[128];

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        const char *variables[] = {"COSCHED_ULTS=1", table[i].variable, NULL};
        struct errtext err = {""};
        environment = i == 1 ? variables + 1 : variables;
        errno = 0;
        check(job_defaults_environment(lookup, result, sizeof(result), &err) ==
                  -1, table[i].variable);
        check(errno == EINVAL, table[i].variable);
        check(strncmp(err.text, table[i].begin, strlen(table[i].begin)) == 0,
              err.text);
        check(strstr(err.text, table[i].allowed), err.text);
        check(result[0] == '\0', table[i].variable);
    }
}

static void environment__long(void **state)
{
    const char *variables[] = {"COSCHED_MAX_CORES=4", NULL};
    char result[12], huge[400] = "COSCHED_POLICY=";
    const char *absurd[] = {huge, NULL};
    struct errtext err = {""};

    (void)state;
    environment = variables;
    assert_int_equal(job_defaults_environment(lookup, result, sizeof(result),
                                              &err), -1);
    assert_non_null(strstr(err.text, "COSCHED_MAX_CORES"));
    assert_string_equal(result, "");
    memset(huge + strlen(huge), 'x', 300);
    environment = absurd;
    assert_int_equal(job_defaults_environment(lookup, result, sizeof(result),
                                              &err), -1);
    assert_non_null(strstr(err.text, "COSCHED_POLICY=xxx"));
}

static void complete__good(void **state)
{
    static const struct {
        const char *text, *defaults, *want;
    } table[] = {
        {NULL, NULL, ""},
        {"", "", ""},
        {"(null)", "(null)", ""},
        {"equal", NULL, "equal"},
        {NULL, "policy=equal", "policy=equal"},
        {"(null)", "ults=2", "ults=2"},
        {"equal", "policy=greedy", "equal"},
        {"policy=equal", "greedy,ults=2", "policy=equal,ults=2"},
        {"equal", "greedy", "equal"},
        {"equal,", "ults=2", "equal,ults=2"},
        {"max_cores=4", "min_cores=2,max_cores=8", "max_cores=4,min_cores=2"},
        {"ults=3", "ults=2,", "ults=3"},
        {"report=no", "report=1", "report=no"},
    };
    char result[64];

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        check(job_defaults_complete(table[i].text, table[i].defaults, result,
                                    sizeof(result), NULL) == 0, table[i].want);
        check(strcmp(result, table[i].want) == 0, result);
        /* Once more changes nothing. */
        char again[64];
        check(job_defaults_complete(result, table[i].defaults, again,
                                    sizeof(again), NULL) == 0, result);
        check(strcmp(result, again) == 0, again);
    }
}

static void complete__bad(void **state)
{
    struct errtext err = {""};
    char result[24];

    (void)state;
    assert_int_equal(job_defaults_complete("min_cores=4", "max_cores=2", result,
                                           sizeof(result), &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, "min_cores=4"));
    assert_non_null(strstr(err.text, "max_cores=2"));
    assert_string_equal(result, "min_cores=4");

    assert_int_equal(job_defaults_complete("policy=best-simple", "min_cores=2",
                                           result, sizeof(result), &err), -1);
    assert_non_null(strstr(err.text, "longer than 23 bytes"));
    assert_string_equal(result, "policy=best-simple");

    assert_int_equal(job_defaults_complete("policy=scalability,ults=2", NULL,
                                           result, sizeof(result), &err), -1);
    assert_non_null(strstr(err.text, "longer than 23 bytes"));
}

UNIT(test_job_defaults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(environment__good),
        cmocka_unit_test(environment__bad),
        cmocka_unit_test(environment__long),
        cmocka_unit_test(complete__good),
        cmocka_unit_test(complete__bad),
    };

    return cmocka_run_group_tests_name("test_job_defaults", tests, NULL, NULL);
}
