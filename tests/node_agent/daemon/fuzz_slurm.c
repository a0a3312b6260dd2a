/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: what the helpers with libslurm write, in pieces of any length,
 * and what the agent makes of it. */

#include "tests/fuzz/fuzz.h"

#include <fcntl.h>

#include "node_agent/daemon/slurm_link.c"

#include "node_agent/core/history.h"

static void on_config(void *arg, const struct slurm_says *says)
{
    static struct node_config config;
    char value[OPTIONS_TEXT_MAX], origin[96];

    (void)arg;
    node_config_make(&config, says, "cosched_slice=1s");
    REQUIRE(config.options.slice_ns == 1000000000);
    REQUIRE(config.options.epoch_ns >= 10000000);
    for (size_t i = 0; i < node_option_count(); i++) {
        node_option_value(&config.options, i, value, sizeof(value));
        node_config_origin(&config, i, origin, sizeof(origin));
    }
}

static void on_absent(void *arg, const char *error)
{
    (void)arg;
    REQUIRE(!error || strlen(error) < LINE_MAX_BYTES);
}

static void on_failed(void *arg, uint32_t job, uint64_t end_s,
                      const char *error)
{
    (void)arg;
    (void)job;
    (void)end_s;
    REQUIRE(error && strlen(error) < LINE_MAX_BYTES);
}

static void on_kept(void *arg, uint32_t job, uint64_t end_s)
{
    (void)arg;
    (void)job;
    (void)end_s;
}

static void on_trouble(void *arg, const char *event, uint32_t count,
                       const char *error)
{
    (void)arg;
    (void)count;
    REQUIRE(event && *event && error);
}

static void on_job(void *arg, uint32_t job, const char *comment)
{
    struct history h;
    struct errtext err = {""};

    (void)arg;
    (void)job;
    history_parse(&h, comment, &err);
}

static void on_ready(void *arg)
{
    (void)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Both helpers' at once. */
    static const struct slurm_link_handler handler = {.config = on_config,
                                                      .absent = on_absent,
                                                      .job = on_job,
                                                      .failed = on_failed,
                                                      .kept = on_kept,
                                                      .recorded = on_kept,
                                                      .trouble = on_trouble,
                                                      .ready = on_ready};
    static struct slurm_link link;
    static int line[2] = {-1, -1};
    struct fuzz_bytes all = {data, size};
    char program[] = "helper";

    if (line[0] < 0) {
        REQUIRE(pipe2(line, O_NONBLOCK | O_CLOEXEC) == 0);
        log_open(LOG_CRIT, false);
    }
    link = (struct slurm_link){
        .handler = &handler, .to = -1, .from = line[0], .program = program};
    while (all.size) {
        size_t piece = (size_t)fuzz_take_byte(&all) * 8 + 1;
        piece = piece < all.size ? piece : all.size;
        REQUIRE(write(line[1], all.data, piece) == (ssize_t)piece);
        all.data += piece;
        all.size -= piece;
        on_output(NULL, line[0], EPOLLIN, &link);
        REQUIRE(link.used < sizeof(link.line));
    }
    return 0;
}
