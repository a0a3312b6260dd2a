/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: AdminComments, and the names that processes give themselves in
 * records.
 *
 * The first line is an AdminComment, the second a program's path, the third a
 * detail of how the program follows. */

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "node_agent/core/history.h"

static bool within(double value, double low, double high)
{
    return isnan(value) || (value >= low && value <= high);
}

static void check_history(const struct history *h)
{
    REQUIRE(within(h->done_s, 1e-3, 1e12) && within(h->done_spread, 0, 1e6));
    REQUIRE(within(h->steps, 1, 1e15) && within(h->steps_spread, 0, 1e6));
    REQUIRE(within(h->rho, 0, 1e3) && within(h->alone_s, 1e-3, 1e12));
    REQUIRE(h->weight == 0 || within(h->weight, 0.1, 10));
    REQUIRE(strlen(h->program) < sizeof(h->program) &&
            !strchr(h->program, ' '));
}

/* A line of words, of which no name can have made one. */
static void check_record(const char *text, const struct record *r)
{
    static const char *const once[] = {
        " state=", " policy=", " program=", " follow=",
        " class=", " work_s=", " attached="};
    char end[8] = "";

    REQUIRE(strlen(text) < RECORD_TEXT_MAX && !strncmp(text, "cosched/1 ", 10));
    for (const char *c = text; *c; c++)
        REQUIRE(*c >= ' ' && *c <= '~');
    for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++) {
        const char *first = strstr(text, once[i]);
        REQUIRE(!first || !strstr(first + 1, once[i]));
    }
    if (r->program[0])
        REQUIRE(sscanf(strstr(text, " program="), " program=%7s", end) == 1);
}

static void as_record(const struct history *h, const char *program,
                      const char *detail)
{
    struct record r = {.policy = "corun",
                       .attached = true,
                       .live_ns = 1000000000,
                       .granted = 16,
                       .profiled = true,
                       .rho = 0.2,
                       .parallel_s = 0.9,
                       .work_s = 9,
                       .done_s = 1,
                       .total.steps = 12,
                       .total.barriers = 1e4};
    struct follow_finding finding = {.word = FOLLOW_STATIC};
    char text[RECORD_TEXT_MAX];

    record_set_program(&r, program);
    follow_set_detail(&finding, detail);
    record_set_follow(&r, &finding);
    record_format(&r, "final", text);
    check_record(text, &r);
    struct history believed = *h;
    history_check(&believed, &r);
    double expected = history_expected(&believed, &r);
    REQUIRE(expected >= 0 && isfinite(expected));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text;
    const char *comment = strsep(&rest, "\n"), *program = strsep(&rest, "\n");
    struct history h;
    struct errtext err = {""};

    if (history_parse(&h, comment, &err) == 0) {
        REQUIRE(h.known == (h.runs > 0));
    } else {
        REQUIRE(!h.known && (errno == ENODATA || errno == EINVAL));
        if (errno == EINVAL)
            fuzz_refused(&err);
    }
    check_history(&h);
    as_record(&h, program ? program : "", rest ? rest : "");
    free(text);
    return 0;
}
