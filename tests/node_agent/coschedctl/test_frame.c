/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What coschedctl top draws: replies in, lines of text out. */

#include "tests/support/unit.h"

#include <math.h>

#include "node_agent/coschedctl/top/frame.h"

/* common/cli.h has it, which takes cmocka's fail() for another. */
extern const char cli_program[];
const char cli_program[] = "test_frame";

/* A node of NODES NUMA nodes with DOMAINS caches each, of CORES cores. */
static json_t *config_of(int nodes, int domains, int cores)
{
    json_t *list = json_array();

    for (int d = 0; d < nodes * domains; d++)
        json_array_append_new(list, json_pack("{s:i, s:o}", "node", d / domains, "cores",
                                              json_sprintf("%d-%d", d * cores,
                                                           (d + 1) * cores - 1)));
    return json_pack("{s:o}", "domains", list);
}

static json_t *job_of(int id, const char *name, const char *cpus, int cores)
{
    return json_pack("{s:i, s:i, s:s, s:s, s:s, s:i, s:f, s:f, s:i, s:i, s:f, s:{s:f}, "
                     "s:{s:f, s:n, s:s}, s:{s:s, s:s, s:f}}",
                     "job", id, "uid", 0, "name", name, "state", "malleable", "cpus", cpus, "cores",
                     cores, "mean_cores", 2.5, "live_s", 10.0, "attached", 1, "decisions", 3,
                     "weight", 1.0, "progress", "work_s", 20.0, "speed", "predicted", 0.9375,
                     "measured", "limit", "memory", "region", "region", "0011223344556677+40",
                     "state", "known", "rho", 0.25);
}

static json_t *status_of(json_t *jobs)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:{s:f, s:[f, f], s:[]}, s:n, s:o}", "node", "n1",
                     "policy", "corun", "counters", "perf", "cpus", "0-15", "omitted", 0, "load",
                     "cores", 12.3, "controllers", 0.62, 0.05, "links", "drained", "jobs", jobs);
}

static json_t *explain_of(const char *text)
{
    return json_pack("{s:[{s:f, s:s, s:s}]}", "decisions", "time", 1.0, "trigger",
                     "a region that changed", "text", text);
}

struct stage {
    struct region_names *names;
    struct top_state *state;
    struct top_view view;
    struct top_frame *frame;
    char *text;
};

/* A state of CONFIG and JOBS, which are taken. */
static void show(struct stage *s, json_t *config, json_t *jobs, const char *reason)
{
    json_t *status = status_of(jobs), *explain = explain_of(reason);
    struct top_state *next = top_state_new(status, explain, config, s->names, s->state, 0);

    assert_non_null(next);
    top_state_free(s->state);
    s->state = next;
    json_decref(status);
    json_decref(explain);
    json_decref(config);
}

static const char *draw(struct stage *s, size_t rows, size_t columns)
{
    top_frame_free(s->frame);
    free(s->text);
    s->frame = top_frame_new(s->state, &s->view, rows, columns);
    assert_non_null(s->frame);
    s->text = top_frame_text(s->frame);
    assert_non_null(s->text);
    return s->text;
}

static int set_up(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));

    s->names = region_names_new();
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *s = *state;

    top_frame_free(s->frame);
    free(s->text);
    top_state_free(s->state);
    region_names_free(s->names);
    free(s);
    return 0;
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in\n%s", part, text);
}

static void test_whole(void **state)
{
    struct stage *s = *state;

    show(s, config_of(2, 2, 4),
         json_pack("[o, o]", job_of(812, "cg", "0-5", 6), job_of(90, "ep", "8-15", 8)), "why not");
    s->view.selected = 812;
    const char *text = draw(s, 24, 120);
    expect(text, "coschedule  n1  16 cores, 2 jobs  corun");
    expect(text, "by the model: 12.3 cores compute, busiest memory 62 %; counters perf");
    expect(text, "N0   62% |aaaa|aa..|");
    expect(text, "N1    5% |bbbb|bbbb|");
    expect(text, "       JOB NAME       USER     STATE     CORES SHR% EFF% MEM% PRED MEAS LIMIT   "
                 "REGION");
    /* 20 of 25 core-seconds; by rho 0.25, 6 cores use 88 % of the memory. */
    expect(text, "b       90 ep         root     malleable     8");
    expect(text, "a      812 cg         root     malleable     6   38   80   88 0.94    - ");
    expect(text, " memory  0011223344556677+40");
    expect(text, "job 812 cg of root, malleable: 0011223344556677+40 (known, rho 0.25)");
    expect(text, "6 cores, 2.5 on average in 10 s; speed 0.94 predicted, - measured; 1 processes");
    expect(text, "a region that changed: why not");
    /* Cells know their job and colour. */
    const struct top_cell *cell = &s->frame->cell[2 * 120 + 10];
    assert_string_equal(cell->text, "a");
    assert_int_equal(cell->job, 812);
    assert_true(cell->reverse && cell->bold && cell->colour == 1);
}

/* Every window: no cell outside, and the most important things where they fit. */
static void test_sizes(void **state)
{
    struct stage *s = *state;

    show(s, config_of(8, 2, 8), json_pack("[o]", job_of(7, "x", "0-127", 128)), "r");
    for (size_t rows = 1; rows < 50; rows++)
        for (size_t columns = 1; columns < 150; columns += columns < 90 ? 1 : 7) {
            draw(s, rows, columns);
            s->view.help = rows % 2;
        }
    s->view.help = false;
    expect(draw(s, 5, 80), "too small");
    const char *text = draw(s, 24, 80);
    /* All 128 cores on 80 x 24. */
    size_t cores = 0;
    for (const char *p = strchr(text, '|'); *p && *p != 'J'; p++)
        cores += *p == 'a';
    assert_int_equal(cores, 128);
    expect(text, "\na        7 x ");
    text = draw(s, 24, 40);
    expect(text, "       JOB CORES LIMIT");
    expect(text, "a        7   128 memory");
    show(s, config_of(8, 4, 8), json_pack("[o]", job_of(7, "x", "0-255", 256)), "r");
    text = draw(s, 40, 120);
    cores = 0;
    for (const char *p = strchr(text, '|'); *p && *p != 'J'; p++)
        cores += *p == 'a';
    assert_int_equal(cores, 256);
    /* More than fit. */
    show(s, config_of(64, 1, 16), json_pack("[o]", job_of(7, "x", "0-1023", 1024)), "r");
    text = draw(s, 24, 40);
    expect(text, "more cores than fit");
    expect(text, "a        7  1024");
}

/* Letters and colours stay with their jobs, and free ones are used again. */
static void test_slots(void **state)
{
    struct stage *s = *state;

    show(s, config_of(1, 1, 4),
         json_pack("[o, o, o]", job_of(1, "x", "0", 1), job_of(2, "x", "1", 1),
                   job_of(3, "x", "2", 1)), "r");
    expect(draw(s, 24, 80), "|abc.|");
    show(s, config_of(1, 1, 4), json_pack("[o, o]", job_of(2, "x", "0-1", 2),
                                          job_of(3, "x", "2", 1)), "r");
    expect(draw(s, 24, 80), "|bbc.|");
    show(s, config_of(1, 1, 4), json_pack("[o, o, o]", job_of(9, "x", "2-3", 2),
                                          job_of(2, "x", "0-1", 2), job_of(3, "x", "2", 1)), "r");
    expect(draw(s, 24, 80), "|bb+a|");
    /* One that has ended stays selected, and is said to have. */
    s->view.selected = 1;
    expect(draw(s, 24, 80), "job 1 has ended");
}

/* Efficiency is that of the last second, not of the job's life. */
static void test_efficiency(void **state)
{
    struct stage *s = *state;
    json_t *job = job_of(1, "x", "0-3", 4);

    show(s, config_of(1, 1, 4), json_pack("[O]", job), "r");
    json_object_set_new(job, "live_s", json_real(11));
    json_object_set_new(job, "mean_cores", json_real((2.5 * 10 + 4) / 11));
    json_object_set_new(json_object_get(job, "progress"), "work_s", json_real(21));
    show(s, config_of(1, 1, 4), json_pack("[o]", job), "r");
    assert_true(fabs(s->state->job[0].efficiency - 0.25) < 1e-9);
}

static void press(struct stage *s, const char *keys)
{
    for (; *keys; keys++)
        top_view_key(&s->view, s->state, *keys, s->frame ? s->frame->page : 1);
}

static void test_keys(void **state)
{
    struct stage *s = *state;
    json_t *jobs = json_array();

    for (int i = 1; i <= 30; i++) {
        char name[16];
        snprintf(name, sizeof(name), "j%02d", (i * 7) % 31);
        json_array_append_new(jobs, job_of(i, name, "", 31 - i));
    }
    show(s, config_of(1, 1, 4), jobs, "r");
    draw(s, 24, 80);
    press(s, "jj");
    assert_int_equal(s->view.selected, 2);
    press(s, "kkk");
    assert_int_equal(s->view.selected, 1);
    top_view_key(&s->view, s->state, TOP_END, 5);
    assert_int_equal(s->view.selected, 30);
    /* It is seen. */
    expect(draw(s, 24, 80), "      30 j24");
    press(s, "s"); /* by cores: 1 has most */
    top_view_key(&s->view, s->state, TOP_HOME, 5);
    assert_int_equal(s->view.selected, 1);
    expect(draw(s, 24, 80), "sort: cores  ");
    press(s, "r");
    top_view_key(&s->view, s->state, TOP_HOME, 5);
    assert_int_equal(s->view.selected, 30);
    press(s, "rssss");
    expect(draw(s, 24, 80), "sort: name  ");
    top_view_key(&s->view, s->state, TOP_HOME, 5);
    assert_string_equal(top_state_job(s->state, s->view.selected)->name, "j01");
    top_view_key(&s->view, s->state, TOP_PAGE_DOWN, 5);
    assert_string_equal(top_state_job(s->state, s->view.selected)->name, "j06");
    press(s, "p");
    expect(draw(s, 24, 80), "PAUSED");
    press(s, "p?");
    expect(draw(s, 24, 80), "PRED, MEAS");
    press(s, "\x1b");
    assert_true(!s->view.help && !s->view.quit && s->view.selected);
    press(s, "\x1b");
    assert_true(!s->view.selected && !s->view.quit);
    press(s, "q");
    assert_true(s->view.quit);
}

/* What jobs are called is anything; nothing of it moves what stands beside it. */
static void test_texts(void **state)
{
    struct stage *s = *state;

    show(s, config_of(1, 1, 4),
         json_pack("[o, o]", job_of(1, "\x1b[31m\n\t", "0", 1),
                   job_of(2, "\xc3\xa9\xe6\xbc\xa2\xcc\x81z", "1", 1)), "\x07 why");
    s->view.utf8 = true;
    expect(draw(s, 24, 80), "a        1 ?[31m??        1   25");
    expect(s->text, "b        2 \xc3\xa9??z           1   25");
    expect(s->text, "\xe2\x94\x82" "ab..\xe2\x94\x82");
    s->view.utf8 = false;
    for (const char *p = draw(s, 24, 80); *p; p++)
        assert_true(*p == '\n' || (*p >= ' ' && *p < 0x7f));
    expect(s->text, "b        2 ???z           1");
}

/* Replies of any shape. */
static void test_nonsense(void **state)
{
    static const char *const texts[] = {
        "{}", "[]", "null", "{\"jobs\": 3}", "{\"jobs\": [1, null, {}, []], \"load\": []}",
        "{\"jobs\": [{\"job\": -1, \"cpus\": \"x\", \"cores\": 1e300, \"region\": 1}]}",
        ("{\"domains\": [{\"node\": -5, \"cores\": \"9-1\"}, {\"node\": 1e9, \"cores\": 7}, 3],"
         "\"decisions\": [7], \"jobs\": [{\"speed\": 3}], \"load\": {\"controllers\": [\"x\"]}}"),
    };
    struct stage *s = *state;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        json_t *reply = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        struct top_state *next = top_state_new(reply, reply, reply, s->names, s->state, 1e300);
        assert_non_null(next);
        top_state_free(s->state);
        s->state = next;
        draw(s, 24, 80);
        draw(s, 12, 40);
        json_decref(reply);
    }
}

UNIT(test_frame)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_efficiency, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("test_frame", tests, NULL, NULL);
}
