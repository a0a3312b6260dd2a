/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The SPANK plugin where users submit: its arguments, --coschedule, and what of
 * it a job is given. */

#include "tests/spank_plugin/fake_host.h"

#include "protocol/options.h"
#include "spank_plugin/plugin.h"

int slurm_spank_init(spank_t spank, int ac, char **av);
int slurm_spank_init_post_opt(spank_t spank, int ac, char **av);

/* ---- plugstack.conf --------------------------------------------------------- */

static void args__bad(void **state)
{
    static char huge[PATH_MAX + 16] = "socket=";
    char begin[128];
    char *table[] = {"bogus", "socket", "Socket=/x", "libgomp:/x", "", huge};

    (void)state;
    memset(huge + 7, 'x', sizeof(huge) - 8);
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        assert_int_equal(slurm_spank_init(NULL, 1, &table[i]), 0);
        assert_int_equal(host.error_lines, 1);
        snprintf(begin, sizeof(begin), "cosched: plugstack.conf: %.80s: ",
                 table[i]);
        assert_memory_equal(host.errors, begin, strlen(begin));
        assert_string_equal(plugin.socket, "");
        assert_string_equal(plugin.libgomp, COSCHED_LIBGOMPDIR);

        /* Users of sbatch are not told unless they ask. */
        host_reset(NULL);
        host.context = S_CTX_ALLOCATOR;
        assert_int_equal(slurm_spank_init(NULL, 1, &table[i]), 0);
        assert_int_equal(host.error_lines, 0);
        assert_non_null(strstr(host.rest, "plugstack.conf"));
    }
}

static void args__good(void **state)
{
    char *args[] = {"socket=/run/%n.sock", "libgomp=/lib/x", "munge=/m"};

    (void)state;
    assert_int_equal(slurm_spank_init(NULL, COUNT(args), args), 0);
    assert_string_equal(plugin.socket, "/run/%n.sock");
    assert_string_equal(plugin.libgomp, "/lib/x");
    assert_string_equal(plugin.munge, "/m");
    assert_string_equal(host.errors, "");
}

/* ---- the option ------------------------------------------------------------- */

static void option__bad(void **state)
{
    static char huge[MESSAGE_OPTIONS_MAX + 1];
    const char *table[] = {"bogus", "ults=0", "equal,equal", "policy=x", huge};

    (void)state;
    memset(huge, 'x', sizeof(huge) - 1);
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        host.context = S_CTX_ALLOCATOR;
        slurm_spank_init(NULL, 0, NULL);
        assert_int_equal(host.option->cb(0, table[i], 0), -1);
        assert_int_equal(host.error_lines, 1);
        assert_non_null(strstr(host.errors, "--coschedule="));
        assert_false(plugin.requested);

        /* On the node the job shares already: it is a job of ours. */
        host_reset(NULL);
        slurm_spank_init(NULL, 0, NULL);
        assert_int_equal(host.option->cb(0, table[i], 1), 0);
        assert_true(plugin.requested);
        assert_string_equal(plugin.value, "");
        assert_int_equal(host.error_lines, 0);
    }
}

static void option__names_value_and_choice(void **state)
{
    (void)state;
    host.context = S_CTX_LOCAL;
    slurm_spank_init(NULL, 0, NULL);
    for (const char *const *policy = options_policies; *policy; policy++)
        assert_non_null(strstr(host.option->usage, *policy));
    for (size_t i = 0; job_options_key(i); i++)
        assert_non_null(strstr(host.option->usage, job_options_key(i)));
    assert_non_null(strstr(host.option->usage, "), comma separated"));
    assert_non_null(strstr(host.option->usage, "(man coschedule)"));
    host.option->cb(0, "bogus", 0);
    const char *words[] = {"--coschedule=bogus", "nupoco", "greedy", "equal",
                           "policy", "ults", "min_cores", "max_cores"};
    for (size_t i = 0; i < COUNT(words); i++)
        assert_non_null(strstr(host.errors, words[i]));
}

static void option__good(void **state)
{
    static const struct {
        const char *given, *kept;
    } table[] = {
        {NULL, ""}, {"", ""}, {"(null)", ""}, {"equal", "equal"},
        {"ults=3,max_cores=4", "ults=3,max_cores=4"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        for (int remote = 0; remote < 2; remote++) {
            host_reset(NULL);
            slurm_spank_init(NULL, 0, NULL);
            assert_int_equal(host.option->cb(0, table[i].given, remote), 0);
            assert_true(plugin.requested);
            assert_string_equal(plugin.value, table[i].kept);
        }
}

static void option__last_one_counts(void **state)
{
    (void)state;
    slurm_spank_init(NULL, 0, NULL);
    host.option->cb(0, "greedy", 1);
    host.option->cb(0, NULL, 1);
    assert_string_equal(plugin.value, "");
}

/* Command line over environment over the site's defaults. */
static void option__defaults(void **state)
{
    static const struct {
        const char *given, *policy, *max_cores, *site, *kept;
    } table[] = {
        {NULL, NULL, NULL, "defaults=", ""},
        {NULL, NULL, NULL, "defaults=ults=2,equal", "ults=2,equal"},
        {NULL, "equal", NULL, "defaults=greedy", "policy=equal"},
        {"batch", "equal", NULL, "defaults=greedy", "batch"},
        {"ults=3", "equal", "4", "defaults=min_cores=2",
         "ults=3,policy=equal,max_cores=4,min_cores=2"},
        {NULL, NULL, NULL, "defaults=libgomp=stock", "libgomp=stock"},
        {"libgomp=coop", NULL, NULL, "defaults=libgomp=stock", "libgomp=coop"},
        /* The site's contradict what the user says. */
        {"max_cores=1", NULL, NULL, "defaults=min_cores=2,ults=2",
         "max_cores=1"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        char *args[] = {(char *)table[i].site};
        host_reset(NULL);
        host.context = S_CTX_ALLOCATOR;
        if (table[i].policy)
            setenv("COSCHED_POLICY", table[i].policy, 1);
        if (table[i].max_cores)
            setenv("COSCHED_MAX_CORES", table[i].max_cores, 1);
        slurm_spank_init(NULL, 1, args);
        assert_int_equal(host.option->cb(0, table[i].given, 0), 0);
        assert_string_equal(plugin.value, table[i].kept);
        assert_int_equal(host.error_lines, 0);
        unsetenv("COSCHED_POLICY");
        unsetenv("COSCHED_MAX_CORES");
    }
}

/* The variable is named, as it is set; without the option nobody looks. */
static void option__bad_environment(void **state)
{
    static const struct {
        const char *given, *name, *value, *said;
    } table[] = {
        {NULL, "COSCHED_POLICY", "bogus",
         "cosched: COSCHED_POLICY=bogus: unknown policy, one of nupoco"},
        {"equal", "COSCHED_ULTS", "x",
         "cosched: COSCHED_ULTS=x: not a number from 1 to 64"},
        {"min_cores=4", "COSCHED_MAX_CORES", "2",
         "cosched: --coschedule=min_cores=4 with max_cores=2 of the "
         "environment's COSCHED_*: min_cores=4: greater than max_cores=2"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        host_reset(NULL);
        host.context = S_CTX_LOCAL;
        setenv(table[i].name, table[i].value, 1);
        slurm_spank_init(NULL, 0, NULL);
        assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
        assert_int_equal(host.error_lines, 0);
        assert_int_equal(host.option->cb(0, table[i].given, 0), -1);
        assert_memory_equal(host.errors, table[i].said,
                            strlen(table[i].said));
        assert_false(plugin.requested);
        /* A step must start, whatever its script has set. */
        host.error_lines = 0;
        setenv("SLURM_JOB_ID", "7", 1);
        assert_int_equal(host.option->cb(0, table[i].given, 0), 0);
        assert_string_equal(plugin.value, table[i].given ? table[i].given : "");
        assert_int_equal(host.error_lines, 0);
        /* A job that is submitted from there is as any other. */
        host.context = S_CTX_ALLOCATOR;
        assert_int_equal(host.option->cb(0, table[i].given, 0), -1);
        unsetenv("SLURM_JOB_ID");
        /* The node's own environment means nothing. */
        assert_int_equal(host.option->cb(0, table[i].given, 1), 0);
        unsetenv(table[i].name);
    }
}

static void option__bad_defaults_of_the_site(void **state)
{
    char *args[] = {"defaults=bogus"};

    (void)state;
    assert_int_equal(slurm_spank_init(NULL, 1, args), 0);
    assert_int_equal(host.error_lines, 1);
    assert_non_null(strstr(host.errors, "plugstack.conf: defaults=: bogus: "));
    assert_string_equal(plugin.defaults, "");
}

static void option__patience_of_the_site(void **state)
{
    static const struct {
        char arg[24];
        int ms;
        unsigned lines;
    } table[] = {
        {"timeout=1", 1, 0},        {"timeout=60000", 60000, 0},
        {"timeout=0", 200, 1},      {"timeout=60001", 200, 1},
        {"timeout=", 200, 1},       {"timeout=2s", 200, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char arg[24], *args[] = {arg};
        strcpy(arg, table[i].arg);
        host_reset(NULL);
        assert_int_equal(slurm_spank_init(NULL, 1, args), 0);
        assert_int_equal(plugin.timeout_ms, table[i].ms);
        assert_int_equal(host.error_lines, table[i].lines);
        assert_true(!table[i].lines || strstr(host.errors, arg));
    }
}

/* ---- submission -------------------------------------------------------------- */

static void submit__carries_the_value(void **state)
{
    (void)state;
    host.context = S_CTX_ALLOCATOR;
    slurm_spank_init(NULL, 0, NULL);
    host.option->cb(0, "equal,ults=2", 0);
    assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
    assert_string_equal(host.control[0], PLUGIN_CONTROL "=equal,ults=2");
    assert_string_equal(host.control[1], "");
}

/* What is of the environment is told apart, and not inherited. */
static void submit__tells_the_environments_part(void **state)
{
    (void)state;
    host.context = S_CTX_ALLOCATOR;
    setenv("COSCHED_WEIGHT", "2", 1);
    slurm_spank_init(NULL, 0, NULL);
    host.option->cb(0, "equal", 0);
    unsetenv("COSCHED_WEIGHT");
    assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
    assert_string_equal(host.control[0], PLUGIN_CONTROL "=equal,weight=2");
    assert_string_equal(host.control[1], PLUGIN_CONTROL_ENVIRONMENT
                                         "=weight=2");

    setenv(PLUGIN_CONTROL_ENVIRONMENT_JOB, "weight=2", 1);
    host.option->cb(0, "equal", 0);
    assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
    unsetenv(PLUGIN_CONTROL_ENVIRONMENT_JOB);
    assert_string_equal(host.control[1], PLUGIN_CONTROL_ENVIRONMENT "=");
}

static void submit__plain_job_of_a_coscheduled_one(void **state)
{
    (void)state;
    setenv(PLUGIN_CONTROL_JOB, "equal", 1);
    setenv(PLUGIN_CONTROL_ENVIRONMENT_JOB, "weight=2", 1);
    host.context = S_CTX_LOCAL; /* a step of that job: stays */
    slurm_spank_init_post_opt(NULL, 0, NULL);
    assert_non_null(getenv(PLUGIN_CONTROL_JOB));
    host.context = S_CTX_ALLOCATOR; /* another job */
    slurm_spank_init_post_opt(NULL, 0, NULL);
    assert_null(getenv(PLUGIN_CONTROL_JOB));
    assert_null(getenv(PLUGIN_CONTROL_ENVIRONMENT_JOB));
    assert_string_equal(host.control[0], "");
}

UNIT(test_submission)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(args__bad),
        HOST_TEST(args__good),
        HOST_TEST(option__bad),
        HOST_TEST(option__names_value_and_choice),
        HOST_TEST(option__good),
        HOST_TEST(option__last_one_counts),
        HOST_TEST(option__defaults),
        HOST_TEST(option__bad_environment),
        HOST_TEST(option__bad_defaults_of_the_site),
        HOST_TEST(option__patience_of_the_site),
        HOST_TEST(submit__carries_the_value),
        HOST_TEST(submit__tells_the_environments_part),
        HOST_TEST(submit__plain_job_of_a_coscheduled_one),
    };

    return cmocka_run_group_tests_name("test_submission", tests, NULL, host_reset);
}
