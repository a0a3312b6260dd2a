/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: requests, from anyone who can connect. */

#include "tests/fuzz/fuzz.h"

#include "protocol/message.h"

/* Texts are cleaned on the way out: the same, once they are clean. */
static void clean(struct message_request *r)
{
    errtext_clean(r->name);
    errtext_clean(r->cores);
    errtext_clean(r->options);
    errtext_clean(r->dir);
    errtext_clean(r->reason);
    errtext_clean(r->mode);
    errtext_clean(r->why);
}

/* What was decoded can be sent, and is then the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct message_request request, again;
    struct errtext err = {""};
    char *text = fuzz_text(data, size);

    if (message_decode(text, size, &request, &err) < 0) {
        fuzz_refused(&err);
        free(text);
        return 0;
    }
    free(text);
    char *encoded = message_encode(&request, &err);
    REQUIRE(encoded &&
            message_decode(encoded, strlen(encoded), &again, &err) == 0);
    free(encoded);
    clean(&request);
    REQUIRE(request.op == again.op && request.job == again.job);
    REQUIRE(request.uid == again.uid && request.pid == again.pid);
    REQUIRE(request.step == again.step && request.restarts == again.restarts);
    REQUIRE(request.node == again.node && request.memory_mb == again.memory_mb);
    REQUIRE(request.threads == again.threads && request.layout == again.layout);
    REQUIRE(!strcmp(request.name, again.name) &&
            !strcmp(request.cores, again.cores));
    REQUIRE(!strcmp(request.options, again.options) &&
            !strcmp(request.dir, again.dir));
    REQUIRE(!strcmp(request.reason, again.reason) &&
            !strcmp(request.mode, again.mode));
    REQUIRE(!strcmp(request.why, again.why));
    return 0;
}
