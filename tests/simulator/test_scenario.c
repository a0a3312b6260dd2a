/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Scenario files: what they mean, and that each refusal names the place. */

#include "tests/support/unit.h"

#include <math.h>

#include "simulator/json_line.h"
#include "simulator/scenario.h"

#define PHASES "\"phases\": [{\"regions\": [{\"work_s\": 1}]}]"

struct directory {
    char path[64];
    char scenario[96], library[96];
};

static int make_directory(void **state)
{
    struct directory *d = calloc(1, sizeof(*d));

    snprintf(d->path, sizeof(d->path), "/tmp/test_scenario.XXXXXX");
    assert_non_null(mkdtemp(d->path));
    snprintf(d->scenario, sizeof(d->scenario), "%s/mix.json", d->path);
    snprintf(d->library, sizeof(d->library), "%s/library.json", d->path);
    *state = d;
    return 0;
}

static int remove_directory(void **state)
{
    struct directory *d = *state;

    unlink(d->scenario);
    unlink(d->library);
    assert_int_equal(rmdir(d->path), 0);
    free(d);
    return 0;
}

static void put(const char *file, const char *text)
{
    FILE *stream = fopen(file, "w");

    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

static struct scenario_set *read_text(const char *text, struct errtext *err)
{
    struct json_reader reader = {.file = "mix.json", .err = err};
    json_t *root = json_reader_parse(&reader, text, strlen(text));
    struct scenario_set *set = NULL;

    if (root)
        set = scenario_read(&reader, root, NULL);
    json_decref(root);
    return set;
}

/* A job "a" whose only region has these members, too. */
#define REGION(members)                                                      \
    "{\"jobs\": [{\"name\": \"a\", \"phases\": [{\"regions\": "              \
    "[{\"work_s\": 1, " members "}]}]}]}"
#define AT "mix.json: jobs[0].phases[0].regions[0]."
#define JOB(members)                                                          \
    "{\"jobs\": [{\"name\": \"a\", " PHASES ", " members "}]}"

static const struct {
    const char *text, *error;
} refused[] = {
    {"[]", "mix.json: must be an object"},
    {"{}", "mix.json: jobs: is missing"},
    {"{\"jobs\": []}", "mix.json: jobs: has 0 elements, must have 1 to 64"},
    {"{\"job\": []}", "mix.json: job: unknown key"},
    {"{\"jobs\": [{}]}", "mix.json: jobs[0].program: is missing"},
    {"{\"jobs\": [{\"program\": \"BT\"}]}",
     "mix.json: jobs[0].program: there is no program \"BT\" here, and no "
     "library is named"},
    {"{\"jobs\": [{" PHASES "}]}", "mix.json: jobs[0].name: is missing"},
    {JOB("\"program\": \"BT\""),
     "mix.json: jobs[0].program: is not for a job with phases of its own"},
    {JOB("\"thread\": 4"), "mix.json: jobs[0].thread: unknown key"},
    {JOB("\"threads\": 0"),
     "mix.json: jobs[0].threads: 0 is not a whole number from 1 to 65536"},
    {JOB("\"threads\": 2.5"),
     "mix.json: jobs[0].threads: 2.5 is not a whole number from 1 to 65536"},
    {JOB("\"arrival_s\": -1"),
     "mix.json: jobs[0].arrival_s: -1 is not a number from 0"},
    {JOB("\"scale\": 0"), "mix.json: jobs[0].scale: 0 is not a positive "
                          "number"},
    {JOB("\"weight\": \"high\""),
     "mix.json: jobs[0].weight: \"high\" is not a positive number"},
    {JOB("\"malleable\": 1"),
     "mix.json: jobs[0].malleable: must be true or false"},
    {JOB("\"min_cores\": 8, \"max_cores\": 4"),
     "mix.json: jobs[0].max_cores: 4 is less than min_cores, 8"},
    {"{\"jobs\": [{\"name\": \"a\", " PHASES "}, {\"name\": \"a\", " PHASES
     "}]}", "mix.json: jobs[1].name: \"a\" is taken by another job"},
    {"{\"jobs\": [{\"name\": \"a\", \"phases\": []}]}",
     "mix.json: jobs[0].phases: has 0 elements, must have 1 to 256"},
    {"{\"jobs\": [{\"name\": \"a\", \"phases\": [{\"repeat\": 0, "
     "\"regions\": []}]}]}",
     "mix.json: jobs[0].phases[0].repeat: 0 is not a whole number from 1 to "
     "10000000"},
    {"{\"jobs\": [{\"name\": \"a\", \"phases\": [{\"regions\": [{}]}]}]}",
     "mix.json: jobs[0].phases[0].regions[0].work_s: is missing"},
    {REGION("\"kind\": \"vector\""),
     AT "kind: \"vector\" is none of serial, parallel"},
    {REGION("\"placement\": \"far\""),
     AT "placement: \"far\" is none of first-touch, interleaved, local, by-thread"},
    {REGION("\"placement\": \"by-thread\""),
     AT "thread_nodes: is for placement by-thread, which needs it"},
    {REGION("\"thread_nodes\": [1]"),
     AT "thread_nodes: is for placement by-thread, which needs it"},
    {REGION("\"placement\": \"by-thread\", \"thread_nodes\": [1, 0.5]"),
     AT "thread_nodes: 0.5 is not the number of a NUMA node"},
    {REGION("\"placement\": \"by-thread\", \"thread_nodes\": [1, -1]"),
     AT "thread_nodes[1]: -1 is not a number from 0"},
    {REGION("\"read_per_us\": -3"), AT "read_per_us: -3 is not a number "
                                        "from 0"},
    {REGION("\"read_per_us\": 3, \"write_per_us\": 2, \"llc_per_us\": 4"),
     AT "llc_per_us: 4 is less than the 5 requests that miss"},
    {REGION("\"sync_share\": 1.5"), AT "sync_share: 1.5 is not a number from "
                                        "0 to 1"},
    {REGION("\"sync_share\": 1"), AT "sync_share: must be less than 1"},
    {REGION("\"barriers\": 0"),
     AT "barriers: 0 is not a whole number from 1 to 1000000000"},
    {REGION("\"kind\": \"serial\", \"imbalance\": 0.1"),
     AT "imbalance: is for parallel regions only"},
    {REGION("\"offset\": -1"),
     AT "offset: -1 is not a whole number from 0 to 9223372036854775807"},
    {"{\"paper\": {\"nupoco\": {\"nt\": 1}}, \"jobs\": [{\"name\": \"a\", "
     PHASES "}]}", "mix.json: paper.nupoco.nt: unknown key"},
    {"{\"paper\": 3, \"jobs\": [{\"name\": \"a\", " PHASES "}]}",
     "mix.json: paper: must be an object"},
    {"{\"scenarios\": []}",
     "mix.json: scenarios: has 0 elements, must have 1 to 4096"},
    {"{\"scenarios\": [{\"jobs\": [{\"name\": \"a\", " PHASES "}]}]}",
     "mix.json: scenarios[0].name: is missing"},
    {"{\"jobs\": [], \"scenarios\": []}",
     "mix.json: jobs: is not for a file with scenarios"},
    {"{\"scenarios\": [{\"name\": \"x\", \"jobs\": [{\"name\": \"a\", " PHASES
     "}]}, {\"name\": \"x\", \"jobs\": [{\"name\": \"a\", " PHASES "}]}]}",
     "mix.json: scenarios[1].name: \"x\" is taken by another scenario"},
    {"{\"programs\": [{\"name\": \"BT\", \"phases\": [{\"regions\": "
     "[{\"work_s\": \"long\"}]}]}], \"jobs\": [{\"program\": \"BT\"}]}",
     "mix.json: programs[0].phases[0].regions[0].work_s: \"long\" is not a "
     "positive number"},
};

static void test_refusals_name_the_place(void **state)
{
    struct errtext err;

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        errno = 0;
        assert_null(read_text(refused[i].text, &err));
        assert_int_equal(errno, EINVAL);
        assert_string_equal(err.text, refused[i].error);
    }
}

static const char library_text[] =
    "{\"name\": \"two programs\",\n"
    " \"programs\": [\n"
    "  {\"name\": \"EP\", \"sleeps\": true, \"phases\": [{\"regions\": [{\"work_s\": 8}]}]},\n"
    "  {\"name\": \"FT\", \"source\": \"a table\", \"phases\": [\n"
    "   {\"regions\": [{\"name\": \"init\", \"kind\": \"serial\",\n"
    "                   \"work_s\": 4}]},\n"
    "   {\"repeat\": 3, \"regions\": [\n"
    "    {\"name\": \"cffts1\", \"work_s\": 60, \"read_per_us\": 20,\n"
    "     \"write_per_us\": 6, \"prefetch_per_us\": 4, \"llc_per_us\": 60,\n"
    "     \"placement\": \"local\", \"llc_loss\": 0.5, \"imbalance\": 0.02,\n"
    "     \"sync_share\": 0.01, \"barriers\": 4, \"object\": \"ft.D\",\n"
    "     \"offset\": 4096},\n"
    "    {\"work_s\": 30}]}]}]}\n";

static void test_library(void **state)
{
    const struct directory *d = *state;
    struct errtext err;

    put(d->library, library_text);
    put(d->scenario,
        "{\"library\": \"library.json\", \"scenarios\": [\n"
        " {\"name\": \"one\", \"jobs\": [{\"program\": \"EP\"}]},\n"
        " {\"name\": \"two\", \"source\": \"somewhere\",\n"
        "  \"paper\": {\"nupoco\": {\"ntt\": 0.9}},\n"
        "  \"jobs\": [{\"program\": \"FT\", \"scale\": 0.5},\n"
        "   {\"program\": \"FT\", \"arrival_s\": 3, \"malleable\": false,\n"
        "    \"threads\": 16, \"min_cores\": 2, \"max_cores\": 32,\n"
        "    \"weight\": 2, \"numa_node\": 1}]}]}\n");
    struct scenario_set *set = scenario_load(d->scenario, NULL, &err);
    assert_non_null(set);
    assert_string_equal(set->file, d->scenario);
    assert_int_equal(set->scenarios, 2);
    assert_null(scenario_find(set, "three"));
    const struct scenario *two = scenario_find(set, "two");
    assert_ptr_equal(two, &set->scenario[1]);
    assert_true(set->scenario[0].job[0].sleeps);
    assert_true(set->scenario[0].job[0].malleable);
    assert_string_equal(two->source, "somewhere");
    assert_int_equal(two->figures, 1);
    assert_string_equal(two->figure[0].policy, "nupoco");
    assert_float_equal(two->figure[0].ntt, 0.9, 1e-12);
    assert_true(isnan(two->figure[0].hmean));

    const struct scenario_job *a = &two->job[0], *b = &two->job[1];
    assert_string_equal(a->name, "FT");
    assert_string_equal(b->name, "FT.2");
    assert_string_equal(b->program, "FT");
    assert_true(a->malleable && !b->malleable && !a->sleeps);
    assert_int_equal(a->threads, SCENARIO_ALL);
    assert_int_equal(a->max_cores, SCENARIO_ALL);
    assert_int_equal(a->min_cores, 1);
    assert_int_equal(a->numa_node, SCENARIO_NO_NODE);
    assert_int_equal(b->threads, 16);
    assert_int_equal(b->min_cores, 2);
    assert_int_equal(b->max_cores, 32);
    assert_int_equal(b->numa_node, 1);
    assert_float_equal(b->arrival_s, 3, 0);
    assert_float_equal(b->weight, 2, 0);
    assert_float_equal(a->region[0].work_s, 4 / 2.0, 1e-9); /* scaled */
    assert_float_equal(b->region[0].work_s, 4, 1e-9);
    scenario_set_free(set);
}

static void test_regions_in_order(void **state)
{
    const struct directory *d = *state;
    const char *expected[] = {"init", "cffts1", "region3", "cffts1",
                              "region3", "cffts1", "region3"};
    struct errtext err;

    put(d->library, library_text);
    put(d->scenario, "{\"jobs\": [{\"program\": \"FT\"}]}");
    struct scenario_set *set = scenario_load(d->scenario, d->library, &err);
    assert_non_null(set);
    assert_string_equal(set->scenario[0].name, "scenario");
    const struct scenario_job *job = &set->scenario[0].job[0];
    assert_int_equal(scenario_steps(job), 7);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(scenario_step(job, i)->name, expected[i]);

    const struct scenario_region *init = &job->region[0],
                                  *fft = &job->region[1],
                                  *rest = &job->region[2];
    assert_int_equal(init->kind, REGION_SERIAL);
    assert_int_equal(init->barriers, 0);
    assert_int_equal(fft->kind, REGION_PARALLEL);
    assert_int_equal(fft->placement, SCENARIO_LOCAL);
    assert_int_equal(fft->barriers, 4);
    assert_string_equal(fft->object, "ft.D");
    assert_int_equal(fft->offset, 4096);
    assert_int_equal(rest->placement, SCENARIO_INTERLEAVED);
    assert_string_equal(rest->object, "FT");
    assert_int_equal(rest->barriers, 1);
    assert_true(rest->offset != init->offset);
    scenario_set_free(set);
}

static void test_llc_factor(void **state)
{
    const struct scenario_region s = {
        .kind = REGION_PARALLEL, .work_s = 1, .read_per_us = 20,
        .write_per_us = 6, .prefetch_per_us = 4, .llc_per_us = 36,
        .llc_loss = 0.5, .sync_share = 0.1};
    struct scenario_region crowded = s;

    (void)state;
    assert_float_equal(scenario_llc_factor(&s, 1, 1), 1, 1e-12);
    assert_float_equal(scenario_llc_factor(&s, 0.8, 1), 1.1, 1e-12);
    /* No more misses than accesses. */
    assert_float_equal(scenario_llc_factor(&s, 0, 1), 1.2, 1e-12);
    assert_float_equal(scenario_llc_factor(&s, 0.8, 0.25), 1.1, 1e-12);
    crowded.llc_power = 0.5;
    assert_float_equal(scenario_llc_factor(&crowded, 1, 1), 1, 1e-12);
    assert_float_equal(scenario_llc_factor(&crowded, 0.8, 0.25), 0.55, 1e-12);
}

static void expect_refusal(const char *file, const char *library, int errnum,
                           const char *format, const char *name)
{
    struct errtext err;
    char expected[256];

    errno = 0;
    assert_null(scenario_load(file, library, &err));
    assert_int_equal(errno, errnum);
    snprintf(expected, sizeof(expected), format, name);
    assert_string_equal(err.text, expected);
}

static void test_files_are_refused_with_their_line(void **state)
{
    const struct directory *d = *state;
    struct errtext err;
    char expected[256];

    expect_refusal(d->scenario, NULL, ENOENT,
                   "%s: No such file or directory", d->scenario);
    put(d->scenario, "{\"jobs\":\n [}");
    expect_refusal(d->scenario, NULL, EINVAL,
                   "%s:2: unexpected token near '}'", d->scenario);
    put(d->scenario, "{\"jobs\": [\n"
                     " {\"name\": \"a, {\\\"\", " PHASES "},\n"
                     " {\"name\": \"b\",\n"
                     "  " PHASES ",\n"
                     "  \"threads\": -1}]}\n");
    expect_refusal(d->scenario, NULL, EINVAL,
                   "%s:5: jobs[1].threads: -1 is not a whole number from 1 to "
                   "65536", d->scenario);
    put(d->scenario, "\n{\"jobs\": [\n {},\n {}]}");
    expect_refusal(d->scenario, NULL, EINVAL,
                   "%s:3: jobs[0].program: is missing", d->scenario);
    put(d->scenario, "{\"library\": \"library.json\",\n"
                     " \"jobs\": [{\"program\": \"EP\"}]}");
    put(d->library, "{\"programs\": [\n {\"name\": \"EP\",\n  \"phases\": 3}]}");
    expect_refusal(d->scenario, NULL, EINVAL,
                   "%s:3: programs[0].phases: must be an array", d->library);
    put(d->library, "{\"programs\": [\n {\"name\": \"CG\"}]}");
    errno = 0;
    assert_null(scenario_load(d->scenario, d->library, &err));
    assert_int_equal(errno, EINVAL);
    snprintf(expected, sizeof(expected),
             "%s:2: jobs[0].program: there is no program \"EP\" in %s",
             d->scenario, d->library);
    assert_string_equal(err.text, expected);
}

static void test_line_of_a_path(void **state)
{
    static const char text[] = "{\n"
                               " \"a\": [1, [2,\n"
                               "  3], {\"b\": \"]\\\"}\",\n"
                               "   \"c.d\": 4}],\n"
                               " \"e\": 5}\n";
    static const struct {
        const char *path;
        size_t line;
    } paths[] = {
        {"", 1},       {"a", 2},          {"a[0]", 2}, {"a[1][1]", 3},
        {"a[2].b", 3}, {"a[2].c.d", 4},   {"e", 5},    {"f", 1},
        {"a[9]", 2},   {"a[2].nobody", 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        assert_int_equal(json_line_find(text, strlen(text), paths[i].path),
                         paths[i].line);
}

/* The tree's own files, with the libraries of both machines. */
static void test_shipped_files(void **state)
{
    static const struct {
        const char *name;
        size_t scenarios, most_jobs;
    } files[] = {{"nupoco", 10, 3}, {"thesis", 18, 3}, {"moca", 35, 3},
                 {"case-study", 1, 3}, {"big", 1, 16}};
    static const char *const libraries[] = {NULL, "amd-opteron-6380",
                                            "intel-e7-8870v3"};
    const char *top = getenv("abs_top_srcdir");
    char file[512], library[512];
    struct errtext err;

    (void)state;
    if (!top)
        skip();
    for (size_t i = 0; i < 15; i++) {
        size_t most = 0;
        snprintf(file, sizeof(file), "%s/simulator/scenarios/%s.json", top,
                 files[i % 5].name);
        snprintf(library, sizeof(library), "%s/simulator/workloads/%s.json",
                 top, i / 5 ? libraries[i / 5] : "");
        struct scenario_set *set =
            scenario_load(file, i / 5 ? library : NULL, &err);
        if (!set)
            fail_msg("%s", err.text);
        assert_int_equal(set->scenarios, files[i % 5].scenarios);
        for (size_t s = 0; s < set->scenarios; s++)
            if (set->scenario[s].jobs > most)
                most = set->scenario[s].jobs;
        assert_int_equal(most, files[i % 5].most_jobs);
        scenario_set_free(set);
    }
}

/* Each member that the schema has is known here: a value of the wrong type is
 * refused for its type, and not for its name. */
static void expect_known(const json_t *schema, const char *definition,
                         const char *format)
{
    const json_t *properties = json_object_get(
        json_object_get(json_object_get(schema, "$defs"), definition),
        "properties");
    const char *key;
    json_t *unused;
    size_t count = 0;

    json_object_foreach((json_t *)properties, key, unused) {
        struct errtext err = {""};
        char text[512];
        snprintf(text, sizeof(text), format, key);
        struct scenario_set *set = read_text(text, &err);
        assert_null(strstr(err.text, "unknown key"));
        assert_null(strstr(err.text, "expected near"));
        scenario_set_free(set);
        count++;
    }
    assert_true(count >= 10);
}

static void test_schema(void **state)
{
    const char *top = getenv("abs_top_srcdir");
    char file[512];
    json_error_t error;

    (void)state;
    if (!top)
        skip();
    snprintf(file, sizeof(file), "%s/docs/scenario.schema.json", top);
    json_t *schema = json_load_file(file, 0, &error);
    assert_non_null(schema);
    expect_known(schema, "region",
                 "{\"jobs\": [{\"name\": \"a\", \"phases\": [{\"regions\": "
                 "[{\"%s\": {}}]}]}]}");
    expect_known(schema, "job", "{\"jobs\": [{\"%s\": {}}]}");
    json_decref(schema);
}

UNIT(test_scenario)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals_name_the_place),
        cmocka_unit_test_setup_teardown(test_library, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(test_regions_in_order,
                                        make_directory, remove_directory),
        cmocka_unit_test(test_llc_factor),
        cmocka_unit_test_setup_teardown(test_files_are_refused_with_their_line,
                                        make_directory, remove_directory),
        cmocka_unit_test(test_line_of_a_path),
        cmocka_unit_test(test_shipped_files),
        cmocka_unit_test(test_schema),
    };

    return cmocka_run_group_tests_name("test_scenario", tests, NULL, NULL);
}
