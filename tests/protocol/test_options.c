/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* --coschedule, SchedulerParameters, durations. */

#include "tests/protocol/unit.h"

#include "protocol/options.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static void test_duration_bad(void **state)
{
    static const struct {
        const char *text;
        int errnum;
    } table[] = {
        {"", EINVAL},      {"s", EINVAL},      {"5", EINVAL},
        {"-5s", EINVAL},   {"+5s", EINVAL},    {" 5s", EINVAL},
        {"5 s", EINVAL},   {"5s ", EINVAL},    {"5S", EINVAL},
        {"5sec", EINVAL},  {"5d", EINVAL},     {"1.2.3s", EINVAL},
        {".5s", EINVAL},   {".", EINVAL},      {".s", EINVAL},
        {"1e3s", EINVAL},  {"0x10s", EINVAL},  {"infs", EINVAL},
        {"nans", EINVAL},  {"5ss", EINVAL},    {"5,s", EINVAL},
        {"99999999999h", ERANGE},
        {"00000000000000000000001s", EINVAL}, /* absurdly long */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        uint64_t ns = 42;
        errno = 0;
        check(duration_parse(table[i].text, &ns) == -1, table[i].text);
        check(errno == table[i].errnum, table[i].text);
        check(ns == 42, table[i].text);
    }
}

static void test_duration(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } table[] = {
        {"0", 0},          {"0.0", 0},          {"0s", 0},
        {"1ns", 1},        {"7us", 7000},       {"50ms", 50 * MS},
        {"0.25s", 250 * MS}, {"2s", 2 * SECOND}, {"1.5m", 90 * SECOND},
        {"1h", 3600 * SECOND}, {"0.0000001ms", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        uint64_t ns = 42;
        check(duration_parse(table[i].text, &ns) == 0, table[i].text);
        check(ns == table[i].ns, table[i].text);
    }
}

static void test_job_bad(void **state)
{
    /* Input, and what the text must name: the entry as typed, what is allowed. */
    static const struct {
        const char *text, *names, *allowed;
    } table[] = {
        {"bogus", "bogus", "nupoco, greedy, equal"},
        {"bogus", "bogus",
         "policy, ults, min_cores, max_cores, weight, report, libgomp, objective, interleave"},
        {"Nupoco", "Nupoco", "nupoco"},
        {"policy=", "policy=", "nupoco, greedy, equal"},
        {"policy=bogus", "policy=bogus", "nupoco, greedy, equal"},
        {"ults", "ults", "key=value"},
        {"ults=", "ults=", "1 to 64"},
        {"ults=0", "ults=0", "1 to 64"},
        {"ults=65", "ults=65", "1 to 64"},
        {"ults=-1", "ults=-1", "1 to 64"},
        {"ults=+1", "ults=+1", "1 to 64"},
        {"ults= 1", "ults= 1", "1 to 64"},
        {"ults=1x", "ults=1x", "1 to 64"},
        {"ults=0x4", "ults=0x4", "1 to 64"},
        {"ults=18446744073709551617", "ults=18446744073709551617", "1 to 64"},
        {"min_cores=0", "min_cores=0", "1 to 1024"},
        {"max_cores=1025", "max_cores=1025", "1 to 1024"},
        {"min_cores=4,max_cores=2", "min_cores=4", "max_cores=2"},
        {"weight=", "weight=", "0.1 to 10"},
        {"weight=0", "weight=0", "0.1 to 10"},
        {"weight=0.09", "weight=0.09", "0.1 to 10"},
        {"weight=10.1", "weight=10.1", "0.1 to 10"},
        {"weight=.5", "weight=.5", "0.1 to 10"},
        {"weight=-1", "weight=-1", "0.1 to 10"},
        {"weight=1e0", "weight=1e0", "0.1 to 10"},
        {"weight=nan", "weight=nan", "0.1 to 10"},
        {"weight=1.2.3", "weight=1.2.3", "0.1 to 10"},
        {"weight=1.000000000001", "weight=1.00", "0.1 to 10"},
        {"report=maybe", "report=maybe", "yes nor no"},
        {"report", "report", "key=value"},
        {"libgomp=gnu", "libgomp=gnu", "not one of coop|stock"},
        {"objective=power", "objective=power", "not one of site|time|energy|edp"},
        {"interleave=on", "interleave=on", "not one of auto|serial|off"},
        {"ults=2,ults=3", "ults=3", "twice"},
        {"nupoco,greedy", "greedy", "twice"},
        {"nupoco,policy=equal", "policy=equal", "twice"},
        {",", "", "nupoco"},
        {"nupoco,,ults=2", "", "nupoco"},
        {"=", "=", "nupoco"},
        {"=nupoco", "=nupoco", "nupoco"},
        {"nupoco ", "nupoco ", "nupoco"},
        {"cosched_policy=nupoco", "cosched_policy", "policy"},
        {"a\nb", "a?b", "nupoco"}, /* one line */
        {"\xff", "?", "nupoco"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct job_options options, before;
        struct errtext err = {""};
        memset(&options, 0x5a, sizeof(options));
        before = options;
        errno = 0;
        check(job_options_parse(&options, table[i].text, &err) == -1,
              table[i].text);
        check(errno == EINVAL, table[i].text);
        check(memcmp(&options, &before, sizeof(options)) == 0, table[i].text);
        check(strstr(err.text, table[i].names), table[i].text);
        check(strstr(err.text, table[i].allowed), table[i].text);
        check(!strchr(err.text, '\n'), table[i].text);
        check(job_options_parse(&options, table[i].text, NULL) == -1,
              table[i].text);
    }
}

static void test_job_long(void **state)
{
    struct job_options options;
    struct errtext err;
    char text[4096];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    errno = 0;
    assert_int_equal(job_options_parse(&options, text, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.text, "longer than"));
}

static void test_job(void **state)
{
    static const struct {
        const char *text;
        struct job_options want;
    } table[] = {
        {NULL, {.ults = 0}},
        {"", {.ults = 0}},
        {"(null)", {.ults = 0}},
        {"nupoco", {.policy = "nupoco"}},
        {"policy=equal", {.policy = "equal"}},
        {"greedy,ults=64", {.policy = "greedy", .ults = 64}},
        {"ults=1,", {.ults = 1}},
        {"min_cores=2,max_cores=2", {.min_cores = 2, .max_cores = 2}},
        {"max_cores=1024,min_cores=1", {.min_cores = 1, .max_cores = 1024}},
        {"min_cores=4", {.min_cores = 4}},
        {"weight=0.1", {.weight = 0.1}},
        {"weight=10", {.weight = 10}},
        {"weight=2.", {.weight = 2}},
        {"report=yes", {.report = 1}},
        {"report=0", {.report = -1}},
        {"libgomp=stock", {.libgomp = 1}},
        {"libgomp=coop", {.libgomp = 0}},
        {"objective=edp", {.objective = 3}},
        {"interleave=off", {.interleave = 2}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        const char *text = table[i].text ? table[i].text : "NULL";
        struct job_options got;
        struct errtext err;
        memset(&got, 0x5a, sizeof(got)); /* replaced as a whole */
        check(job_options_parse(&got, table[i].text, &err) == 0, text);
        check(strcmp(got.policy, table[i].want.policy) == 0, text);
        check(got.ults == table[i].want.ults, text);
        check(got.min_cores == table[i].want.min_cores, text);
        check(got.max_cores == table[i].want.max_cores, text);
        check(got.weight == table[i].want.weight, text);
        check(got.report == table[i].want.report, text);
        check(got.libgomp == table[i].want.libgomp, text);
        check(got.objective == table[i].want.objective, text);
        check(got.interleave == table[i].want.interleave, text);
    }
}

static void test_node_bad(void **state)
{
    static const struct {
        const char *text, *names, *allowed;
    } table[] = {
        {"cosched_policy=bogus", "cosched_policy=bogus", "nupoco"},
        {"cosched_policy=", "cosched_policy=", "nupoco"},
        {"cosched_policy", "cosched_policy", "no value"},
        {"cosched_bogus=1", "cosched_bogus", "epoch"},
        {"cosched_=1", "cosched_", "epoch"},
        {"cosched_policy_options=x", "cosched_policy_options=x", "NAME:VALUE"},
        {"cosched_policy_options=:1", "cosched_policy_options=:1", "NAME:"},
        {"cosched_policy_options=a:", "cosched_policy_options=a:", "NAME:"},
        {"cosched_policy_options=a:1;", "cosched_policy_options=a:1;", "NAME:"},
        {"cosched_policy_options=a:1;;b:2", "=a:1;;b:2", "NAME:"},
        {"cosched_policy_options=a:1/2", "=a:1/2", "NAME:VALUE"},
        {"cosched_epoch=50", "cosched_epoch=50", "ms"},
        {"cosched_epoch=", "cosched_epoch=", "ms"},
        {"cosched_epoch=9ms", "cosched_epoch=9ms", "10ms to 10000ms"},
        {"cosched_epoch=11s", "cosched_epoch=11s", "10ms to 10000ms"},
        {"cosched_profile=61s", "cosched_profile=61s", "0ms to 60000ms"},
        {"cosched_attach_timeout=0", "cosched_attach_timeout=0", "100ms"},
        {"cosched_slice=99ms", "cosched_slice=99ms", "100ms"},
        {"cosched_lease=1ms", "cosched_lease=1ms", "200ms"},
        {"cosched_forget=25h", "cosched_forget=25h", "100ms to 86400000ms"},
        {"cosched_enforcement=", "cosched_enforcement=", "affinity|cpuset"},
        {"cosched_enforcement=cpu", "cosched_enforcement=cpu", "cpuset|auto"},
        {"bf_interval=30,cosched_epoch=1x", "cosched_epoch=1x", "ms"},
        /* The good one before the bad one has no effect either. */
        {"cosched_epoch=20ms,cosched_slice=x", "cosched_slice=x", "ms"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct node_options options, before;
        struct errtext err = {""};
        memset(&options, 0x5a, sizeof(options));
        before = options;
        errno = 0;
        check(node_options_parse(&options, table[i].text, &err) == -1,
              table[i].text);
        check(errno == EINVAL, table[i].text);
        check(memcmp(&options, &before, sizeof(options)) == 0, table[i].text);
        check(strstr(err.text, table[i].names), table[i].text);
        check(strstr(err.text, table[i].allowed), table[i].text);
    }
}

static void test_node_defaults(void **state)
{
    struct node_options o, parsed;

    (void)state;
    node_options_init(&o);
    assert_string_equal(o.policy, "corun");
    assert_string_equal(o.policy_options, "");
    assert_true(o.epoch_ns == 50 * MS);
    assert_true(o.profile_ns == 150 * MS);
    assert_int_equal(o.probe_percent, 2);
    assert_true(o.clean_ns == 0);
    assert_true(o.min_region_ns == 100 * MS);
    assert_true(o.attach_ns == SECOND);
    assert_true(o.slice_ns == 2 * SECOND);
    assert_true(o.lease_ns == SECOND);
    assert_true(o.forget_ns == 3600 * SECOND);
    assert_int_equal(o.enforcement, ENFORCEMENT_AFFINITY);
    /* Slurm's own entries, however long, and similar names change nothing. */
    char text[2048] = "bf_interval=30,defer,xcosched_epoch=1s,";
    memset(text + strlen(text), 'y', 1000);
    memset(&parsed, 0x5a, sizeof(parsed));
    assert_int_equal(node_options_parse(&parsed, text, NULL), 0);
    assert_memory_equal(&parsed, &o, sizeof(o));
    memset(&parsed, 0x5a, sizeof(parsed));
    assert_int_equal(node_options_parse(&parsed, NULL, NULL), 0);
    assert_memory_equal(&parsed, &o, sizeof(o));
    assert_int_equal(node_options_parse(&parsed, ",,", NULL), 0);
    assert_memory_equal(&parsed, &o, sizeof(o));
}

static void test_node(void **state)
{
    struct node_options o;
    struct errtext err;

    (void)state;
    assert_int_equal(
        node_options_parse(&o,
                           "bf_interval=30,cosched_policy=equal,"
                           "cosched_epoch=10ms,cosched_profile=0,defer,"
                           "cosched_min_region=1s,cosched_attach_timeout=60s,"
                           "cosched_slice=1h,cosched_lease=200ms,"
                           "cosched_enforcement=auto,"
                           "cosched_policy_options=gain:0.1;wait:active",
                           &err),
        0);
    assert_string_equal(o.policy, "equal");
    assert_string_equal(o.policy_options, "gain:0.1;wait:active");
    assert_true(o.epoch_ns == 10 * MS);
    assert_true(o.profile_ns == 0);
    assert_true(o.min_region_ns == SECOND);
    assert_true(o.attach_ns == 60 * SECOND);
    assert_true(o.slice_ns == 3600 * SECOND);
    assert_true(o.lease_ns == 200 * MS);
    assert_int_equal(o.enforcement, ENFORCEMENT_AUTO);
    /* An entry that is gone returns to its default. */
    assert_int_equal(node_options_parse(&o, "cosched_policy=greedy", &err), 0);
    assert_string_equal(o.policy, "greedy");
    assert_true(o.epoch_ns == 50 * MS);
}

/* ---- layers ------------------------------------------------------------- */

struct layers {
    struct node_options options;
    struct node_origins origins;
    struct node_problems problems;
};

static struct layers layers_of(const char *conf, const char *mine,
                               const char *others, const char *command)
{
    struct layers l;

    memset(&l, 0, sizeof(l));
    node_options_init(&l.options);
    node_options_apply(&l.options, &l.origins, OPTION_SLURM_CONF, conf, mine,
                       others, &l.problems);
    node_options_apply(&l.options, &l.origins, OPTION_COMMAND_LINE, command,
                       NULL, NULL, &l.problems);
    return l;
}

static enum option_source source_of(const struct layers *l, const char *name)
{
    return l->origins.option[node_option_find(name)].source;
}

static void test_layers(void **state)
{
    /* The partition's entry wins wherever it stands, the command line over
     * all. */
    struct layers l = layers_of("cosched_epoch@long=1s,bf_interval=30,"
                                "cosched_epoch=20ms,cosched_slice=3s,"
                                "cosched_slice@other=9s,cosched_lease=2s",
                                "short,long", "other", "cosched_lease=4s");

    (void)state;
    assert_int_equal(l.problems.count, 0);
    assert_string_equal(l.problems.text, "");
    assert_true(l.options.epoch_ns == SECOND);
    assert_int_equal(source_of(&l, "epoch"), OPTION_PARTITION);
    assert_string_equal(l.origins.option[node_option_find("epoch")].partition,
                        "long");
    assert_true(l.options.slice_ns == 3 * SECOND);
    assert_int_equal(source_of(&l, "slice"), OPTION_SLURM_CONF);
    assert_true(l.options.lease_ns == 4 * SECOND);
    assert_int_equal(source_of(&l, "lease"), OPTION_COMMAND_LINE);
    assert_int_equal(source_of(&l, "policy"), OPTION_DEFAULT);
    /* Of two partitions' entries the last counts. */
    l = layers_of("cosched_epoch@long=1s,cosched_epoch@short=2s", "short,long",
                  "", "");
    assert_true(l.options.epoch_ns == 2 * SECOND);
    /* A partition whose name begins like another's. */
    l = layers_of("cosched_epoch@lon=1s", "short,long", "lon", "");
    assert_true(l.options.epoch_ns == 50 * MS);
    assert_int_equal(l.problems.count, 0);
    l = layers_of(NULL, NULL, NULL, NULL);
    assert_int_equal(l.problems.count, 0);
    assert_true(l.options.epoch_ns == 50 * MS);
}

/* Options of a policy go with it. */
static void test_layers_policy(void **state)
{
    struct layers l = layers_of("cosched_policy_options=gain:0.1,"
                                "cosched_policy=moca", "", "", "");

    (void)state;
    assert_string_equal(l.options.policy_options, "gain:0.1");
    l = layers_of("cosched_policy=moca,cosched_policy_options=gain:0.1,"
                  "cosched_policy@a=batch", "a", "", "");
    assert_string_equal(l.options.policy, "batch");
    assert_string_equal(l.options.policy_options, "");
    assert_int_equal(source_of(&l, "policy_options"), OPTION_DEFAULT);
    l = layers_of("cosched_policy_options@a=x:1,cosched_policy@a=batch,"
                  "cosched_policy_options=gain:0.1", "a", "", "");
    assert_string_equal(l.options.policy_options, "x:1");
    l = layers_of("cosched_policy_options@a=x:1,cosched_policy@b=batch", "a,b",
                  "", "");
    assert_string_equal(l.options.policy_options, "");
    l = layers_of("cosched_policy=moca,cosched_policy_options=gain:0.1", "", "",
                  "cosched_policy=equal");
    assert_string_equal(l.options.policy, "equal");
    assert_string_equal(l.options.policy_options, "");
    l = layers_of("cosched_policy=moca,cosched_policy_options=gain:0.1", "", "",
                  "cosched_policy_options=gain:0.2");
    assert_string_equal(l.options.policy_options, "gain:0.2");
}

/* What is wrong has no effect, is named as typed, and stops nothing else. */
static void test_layers_bad(void **state)
{
    struct layers l = layers_of(
        "cosched_epoch=1x,cosched_policy=bogus,cosched_colour=red,"
        "cosched_slice,cosched_lease@long=1ms,cosched_forget@gone=1h,"
        "cosched_max_jobs@other=many,cosched_report@=none,cosched_lease=3s,"
        "cosched_enforcement=glue",
        "long", "other", "");
    static const char *const named[] = {
        "cosched_epoch=1x", "cosched_policy=bogus", "cosched_colour",
        "cosched_slice: has no value", "cosched_lease=1ms",
        "cosched_forget@gone: no such partition", "cosched_max_jobs=many",
        "cosched_report@: names no partition",
        "cosched_enforcement=glue: not one of affinity|cpuset|auto"};

    (void)state;
    assert_int_equal(l.problems.count, COUNT(named));
    for (size_t i = 0; i < COUNT(named) - 1; i++)
        check(strstr(l.problems.text, named[i]), named[i]);
    assert_null(strchr(l.problems.text, '\n'));
    assert_true(l.options.lease_ns == 3 * SECOND);
    assert_string_equal(l.options.policy, "corun");
    /* Unknown partitions are no problem while it is not known which exist. */
    l = layers_of("cosched_forget@gone=2h", "long", NULL, "");
    assert_int_equal(l.problems.count, 0);
    l = layers_of("", "", "", "cosched_epoch@a=1s");
    assert_int_equal(l.problems.count, 1);
    char text[512] = "cosched_policy=";
    memset(text + strlen(text), 'y', 300);
    strcat(text, ",cosched_epoch=20ms");
    l = layers_of(text, "", "", "");
    assert_int_equal(l.problems.count, 1);
    assert_true(l.options.epoch_ns == 20 * MS);
}

static void test_problems_full(void **state)
{
    struct node_problems problems = {0};

    (void)state;
    for (int i = 0; i < 100; i++)
        node_problems_add(&problems, "an entry that is wrong");
    assert_int_equal(problems.count, 100);
    assert_true(strlen(problems.text) < sizeof(problems.text));
    const char *last = problems.text + strlen(problems.text) - 5;
    assert_string_equal(last, "wrong");
}

/* Each value is shown as one may type it. */
static void test_values(void **state)
{
    struct node_options o, again;
    char text[4096] = "", value[OPTIONS_TEXT_MAX];

    (void)state;
    assert_int_equal(
        node_options_parse(&o, "cosched_policy=equal,cosched_epoch=1500ms,"
                               "cosched_slice=1h,cosched_profile=0,"
                               "cosched_min_region=1234us,cosched_lease=1m,"
                               "cosched_policy_options=a:1;b:x,"
                               "cosched_max_jobs=3,cosched_fairness=0,"
                               "cosched_enforcement=cpuset,"
                               "cosched_counters=perf,cosched_report=none",
                           NULL), 0);
    assert_int_equal(o.fairness_percent, 0);
    assert_int_equal(o.enforcement, ENFORCEMENT_CPUSET);
    assert_int_equal(o.report, REPORT_NONE);
    assert_string_equal(node_option_value(&o, node_option_find("epoch"), value,
                                          sizeof(value)), "1500ms");
    assert_string_equal(node_option_value(&o, node_option_find("slice"), value,
                                          sizeof(value)), "1h");
    for (size_t i = 0; i < node_option_count(); i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "cosched_%s=%s,", node_option_name(i),
                 node_option_value(&o, i, value, sizeof(value)));
    assert_int_equal(node_options_parse(&again, text, NULL), 0);
    assert_memory_equal(&o, &again, sizeof(o));
    assert_true(node_option_find("bogus") == node_option_count());
    struct node_origins origins = {0};
    node_option_reset(&o, &origins, "fairness");
    assert_int_equal(o.fairness_percent, 25);
    assert_string_equal(node_option_value(&o, node_option_find("fairness"),
                                          value, sizeof(value)), "25");
}

/* What HELP prints names each of KEYS with PREFIX at a line's begin. */
static void compare_help(void (*help)(FILE *), const char *prefix,
                         const char *const *keys)
{
    char *text, line[64];
    size_t size, lines = 0, count = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    fputc('\n', out);
    help(out);
    fclose(out);
    for (; keys[count]; count++) {
        snprintf(line, sizeof(line), "\n  %s%s= ", prefix, keys[count]);
        check(strstr(text, line), line);
    }
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines - 1, count);
    free(text);
}

static void test_help(void **state)
{
    static const char *const node[] = {"policy",      "policy_options",
                                       "epoch",
                                       "profile",     "probe", "clean",
                                       "min_region",
                                       "attach_timeout", "slice",
                                       "lease",       "forget",
                                       "fairness",    "max_jobs",
                                       "enforcement", "counters",
                                       "report",      "collector",
                                       NULL};

    (void)state;
    compare_help(node_options_help, "cosched_", node);
}

UNIT(test_options)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duration_bad),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_job_bad),
        cmocka_unit_test(test_job_long),
        cmocka_unit_test(test_job),
        cmocka_unit_test(test_node_bad),
        cmocka_unit_test(test_node_defaults),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_layers_policy),
        cmocka_unit_test(test_layers_bad),
        cmocka_unit_test(test_problems_full),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_help),
    };

    return cmocka_run_group_tests_name("test_options", tests, NULL, NULL);
}
