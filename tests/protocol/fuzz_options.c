/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: texts of users, administrators and slurm.conf.
 *
 * The first line is such a text; the second and third are what goes with it
 * (the defaults, the partitions of a node). */

#include "tests/fuzz/fuzz.h"

#include "protocol/cpulist.h"
#include "protocol/follow.h"
#include "protocol/job_defaults.h"
#include "protocol/job_library.h"
#include "protocol/options.h"

static void as_cpulist(const char *text)
{
    struct cosched_cpuset set, again;
    struct errtext err = {""};
    char formatted[4096];

    if (cpulist_parse(text, &set, &err) < 0) {
        REQUIRE(errno == EINVAL || errno == ERANGE);
        fuzz_refused(&err);
        return;
    }
    cpulist_format(&set, formatted, sizeof(formatted));
    REQUIRE(cpulist_parse(formatted, &again, &err) == 0 &&
            cpuset_equal(&set, &again));
}

static void as_job_options(const char *text, const char *defaults)
{
    struct job_options job;
    struct errtext err = {""};
    char complete[1024];

    if (job_options_parse(&job, text, &err) < 0) {
        REQUIRE(errno == EINVAL);
        fuzz_refused(&err);
        return;
    }
    REQUIRE(job.ults >= 0 && job.ults <= 64 && job.min_cores >= 0);
    REQUIRE(!job.max_cores || job.min_cores <= job.max_cores);
    if (job_options_parse(&job, defaults, NULL) < 0)
        return;
    if (job_defaults_complete(text, defaults, complete, sizeof(complete),
                              &err) == 0)
        REQUIRE(job_options_parse(&job, complete, &err) == 0);
    else
        fuzz_refused(&err);
}

/* What was set can be typed, and is then the same. */
static void typed_again(const struct node_options *node,
                        const struct node_origins *origins)
{
    char value[OPTIONS_TEXT_MAX], entry[OPTIONS_TEXT_MAX + 64],
        same[OPTIONS_TEXT_MAX];
    struct node_options again;
    struct errtext err = {""};

    for (size_t i = 0; i < node_option_count(); i++) {
        if (origins->option[i].source == OPTION_DEFAULT)
            continue;
        node_option_value(node, i, value, sizeof(value));
        if (!*value)
            continue;
        snprintf(entry, sizeof(entry), "cosched_%s=%s", node_option_name(i),
                 value);
        REQUIRE(node_options_parse(&again, entry, &err) == 0);
        REQUIRE(
            !strcmp(value, node_option_value(&again, i, same, sizeof(same))));
    }
}

static void as_node_options(const char *text, const char *mine,
                            const char *others)
{
    static struct node_origins origins;
    struct node_options node;
    struct node_problems problems = {0};
    struct errtext err = {""};

    if (node_options_parse(&node, text, &err) == 0) {
        REQUIRE(node.epoch_ns >= 10000000 && node.lease_ns >= 200000000);
    } else {
        REQUIRE(errno == EINVAL);
        fuzz_refused(&err);
    }
    memset(&origins, 0, sizeof(origins));
    node_options_init(&node);
    node_options_apply(&node, &origins, OPTION_SLURM_CONF, text, mine, others,
                       &problems);
    REQUIRE(strlen(problems.text) < sizeof(problems.text));
    REQUIRE(!problems.count == !problems.text[0]);
    typed_again(&node, &origins);
}

/* Our entry is there once, and goes again. */
static void as_library_path(const char *old)
{
    char added[4096], more[4096];

    for (size_t i = 0; job_library_variables[i]; i++) {
        int rc = job_library_value(i, "/usr/lib/cosched", old, true, added,
                                   sizeof(added));
        if (rc < 0)
            continue;
        const char *now = rc ? old : added;
        REQUIRE(job_library_value(i, "/usr/lib/cosched", now, true, more,
                                  sizeof(more)) == 1);
        REQUIRE(job_library_value(i, "/usr/lib/cosched", now, false, more,
                                  sizeof(more)) == 0);
        REQUIRE(strlen(more) < strlen(now));
    }
}

static void as_detail(const char *text)
{
    struct follow_finding finding = {.probably = strlen(text) % 2};
    char line[FOLLOW_TEXT_MAX];

    follow_find(text);
    follow_set_detail(&finding, text);
    REQUIRE(strlen(finding.detail) < FOLLOW_DETAIL_MAX);
    for (const char *c = finding.detail; *c; c++)
        REQUIRE(*c >= ' ' && *c <= '~');
    for (int word = 0; word < FOLLOW_WORDS; word++) {
        finding.word = (enum follow)word;
        REQUIRE(strlen(follow_sentence(&finding, line)) < sizeof(line));
        REQUIRE(strlen(follow_advice(&finding, line)) < sizeof(line));
        REQUIRE(follow_find(follow_word(finding.word)) == word);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text;
    const char *first = strsep(&rest, "\n"), *second = strsep(&rest, "\n");
    uint64_t ns = 0;

    as_cpulist(first);
    as_job_options(first, second ? second : "");
    as_node_options(first, second, rest);
    as_library_path(first);
    as_detail(first);
    if (duration_parse(first, &ns) == 0)
        REQUIRE(ns <= UINT64_C(9000000000000000000));
    else
        REQUIRE(errno == EINVAL || errno == ERANGE);
    free(text);
    return 0;
}
