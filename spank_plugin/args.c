/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Arguments of plugstack.conf and the option --coschedule. */

#include <stdio.h>
#include <string.h>

#include "protocol/options.h"
#include "spank_plugin/plugin.h"

#define OPTION_USAGE                                                           \
    "[cosched] share a node with other such jobs; OPTIONS: a policy "          \
    "(nupoco, greedy, equal) or key=value (policy, ults, min_cores, "          \
    "max_cores), comma separated"

static int take_option(int val, const char *value, int remote);

struct spank_option plugin_option = {
    .name = "coschedule",
    .arginfo = "OPTIONS",
    .usage = OPTION_USAGE,
    .has_arg = 2, /* optional */
    .val = 0,
    .cb = take_option,
};

/* Slurm calls this twice in a step's daemon, and for "#SBATCH" lines; the last
 * value counts, as with Slurm's own options. */
static int take_option(int val, const char *value, int remote)
{
    struct job_options options;
    struct errtext err;

    (void)val;
    if (!value || strcmp(value, "(null)") == 0)
        value = "";
    if (strlen(value) >= sizeof(plugin.value) ||
        job_options_parse(&options, value, &err) < 0) {
        if (remote) /* checked at submission; a job is never lost here */
            return 0;
        if (strlen(value) >= sizeof(plugin.value))
            snprintf(err.text, sizeof(err.text), "longer than %zu bytes",
                     sizeof(plugin.value) - 1);
        slurm_error("cosched: --coschedule=%.80s: %s", value, err.text);
        return -1;
    }
    plugin.requested = true;
    strcpy(plugin.value, value);
    return 0;
}

void plugin_args(int ac, char **av)
{
    const struct {
        const char *key;
        char *field;
        size_t size;
    } args[] = {
        {"socket=", plugin.socket, sizeof(plugin.socket)},
        {"libgomp=", plugin.libgomp, sizeof(plugin.libgomp)},
        {"munge=", plugin.munge, sizeof(plugin.munge)},
    };

    strcpy(plugin.libgomp, COSCHED_LIBGOMPDIR);
    for (int i = 0; i < ac; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof(args) / sizeof(args[0]); k++) {
            size_t length = strlen(args[k].key);
            if (strncmp(av[i], args[k].key, length) != 0)
                continue;
            known = true;
            if (strlen(av[i] + length) < args[k].size)
                strcpy(args[k].field, av[i] + length);
            else
                slurm_error("cosched: plugstack.conf: %.40s...: too long",
                            av[i]);
        }
        if (!known)
            slurm_error("cosched: plugstack.conf: %.80s: unknown, one of "
                        "socket=, libgomp=, munge=", av[i]);
    }
}
