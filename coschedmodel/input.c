/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the commands read, and how far they are. */

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coschedmodel/command.h"

int fail_model(const char *file, enum model_status status)
{
    static const char *const texts[] = {
        "", "a value is out of range", "out of memory",
        "the data cannot tell", "no convergence",
    };

    return fail(EXIT_REFUSED, "%s: %s", file, texts[-status]);
}

json_t *load_input(const struct arguments *arguments,
                   struct json_reader *reader, struct errtext *err)
{
    json_t *root;

    *reader = (struct json_reader){.err = err};
    root = json_reader_load(reader, arguments->file);
    if (!root)
        fail(EXIT_REFUSED, "%s", err->text);
    else if (arguments->file[0] == '-')
        reader->file = "standard input";
    return root;
}

struct machine_description *load_machine(const struct arguments *arguments,
                                         struct json_reader *reader,
                                         const json_t *object)
{
    const json_t *value = json_object_get(object, "machine");
    struct machine_description *d = NULL;

    if (arguments->machine) {
        d = machine_json_find(arguments->machine, reader->err);
    } else if (json_is_object(value)) {
        size_t mark = json_reader_enter(reader, "machine");
        d = machine_json_read(reader, value);
        json_reader_leave(reader, mark);
    } else if (!value) {
        json_reader_fail(reader, "machine", "is missing, and there is no "
                         "--machine");
    } else if (!json_is_string(value)) {
        json_reader_fail(reader, "machine", "must be a name or an object");
    } else {
        d = machine_json_find(json_string_value(value), reader->err);
    }
    if (!d)
        fail(EXIT_REFUSED, "%s", reader->err->text);
    return d;
}

int method_choose(const struct arguments *arguments,
                  struct json_reader *reader, const json_t *object,
                  enum mva_method *method, bool *closed)
{
    static const char *const names[] = {
        [MVA_AUTOMATIC] = "automatic", [MVA_EXACT] = "exact",
        [MVA_APPROXIMATE] = "approximate", [MVA_AVERAGE] = "average",
        [MVA_LINEARIZER] = "linearizer",
    };
    const char *name = arguments->method;

    *method = MVA_AUTOMATIC;
    if (!name &&
        json_reader_string(reader, object, "method", true, &name) < 0)
        return fail(EXIT_REFUSED, "%s", reader->err->text);
    if (!name)
        return EXIT_DONE;
    if (closed && strcmp(name, "closed") == 0) {
        *closed = true;
        return EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0) {
            *method = (enum mva_method)i;
            return EXIT_DONE;
        }
    return fail(arguments->method ? EXIT_USAGE : EXIT_REFUSED,
                "%s%s: unknown method, one of automatic, exact, approximate, "
                "average, linearizer%s",
                arguments->method ? "--method=" : "method: ", name,
                closed ? ", closed" : "");
}
