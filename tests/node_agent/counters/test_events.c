/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Event sets: those that come with coschedule, and what is refused of others. */

#include "tests/support/unit.h"

#include "node_agent/counters/events.h"
#include "tests/support/tree.h"

static char dir[64];
static char shipped[1024];

static int setup(void **state)
{
    const char *source = getenv("abs_top_srcdir");

    (void)state;
    snprintf(shipped, sizeof(shipped), "%s/node_agent/counters/events",
             source);
    strcpy(dir, "/tmp/cosched-test.XXXXXX");
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return chdir("/") || nftw(dir, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Write x.json with these parts. */
static void write_file(const char *head, const char *sets, const char *metrics)
{
    FILE *out = fopen("x.json", "w");

    assert_non_null(out);
    fprintf(out,
            "{\"format\": \"coschedule-events/1\", \"name\": \"x\", "
            "\"title\": \"X\", \"likwid\": \"5.0\", %s"
            "\"cpus\": [{\"vendor\": \"GenuineIntel\", \"family\": 6, "
            "\"models\": [1, 2]}], \"sets\": %s, \"metrics\": {%s}}",
            head, sets, metrics);
    assert_int_equal(fclose(out), 0);
}

#define SET "[[{\"counter\": \"FIXC1\", \"event\": \"CLOCKS\"}, " \
            "{\"counter\": \"BOX#C0\", \"event\": \"RD\", \"last\": 2}]]"
#define METRIC(name, formula, unit, per)                                    \
    "\"" name "\": {\"formula\": \"" formula "\", \"unit\": \"" unit        \
    "\", \"per\": \"" per "\", \"source\": \"s\"}"
#define CYCLES METRIC("cycles", "FIXC1", "cycles", "cpu")

static void refuse(const char *head, const char *sets, const char *metrics,
                   const char *why)
{
    struct errtext err = {""};

    write_file(head, sets, metrics);
    errno = 0;
    struct events *e = events_load("x.json", &err);
    if (e || strcmp(err.text, why) != 0)
        fail_msg("\"%s\" instead of \"%s\"", e ? "accepted" : err.text, why);
    assert_int_equal(errno, EINVAL);
}

static void a_file(void **state)
{
    struct errtext err = {""};
    char text[256];

    (void)state;
    write_file("", SET,
               CYCLES "," METRIC("reads", "sum(BOX#C0)", "requests",
                                 "package"));
    struct events *e = events_load("x.json", &err);
    assert_non_null(e);
    assert_int_equal(e->sets, 1);
    assert_int_equal(e->set[0].count, 4);
    assert_int_equal(e->variables, 4);
    assert_string_equal(e->variable[3].name, "BOX2C0");
    assert_string_equal(e->variable[4].name, "time");
    assert_int_equal(events_string(e, 0, text, sizeof(text)), 42);
    assert_string_equal(text, "CLOCKS:FIXC1,RD:BOX0C0,RD:BOX1C0,RD:BOX2C0");
    assert_int_equal(events_string(e, 0, text, 10), 42);
    assert_string_equal(text, "CLOCKS:FI");
    assert_int_equal(e->metric[EVENTS_READS].per, EVENTS_PER_PACKAGE);
    assert_null(e->metric[EVENTS_WRITES].formula);
    events_free(e);
    events_free(NULL);
}

static void refused_sets(void **state)
{
    (void)state;
    refuse("\"cpu\": 1, ", SET, CYCLES, "x.json: cpu: unknown key");
    refuse("", "[]", CYCLES, "x.json: sets: has 0 elements, must have 1 to 8");
    refuse("", "[[]]", CYCLES, "x.json: sets[0]: must be a list of events");
    refuse("", "[[{\"counter\": \"PMC-0\", \"event\": \"E\"}]]", CYCLES,
           "x.json: sets[0][0].counter: \"PMC-0\" is not a name");
    refuse("", "[[{\"counter\": \"PMC0\", \"event\": \"E,F\"}]]", CYCLES,
           "x.json: sets[0][0].event: \"E,F\" is not a name");
    refuse("", "[[{\"counter\": \"PMC0\", \"event\": \"E\", "
               "\"options\": \"A=1,B:C\"}]]", CYCLES,
           "x.json: sets[0][0].options: \"A=1,B:C\" is not LIKWID's "
           "NAME=VALUE:...");
    refuse("", "[[{\"counter\": \"PMC0\", \"event\": \"E\", \"last\": 3}]]",
           CYCLES, "x.json: sets[0][0].counter: \"PMC0\" has no \"#\"");
    refuse("", "[[{\"counter\": \"P\", \"event\": \"E\", \"optional\": 1}]]",
           CYCLES, "x.json: sets[0][0].optional: must be true or false");
    refuse("", "[[{\"counter\": \"P\", \"event\": \"E\"}, "
               "{\"counter\": \"P\", \"event\": \"F\", \"as\": \"Q\"}]]",
           CYCLES, "x.json: sets[0][1]: P is used twice in the set");
    refuse("", "[[{\"counter\": \"P\", \"event\": \"E\"}], "
               "[{\"counter\": \"P\", \"event\": \"F\"}]]", CYCLES,
           "x.json: sets[1][0]: P is another event's already; name this one "
           "with \"as\"");
    refuse("", "[[{\"counter\": \"time\", \"event\": \"E\"}]]", CYCLES,
           "x.json: sets[0][0]: time is not a counter");
    refuse("", "[[{\"counter\": \"A#\", \"event\": \"E\", \"last\": 63}, "
               "{\"counter\": \"B#\", \"event\": \"E\", \"last\": 63}]]",
           CYCLES, "x.json: sets[0][1]: more than 64 events in the set");
}

static void refused_metrics(void **state)
{
    (void)state;
    refuse("", SET, METRIC("reads", "1", "requests", "package"),
           "x.json: metrics.cycles: is missing: all else is compared with "
           "them");
    refuse("", SET, METRIC("cycels", "FIXC1", "cycles", "cpu"),
           "x.json: metrics.cycels: unknown key");
    refuse("", SET, METRIC("cycles", "FIXC2*2", "cycles", "cpu"),
           "x.json: metrics.cycles.formula: \"FIXC2\": no such counter or "
           "variable");
    refuse("", SET, METRIC("cycles", "FIXC1", "1/s", "cpu"),
           "x.json: metrics.cycles.unit: \"1/s\": cycles is in cycles");
    refuse("", SET, METRIC("cycles", "FIXC1", "cycles", "core"),
           "x.json: metrics.cycles.per: \"core\" is not \"cpu\", \"llc_domain\" "
           "or \"package\"");
    refuse("", SET, METRIC("cycles", "FIXC1", "cycles", "package"),
           "x.json: metrics.cycles.per: \"package\" counts no cycles");
    refuse("", SET, CYCLES "," METRIC("reads", "FIXC1", "requests", "cpu"),
           "x.json: metrics.reads.per: \"cpu\" counts no reads");
    refuse("", SET, CYCLES "," METRIC("energy", "FIXC1", "J", "llc_domain"),
           "x.json: metrics.energy.per: \"llc_domain\" counts no energy");
    refuse("", SET, CYCLES ", \"reads\": {\"formula\": \"1\", \"unit\": "
           "\"requests\", \"per\": \"package\", \"source\": \"s\", "
           "\"parts\": {\"2\": [\"1\", \"BX\"]}}",
           "x.json: metrics.reads.parts.2: \"BX\": no such counter or "
           "variable");
    refuse("", SET, CYCLES ", \"reads\": {\"formula\": \"1\", \"unit\": "
           "\"requests\", \"per\": \"package\", \"source\": \"s\", "
           "\"parts\": {\"3\": [\"1\", \"2\"]}}",
           "x.json: metrics.reads.parts.3: must be a list of 3 formulas");
    refuse("", SET, CYCLES ", \"reads\": {\"formula\": \"1\", \"unit\": "
           "\"requests\", \"per\": \"llc_domain\", \"source\": \"s\", "
           "\"parts\": {\"2\": [\"1\", \"2\"]}}",
           "x.json: metrics.reads.parts: only where a package counts for "
           "NUMA nodes");
    assert_null(events_load("nonesuch.json", NULL));
    assert_int_equal(errno, ENOENT);
}

/* Each file that comes with coschedule: what it must have at least. */
static void shipped_files(void **state)
{
    static const char *const names[] = {
        "haswellEP", "haswellEX",      "skylakeX", "icelakeX",
        "zen2",      "sapphirerapids", "zen3",     "interlagos",
        "zen4"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct errtext err = {""};
        char path[1200];
        snprintf(path, sizeof(path), "%s/%s.json", shipped, names[i]);
        struct events *e = events_load(path, &err);
        if (!e)
            fail_msg("%s", err.text);
        for (int m = 0; m < EVENTS_METRICS; m++) {
            bool may_lack = m == EVENTS_WRITES || m == EVENTS_PREFETCHES ||
                            !strcmp(names[i], "interlagos");
            if (!e->metric[m].formula && !may_lack)
                fail_msg("%s: no %s", names[i],
                         events_metric_name((enum events_metric)m));
        }
        assert_non_null(e->metric[EVENTS_READS].formula);
        events_free(e);
    }
}

static const char *chosen(const char *vendor, unsigned family, unsigned model,
                          const char *brand, const char *arch,
                          struct errtext *note)
{
    static char name[32];
    struct errtext err = {""};
    struct events_cpu cpu = {vendor, family, model, brand, arch};
    struct events *e = events_choose(shipped, &cpu, note, &err);

    if (!e)
        snprintf(name, sizeof(name), "none");
    else
        snprintf(name, sizeof(name), "%s", e->name);
    events_free(e);
    return name;
}

static void choice(void **state)
{
    const char *intel = "GenuineIntel", *amd = "AuthenticAMD";
    struct errtext note, err = {""};

    (void)state;
    assert_string_equal(chosen(intel, 6, 63, "Xeon E5-2680 v3", "", &note),
                        "haswellEP");
    assert_string_equal(note.text, "");
    assert_string_equal(
        chosen(intel, 6, 63, "Xeon E7-8870 v3", "haswellEP", &note),
        "haswellEX");
    assert_string_equal(chosen(intel, 6, 85, "", "CLX", &note), "skylakeX");
    assert_string_equal(chosen(intel, 6, 106, "", "", &note), "ICX");
    assert_string_equal(chosen(intel, 6, 143, "", "", &note), "SPR");
    assert_string_equal(chosen(amd, 21, 2, "Opteron 6380", "", &note),
                        "interlagos");
    assert_string_equal(chosen(amd, 23, 49, "", "", &note), "zen2");
    assert_string_equal(chosen(amd, 25, 1, "", "", &note), "zen3");
    assert_string_equal(chosen(amd, 25, 17, "", "", &note), "zen4");
    assert_string_equal(note.text, "");
    /* Its model is new to us, not to LIKWID. */
    assert_string_equal(chosen(amd, 25, 99, "AMD EPYC X", "zen4", &note),
                        "zen4");
    assert_string_equal(note.text, "\"AMD EPYC X\" (family 25 model 99) is in "
                                   "no event set; using zen4, as LIKWID calls "
                                   "it");
    assert_string_equal(chosen(intel, 6, 207, "Xeon", "unknown", &note),
                        "none");
    assert_string_equal(chosen(intel, 21, 2, "", "", &note), "none");
    struct events_cpu cpu = {intel, 6, 207, "Xeon Z", ""};
    assert_null(events_choose(".", &cpu, &note, &err));
    assert_int_equal(errno, ENOENT);
    assert_string_equal(err.text, "no event set in . for \"Xeon Z\" "
                                  "(GenuineIntel family 6 model 207)");
    assert_null(events_choose("nonesuch", &cpu, &note, &err));
    assert_int_equal(errno, ENOENT);
}

/* One bad file does not spoil the others; it is told. */
static void a_bad_file_among_good(void **state)
{
    struct events_cpu cpu = {"GenuineIntel", 6, 2, "Xeon", ""};
    struct errtext note, err = {""};

    (void)state;
    write_file("", SET, METRIC("cycles", "FIX", "cycles", "cpu"));
    assert_int_equal(rename("x.json", "a.json"), 0);
    write_file("", SET, CYCLES);
    struct events *e = events_choose(".", &cpu, &note, &err);
    assert_non_null(e);
    assert_string_equal(note.text, "./a.json: metrics.cycles.formula: \"FIX\": "
                                   "no such counter or variable");
    events_free(e);
}

UNIT(test_events)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file),          cmocka_unit_test(refused_sets),
        cmocka_unit_test(refused_metrics), cmocka_unit_test(shipped_files),
        cmocka_unit_test(choice),
        cmocka_unit_test(a_bad_file_among_good),
    };

    return cmocka_run_group_tests_name("test_events", tests, setup, teardown);
}
