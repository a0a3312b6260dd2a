/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* libFuzzer: readers of machine descriptions and loop profiles.
 *
 * What is read must be a valid machine or loop and survive being written and
 * read again; what is refused must say why in one line. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/io/loop_json.h"
#include "model/io/machine_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

/* A refusal is complete: errno, and one line that begins with the file. */
static void check_refusal(const struct errtext *err)
{
    require(errno == EINVAL);
    require(strncmp(err->text, "fuzz", 4) == 0 && !strchr(err->text, '\n'));
}

static void fuzz_machine(struct json_reader *reader, const json_t *root)
{
    struct machine_description *d = machine_json_read(reader, root);

    if (!d) {
        check_refusal(reader->err);
        return;
    }
    const struct machine *m = d->machine;
    require(machine_check(m) == MODEL_OK);
    /* Where there are links each remote memory is reached by some. */
    for (size_t i = 0; m->links && i < m->llc_domains; i++)
        for (size_t j = 0; j < m->numa_nodes; j++)
            require((m->route[i * m->numa_nodes + j].links > 0) >=
                    ((int)j != m->local_node[i]));
    json_t *text = machine_json_write(d);
    require(text != NULL);
    struct machine_description *again = machine_json_read(reader, text);
    require(again && again->machine->cpus == m->cpus &&
            again->machine->links == m->links);
    json_t *same = machine_json_write(again);
    require(json_equal(text, same));
    json_decref(same);
    json_decref(text);
    machine_description_free(again);
    machine_description_free(d);
}

static void fuzz_loop(struct json_reader *reader, const json_t *root)
{
    struct loop *loop = loop_json_read(reader, root, 2, 2);

    if (!loop) {
        check_refusal(reader->err);
        return;
    }
    require(loop_check(loop, NULL) == MODEL_OK);
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
    fuzz_machine(&reader, root);
    reader.path[0] = '\0';
    fuzz_loop(&reader, root);
    json_decref(root);
    return 0;
}
