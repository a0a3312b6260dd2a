/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Names of the methods for several classes. */

#include "coschedmodel/method.h"

#include <string.h>

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
