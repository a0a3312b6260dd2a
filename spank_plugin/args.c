/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Arguments of plugstack.conf and the option --coschedule. */

#include <stdio.h>
#include <string.h>

#include "protocol/options.h"
#include "spank_plugin/plugin.h"

static int take_option(int val, const char *value, int remote);

static char usage[512]; /* filled by plugin_args() */

struct spank_option plugin_option = {
    .name = "coschedule",
    .arginfo = "OPTIONS",
    .usage = usage,
    .has_arg = 2, /* optional */
    .val = 0,
    .cb = take_option,
};

void plugin_accept(const char *value)
{
    struct job_options options;

    plugin.requested = true;
    plugin.value[0] = '\0';
    if (value && strcmp(value, "(null)") != 0 &&
        strlen(value) < sizeof(plugin.value) &&
        job_options_parse(&options, value, NULL) == 0)
        strcpy(plugin.value, value);
}

/* Slurm calls this twice in a step's daemon, and for "#SBATCH" lines; the last
 * value counts, as with Slurm's own options. */
static int take_option(int val, const char *value, int remote)
{
    struct job_options options;
    struct errtext err;
    int rc = 0;

    (void)val;
    if (!remote && value && strlen(value) >= sizeof(plugin.value))
        rc = errtext_set(&err, EINVAL, "longer than %zu bytes",
                         sizeof(plugin.value) - 1);
    else if (!remote)
        rc = job_options_parse(&options, value, &err);
    if (rc < 0)
        slurm_error("cosched: --coschedule=%.80s: %s", value, err.text);
    else
        plugin_accept(value);
    return rc;
}

/* Where what is wrong with plugstack.conf is told: in the logs of the daemons.
 * Users of other jobs see it only when they ask with -v. */
static void complain(const char *arg, const char *what)
{
    if (spank_context() == S_CTX_ALLOCATOR || spank_context() == S_CTX_LOCAL)
        slurm_verbose("cosched: plugstack.conf: %.80s: %s", arg, what);
    else
        slurm_error("cosched: plugstack.conf: %.80s: %s", arg, what);
}

/* What --help says, with the names of the policies. */
static void write_usage(void)
{
    size_t used = (size_t)snprintf(usage, sizeof(usage),
                                   "[cosched] share a node with other such "
                                   "jobs; OPTIONS: a policy (");

    for (const char *const *p = options_policies; *p && used < sizeof(usage);
         p++)
        used += (size_t)snprintf(usage + used, sizeof(usage) - used, "%s%s", *p,
                                 p[1] ? ", " : ") or key=value (policy, ults, "
                                               "min_cores, max_cores), comma "
                                               "separated");
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

    write_usage();
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
                complain(av[i], "too long");
        }
        if (!known)
            complain(av[i], "unknown, none of socket=, libgomp=, munge=");
    }
}
