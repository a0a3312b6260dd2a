/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: machine descriptions and loop profiles.
 *
 * What is read must be a valid machine or loop and survive being written and
 * read again; what is refused must say why in one line. */

#include "tests/fuzz/fuzz.h"

#include "model/io/loop_json.h"
#include "model/io/machine_json.h"

/* A refusal begins with the file. */
static void check_refusal(const struct errtext *err)
{
    REQUIRE(errno == EINVAL);
    fuzz_refused(err);
    REQUIRE(strncmp(err->text, "fuzz", 4) == 0);
}

static void as_machine(struct json_reader *reader, const json_t *root)
{
    struct machine_description *d = machine_json_read(reader, root);

    if (!d) {
        check_refusal(reader->err);
        return;
    }
    const struct machine *m = d->machine;
    REQUIRE(machine_check(m) == MODEL_OK);
    /* Where there are links each remote memory is reached by some. */
    for (size_t i = 0; m->links && i < m->llc_domains; i++)
        for (size_t j = 0; j < m->numa_nodes; j++)
            REQUIRE((m->route[i * m->numa_nodes + j].links > 0) >=
                    ((int)j != m->local_node[i]));
    json_t *text = machine_json_write(d);
    REQUIRE(text != NULL);
    struct machine_description *again = machine_json_read(reader, text);
    REQUIRE(again && again->machine->cpus == m->cpus &&
            again->machine->links == m->links);
    json_t *same = machine_json_write(again);
    REQUIRE(json_equal(text, same));
    json_decref(same);
    json_decref(text);
    machine_description_free(again);
    machine_description_free(d);
}

static void as_loop(struct json_reader *reader, const json_t *root)
{
    struct loop *loop = loop_json_read(reader, root, 2, 2);

    if (!loop) {
        check_refusal(reader->err);
        return;
    }
    REQUIRE(loop_check(loop, NULL) == MODEL_OK);
    loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errtext err = {""};
    struct json_reader reader = {.file = "fuzz", .err = &err};
    json_t *root = json_reader_parse(&reader, (const char *)data, size);

    if (!root) {
        check_refusal(&err);
        return 0;
    }
    as_machine(&reader, root);
    reader.path[0] = '\0';
    as_loop(&reader, root);
    json_decref(root);
    return 0;
}
