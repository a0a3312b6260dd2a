/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the command lines of coschedmodel and coschedsim share. */

#include "config.h"

#include "coschedmodel/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fail(int status, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "%s: ", cli_program);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return status;
}

int cli_bad_option(const char *command, const struct option *options,
                   int result, char **argv)
{
    if (optopt == 0)
        return fail(EXIT_USAGE, "%s: %s: unknown option", command,
                    argv[optind - 1]);
    for (const struct option *o = options; o->name; o++)
        if (o->val == optopt)
            return fail(EXIT_USAGE, "%s: --%s: %s", command, o->name,
                        result == ':' ? "needs a value" : "takes no value");
    return fail(EXIT_USAGE, "%s: -%c: unknown option", command, optopt);
}

int cli_finish(int status)
{
    if (status == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout)))
        status = fail(EXIT_REFUSED, "standard output: %s", strerror(errno));
    return status;
}

struct machine_description *find_machine(const char *name, struct errtext *err)
{
    const char *directory = getenv("COSCHED_MACHINES");
    char path[4096];
    struct machine_description *d = machine_json_load(name, err);

    if (d || errno != ENOENT || strchr(name, '/'))
        return d;
    if (!directory)
        directory = COSCHED_MACHINESDIR;
    snprintf(path, sizeof(path), "%s/%s.json", directory, name);
    if (access(path, F_OK) == 0)
        return machine_json_load(path, err);
    errtext_set(err, ENOENT, "%s: neither a file nor a machine of %s", name,
                directory);
    return NULL;
}
