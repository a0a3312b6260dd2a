/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedd's command line. */

#include "config.h"

#include "node_agent/daemon/settings.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "node_agent/daemon/node_config.h"
#include "model/policy.h"
#include "protocol/cpulist.h"

enum {
    OPT_SOCKET = 256,
    OPT_STATE,
    OPT_NODE,
    OPT_POLICY,
    OPT_SET,
    OPT_NO_SLURM,
    OPT_HELPER,
    OPT_AUTH,
    OPT_MUNGE_SOCKET,
    OPT_LOG_LEVEL,
    OPT_PIDFILE,
    OPT_CPUS,
    OPT_COUNTERS,
    OPT_MACHINE,
    OPT_REPLAY,
};

/* One table for parser and help. */
static const struct {
    const char *name;
    int value;
    const char *argument; /* NULL: none */
    const char *help;
} table[] = {
    {"foreground", 'f', NULL, "do not become a daemon; log to stderr"},
    {"socket", OPT_SOCKET, "PATH", "listen at PATH; %n is the node's name"},
    {"state", OPT_STATE, "PATH", "keep jobs and pending records in PATH"},
    {"node", OPT_NODE, "NAME", "name of this node in Slurm"},
    {"policy", OPT_POLICY, "NAME", "overrides cosched_policy of slurm.conf"},
    {"set", OPT_SET, "KEY=VALUE", "overrides cosched_KEY of slurm.conf"},
    {"no-slurm", OPT_NO_SLURM, NULL, "neither read slurm.conf nor write records"},
    {"helper", OPT_HELPER, "PATH", "the program that talks to Slurm"},
    {"auth", OPT_AUTH, "munge|peer", "proof demanded for privileged requests"},
    {"munge-socket", OPT_MUNGE_SOCKET, "PATH", "munge's socket"},
    {"log-level", OPT_LOG_LEVEL, "LEVEL",
     "error, warning, notice, info or debug"},
    {"pidfile", OPT_PIDFILE, "PATH", "write the process id to PATH"},
    {"cpus", OPT_CPUS, "LIST", "use only these CPUs of the node"},
    {"counters", OPT_COUNTERS, "NAME", "overrides cosched_counters of "
                                       "slurm.conf"},
    {"replay", OPT_REPLAY, "DIR", "decide again what was recorded in DIR, compare, "
                                  "and exit"},
    {"machine", OPT_MACHINE, "FILE", "description of the node (default: "
     COSCHED_MACHINE " if it is there); hwloc: none"},
    {"help", 'h', NULL, "this text"},
    {"version", 'V', NULL, "version"},
};

#define OPTIONS (sizeof(table) / sizeof(table[0]))

/* The policies and their options. */
static void print_policies(void)
{
    printf("\nPolicies, and their options for cosched_policy_options:\n");
    for (const struct policy *const *p = policies; *p; p++) {
        printf("  %-14s %s\n", (*p)->name, (*p)->help);
        for (size_t i = POLICY_OWN; i < policy_option_count(*p); i++) {
            const struct policy_option *o = policy_option(*p, i);
            if (o->words)
                printf("    %s:%s\n%16s %s\n", o->name, o->words, "", o->help);
            else
                printf("    %-12s %s (default %g)\n", o->name, o->help,
                       o->initial);
        }
    }
    printf("  all of them:\n");
    for (size_t i = 0; i < POLICY_OWN; i++) {
        const struct policy_option *o = policy_option(policies[0], i);
        printf("    %-12s %s (default %g)\n", o->name, o->help, o->initial);
    }
}

static void print_help(void)
{
    printf("usage: coschedd [OPTION]...\n\n"
           "Node agent of coschedule: shares the cores of a node among the\n"
           "co-scheduled jobs of Slurm.\n\n");
    for (size_t i = 0; i < OPTIONS; i++) {
        char left[48];
        snprintf(left, sizeof(left), "--%s%s%s", table[i].name,
                 table[i].argument ? "=" : "",
                 table[i].argument ? table[i].argument : "");
        printf("  %-24s %s\n", left, table[i].help);
    }
    printf("\nEntries of SchedulerParameters in slurm.conf, also for --set\n"
           "(without cosched_):\n");
    node_options_help(stdout);
    print_policies();
}

static int set_text(char *to, size_t size, const char *option, const char *from,
                    struct errtext *err)
{
    if (snprintf(to, size, "%s", from) >= (int)size)
        return errtext_set(err, EINVAL, "--%s: longer than %zu characters",
                           option, size - 1);
    return 0;
}

/* Add "cosched_KEY=VALUE" to the overrides. */
static int override(struct settings *s, const char *prefix, const char *text,
                    struct errtext *err)
{
    size_t used = strlen(s->overrides);

    if (!*prefix && !strchr(text, '='))
        return errtext_set(err, EINVAL, "--set %s: not KEY=VALUE", text);
    if (strchr(text, ','))
        return errtext_set(err, EINVAL, "--set %s: one entry at a time", text);
    if (snprintf(s->overrides + used, sizeof(s->overrides) - used,
                 "%scosched_%s%s", used ? "," : "", prefix,
                 text) >= (int)(sizeof(s->overrides) - used))
        return errtext_set(err, EINVAL, "--set: too many entries");
    return 0;
}

static int set_cpus(struct settings *s, const char *list, struct errtext *err)
{
    struct errtext why;

    if (cpulist_parse(list, &s->cpus, &why) < 0)
        return errtext_set(err, EINVAL, "--cpus %.60s: %.100s", list, why.text);
    s->restrict_cpus = true;
    return 0;
}

static int set_auth(struct settings *s, const char *name, struct errtext *err)
{
    if (!strcmp(name, "peer"))
        s->auth = SERVER_AUTH_PEER;
    else if (!strcmp(name, "munge"))
        s->auth = SERVER_AUTH_MUNGE;
    else
        return errtext_set(err, EINVAL, "--auth %s: neither munge nor peer",
                           name);
#ifndef HAVE_MUNGE
    if (s->auth == SERVER_AUTH_MUNGE)
        return errtext_set(err, EINVAL, "--auth munge: built without munge");
#endif
    return 0;
}

static int set_log_level(struct settings *s, const char *name,
                         struct errtext *err)
{
    if ((s->log_level = log_level(name)) < 0)
        return errtext_set(err, EINVAL, "--log-level %s: not one of error, "
                                        "warning, notice, info, debug",
                           name);
    return 0;
}

static int set_option(struct settings *s, int value, const char *arg,
                      struct errtext *err)
{
    switch (value) {
    case 'f':
        s->foreground = true;
        return 0;
    case OPT_SOCKET:
        return set_text(s->socket, sizeof(s->socket), "socket", arg, err);
    case OPT_STATE:
        return set_text(s->state, sizeof(s->state), "state", arg, err);
    case OPT_NODE:
        return set_text(s->node, sizeof(s->node), "node", arg, err);
    case OPT_REPLAY:
        return set_text(s->replay, sizeof(s->replay), "replay", arg, err);
    case OPT_POLICY:
        s->policy_given = true;
        snprintf(s->policy, sizeof(s->policy), "%s", arg);
        return override(s, "policy=", arg, err);
    case OPT_SET:
        return override(s, "", arg, err);
    case OPT_NO_SLURM:
        s->slurm = false;
        return 0;
    case OPT_HELPER:
        s->slurm = true; /* the last of --no-slurm and --helper counts */
        return set_text(s->helper, sizeof(s->helper), "helper", arg, err);
    case OPT_AUTH:
        return set_auth(s, arg, err);
    case OPT_MUNGE_SOCKET:
        return set_text(s->munge_socket, sizeof(s->munge_socket),
                        "munge-socket", arg, err);
    case OPT_LOG_LEVEL:
        return set_log_level(s, arg, err);
    case OPT_PIDFILE:
        return set_text(s->pidfile, sizeof(s->pidfile), "pidfile", arg, err);
    case OPT_COUNTERS:
        return set_text(s->counters, sizeof(s->counters), "counters", arg, err);
    case OPT_MACHINE:
        s->machine_given = strcmp(arg, "hwloc") != 0;
        return set_text(s->machine, sizeof(s->machine), "machine",
                        s->machine_given ? arg : "", err);
    default: /* OPT_CPUS */
        return set_cpus(s, arg, err);
    }
}

static void set_defaults(struct settings *s)
{
    const char *name = getenv("SLURMD_NODENAME");

    memset(s, 0, sizeof(*s));
    snprintf(s->socket, sizeof(s->socket), "%s/coschedd.sock", COSCHED_RUNDIR);
    snprintf(s->state, sizeof(s->state), "%s/state.json", COSCHED_RUNDIR);
    snprintf(s->helper, sizeof(s->helper), "%s/coschedd-slurm",
             COSCHED_LIBEXECDIR);
    if (name && *name)
        snprintf(s->node, sizeof(s->node), "%s", name);
    else if (gethostname(s->node, sizeof(s->node) - 1) == 0)
        s->node[strcspn(s->node, ".")] = '\0';
    snprintf(s->machine, sizeof(s->machine), "%s", COSCHED_MACHINE);
    s->slurm = true;
    s->log_level = LOG_INFO;
#ifdef HAVE_MUNGE
    s->auth = SERVER_AUTH_MUNGE;
#else
    s->auth = SERVER_AUTH_PEER;
#endif
}

/* Replace "%n" in PATH by the node's name. */
static int expand_node(char *path, const char *node, struct errtext *err)
{
    char expanded[SETTINGS_PATH_MAX];
    char *mark = strstr(path, "%n");

    if (!mark)
        return 0;
    if (snprintf(expanded, sizeof(expanded), "%.*s%s%s", (int)(mark - path),
                 path, node, mark + 2) >= (int)sizeof(expanded))
        return errtext_set(err, EINVAL, "%.100s: too long", path);
    strcpy(path, expanded);
    return 0;
}

static void fill_long_options(struct option *options)
{
    for (size_t i = 0; i < OPTIONS; i++)
        options[i] = (struct option){
            .name = table[i].name,
            .has_arg = table[i].argument ? required_argument : no_argument,
            .val = table[i].value,
        };
    options[OPTIONS] = (struct option){0};
}

int settings_parse(struct settings *s, int argc, char **argv,
                   struct errtext *err)
{
    struct option options[OPTIONS + 1];
    int value;

    set_defaults(s);
    fill_long_options(options);
    opterr = 0;
    while ((value = getopt_long(argc, argv, ":fhV", options, NULL)) != -1) {
        if (value == 'h') {
            print_help();
            return 1;
        }
        if (value == 'V') {
            printf("coschedd %s\n", PACKAGE_VERSION);
            return 1;
        }
        if (value == '?' || value == ':')
            return errtext_set(err, EINVAL, "%s: %s (see --help)",
                               argv[optind - 1],
                               value == ':' ? "needs an argument"
                                            : "no such option");
        if (set_option(s, value, optarg, err) < 0)
            return -1;
    }
    if (optind < argc)
        return errtext_set(err, EINVAL, "%s: unexpected argument (see --help)",
                           argv[optind]);
    if (node_config_check(s->overrides, err) < 0)
        return -1;
    return expand_node(s->socket, s->node, err) < 0 ||
                   expand_node(s->state, s->node, err) < 0 ||
                   expand_node(s->pidfile, s->node, err) < 0
               ? -1
               : 0;
}
