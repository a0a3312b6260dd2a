/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel machine: show or check a description. */

#include <string.h>

#include "coschedmodel/output.h"

static int show(const struct machine_description *d)
{
    json_t *value = machine_json_write(d);

    if (!value)
        return fail(EXIT_REFUSED, "out of memory");
    output_json(value);
    json_decref(value);
    return EXIT_DONE;
}

int command_machine(const struct arguments *arguments)
{
    struct errtext err = {""};
    int status = EXIT_DONE;

    if (!arguments->action)
        return fail(EXIT_USAGE, "machine: needs show or check");
    bool check = strcmp(arguments->action, "check") == 0;
    if (!check && strcmp(arguments->action, "show") != 0)
        return fail(EXIT_USAGE, "machine: %s: not show or check",
                    arguments->action);
    struct machine_description *d = machine_json_find(arguments->file, &err);
    if (!d)
        return fail(EXIT_REFUSED, "%s", err.text);
    if (!check)
        status = show(d);
    machine_description_free(d);
    return status;
}
