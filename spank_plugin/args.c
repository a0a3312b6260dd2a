/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Arguments of plugstack.conf and the option --coschedule. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/job_defaults.h"
#include "protocol/options.h"
#include "spank_plugin/plugin.h"

static int take_option(int val, const char *value, int remote);

static char usage[1024]; /* filled by write_usage() */

struct spank_option plugin_option = {
    .name = "coschedule",
    .arginfo = "OPTIONS",
    .usage = usage,
    .has_arg = 2, /* optional */
    .val = 0,
    .cb = take_option,
};

static const char *variable(const char *name)
{
    return getenv(name);
}

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

/* A step of a running job inherits the option, and cannot change it: what its
 * script did to the environment must not stop it. */
static bool is_step(void)
{
    return spank_context() == S_CTX_LOCAL && getenv("SLURM_JOB_ID");
}

/* Complete the valid VALUE of the option by the environment's and the site's
 * defaults.  What is wrong with the environment is the user's to set right; the
 * site's defaults give way to what they contradict. */
static int complete(const char *value, struct errtext *err)
{
    const char *environment = plugin.environment;
    char both[MESSAGE_OPTIONS_MAX];
    struct errtext why;

    if (job_defaults_environment(variable, plugin.environment,
                                 sizeof(plugin.environment), err) < 0)
        return -1;
    if (job_defaults_complete(value, environment, both, sizeof(both), &why) < 0)
        return errtext_set(err, EINVAL,
                           "--coschedule%s%.60s with %.60s of the "
                           "environment's COSCHED_*: %.100s", value ? "=" : "",
                           value ? value : "", environment, why.text);
    job_defaults_complete(both, plugin.defaults, plugin.value,
                          sizeof(plugin.value), NULL);
    plugin.requested = true;
    return 0;
}

/* Slurm calls this twice in a step's daemon, and for "#SBATCH" lines; the last
 * value counts, as with Slurm's own options. */
static int take_option(int val, const char *value, int remote)
{
    struct job_options options;
    struct errtext err;
    int rc;

    (void)val;
    if (remote) {
        plugin_accept(value);
        return 0;
    }
    if (value && strlen(value) >= sizeof(plugin.value))
        rc = errtext_set(&err, EINVAL, "longer than %zu bytes",
                         sizeof(plugin.value) - 1);
    else
        rc = job_options_parse(&options, value, &err);
    if (rc < 0)
        slurm_error("cosched: --coschedule=%.80s: %s", value, err.text);
    else if (is_step())
        plugin_accept(value);
    else if ((rc = complete(value, &err)) < 0)
        slurm_error("cosched: %s", err.text);
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

static size_t add(size_t used, const char *text)
{
    return used + (size_t)snprintf(usage + used, sizeof(usage) - used, "%s",
                                   text);
}

/* What --help says, with the names of policies and keys. */
static void write_usage(void)
{
    size_t used = add(0, "[cosched] share a node with other such jobs; "
                         "OPTIONS: a policy (");
    const char *key;

    for (const char *const *p = options_policies; *p && used < 512; p++)
        used = add(add(used, p == options_policies ? "" : ", "), *p);
    used = add(used, ") or key=value (");
    for (size_t i = 0; (key = job_options_key(i)) && used < 900; i++)
        used = add(add(used, i ? ", " : ""), key);
    add(used, "), comma separated; defaults: COSCHED_POLICY, ... of the "
              "environment (man coschedule)");
}

/* The site's options, of which a bad one must not stop anybody. */
static void check_defaults(void)
{
    struct job_options options;
    struct errtext err;

    if (job_options_parse(&options, plugin.defaults, &err) == 0)
        return;
    complain("defaults=", err.text);
    plugin.defaults[0] = '\0';
}

/* How long to wait for an agent that does not answer, from TEXT. */
static void take_timeout(const char *arg, const char *text)
{
    char *end;
    long ms = strtol(text, &end, 10);

    if (end == text || *end || ms < 1 || ms > 60000)
        complain(arg, "not a number of milliseconds from 1 to 60000");
    else
        plugin.timeout_ms = (int)ms;
}

/* What plugstack.conf may say. */
static const struct {
    const char *key;
    char *field; /* NULL: a number */
    size_t size;
} args[] = {
    {"socket=", plugin.socket, sizeof(plugin.socket)},
    {"libgomp=", plugin.libgomp, sizeof(plugin.libgomp)},
    {"munge=", plugin.munge, sizeof(plugin.munge)},
    {"defaults=", plugin.defaults, sizeof(plugin.defaults)},
    {"timeout=", NULL, 0},
};

#define ARGS (sizeof(args) / sizeof(args[0]))

static void take_arg(const char *arg)
{
    char keys[128] = "";

    for (size_t k = 0; k < ARGS; k++) {
        const char *value = arg + strlen(args[k].key);
        if (strncmp(arg, args[k].key, strlen(args[k].key)) != 0) {
            snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s%s",
                     k ? ", " : "unknown, none of ", args[k].key);
            continue;
        }
        if (!args[k].field)
            take_timeout(arg, value);
        else if (strlen(value) < args[k].size)
            strcpy(args[k].field, value);
        else
            complain(arg, "too long");
        return;
    }
    complain(arg, keys);
}

void plugin_args(int ac, char **av)
{
    write_usage();
    strcpy(plugin.libgomp, COSCHED_LIBGOMPDIR);
    for (int i = 0; i < ac; i++)
        take_arg(av[i]);
    check_defaults();
}
