/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: everything that parses text of others.  `make fuzz`. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/cpulist.h"
#include "protocol/message.h"
#include "protocol/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* What was decoded can be sent, and is then the same. */
static void fuzz_message(const char *text, size_t size)
{
    struct message_request request, again;
    struct errtext err = {""};

    if (message_decode(text, size, &request, &err) < 0) {
        require(errno && err.text[0] && !strchr(err.text, '\n'));
        return;
    }
    char *encoded = message_encode(&request, &err);
    require(encoded &&
            message_decode(encoded, strlen(encoded), &again, &err) == 0);
    /* Texts are cleaned on the way out: the same, once they are clean. */
    errtext_clean(request.name);
    errtext_clean(request.cores);
    errtext_clean(request.options);
    require(request.op == again.op && request.job == again.job &&
            request.pid == again.pid && request.step == again.step &&
            request.memory_mb == again.memory_mb &&
            strcmp(request.name, again.name) == 0 &&
            strcmp(request.cores, again.cores) == 0 &&
            strcmp(request.options, again.options) == 0);
    free(encoded);
}

static void fuzz_cpulist(const char *text)
{
    struct cosched_cpuset set, again;
    struct errtext err = {""};
    char formatted[4096];

    if (cpulist_parse(text, &set, &err) < 0) {
        require((errno == EINVAL || errno == ERANGE) && err.text[0]);
        return;
    }
    cpulist_format(&set, formatted, sizeof(formatted));
    require(cpulist_parse(formatted, &again, &err) == 0 &&
            cpuset_equal(&set, &again));
}

static void fuzz_options(const char *text)
{
    struct job_options job;
    struct node_options node;
    struct errtext err = {""};
    uint64_t ns = 0;

    if (job_options_parse(&job, text, &err) == 0)
        require(job.ults >= 0 && job.ults <= 64 && job.min_cores >= 0 &&
                (!job.max_cores || job.min_cores <= job.max_cores));
    else
        require(errno == EINVAL && err.text[0] && !strchr(err.text, '\n'));
    if (node_options_parse(&node, text, &err) == 0)
        require(node.epoch_ns >= 10000000 && node.lease_ns >= 200000000);
    else
        require(errno == EINVAL);
    if (duration_parse(text, &ns) == 0)
        require(ns <= UINT64_C(9000000000000000000));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    require(text != NULL);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    fuzz_message(text, size);
    fuzz_cpulist(text);
    fuzz_options(text);
    free(text);
    return 0;
}
