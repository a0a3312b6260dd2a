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

static int set_policy(struct settings *s, const char *name, struct errtext *err)
{
    s->policy_given = true;
    snprintf(s->policy, sizeof(s->policy), "%s", name);
    return override(s, "policy=", name, err);
}

static int set_entry(struct settings *s, const char *text, struct errtext *err)
{
    return override(s, "", text, err);
}

static int set_machine(struct settings *s, const char *file, struct errtext *err)
{
    (void)err;
    s->machine_given = strcmp(file, "hwloc") != 0;
    if (!s->machine_given)
        s->machine[0] = '\0';
    return 0;
}

/* The last of --no-slurm and --helper counts. */
static int set_helper(struct settings *s, const char *file, struct errtext *err)
{
    (void)file;
    (void)err;
    s->slurm = true;
    return 0;
}

/* A member of the settings that the option's text is copied into. */
#define TEXT(member)                                                           \
    .offset = offsetof(struct settings, member),                               \
    .size = sizeof(((struct settings *)NULL)->member)

/* One table for parser and help. */
static const struct entry {
    const char *name;
    const char *argument; /* NULL: none */
    const char *help;
    int (*set)(struct settings *settings, const char *argument, struct errtext *err);
    size_t offset, size; /* as TEXT(); without argument, of a bool, */
    bool on;             /* and what it becomes */
    int letter;          /* of the short form, or 0 */
} table[] = {
    {"foreground", NULL, "do not become a daemon; log to stderr",
     .offset = offsetof(struct settings, foreground), .on = true, .letter = 'f'},
    {"socket", "PATH", "listen at PATH; %n is the node's name", TEXT(socket)},
    {"state", "PATH", "keep jobs and pending records in PATH", TEXT(state)},
    {"records", "PATH", "keep final records in PATH until Slurm has them; %n as above",
     TEXT(records)},
    {"node", "NAME", "name of this node in Slurm", TEXT(node)},
    {"policy", "NAME", "overrides cosched_policy of slurm.conf", .set = set_policy},
    {"set", "KEY=VALUE", "overrides cosched_KEY of slurm.conf", .set = set_entry},
    {"check", NULL, "say what is wrong with the other options, and exit",
     .offset = offsetof(struct settings, check), .on = true},
    {"no-slurm", NULL, "neither read slurm.conf nor write records",
     .offset = offsetof(struct settings, slurm), .on = false},
    {"helper", "PATH", "the program that talks to Slurm", .set = set_helper, TEXT(helper)},
    {"auth", "munge|peer", "proof demanded for privileged requests", .set = set_auth},
    {"munge-socket", "PATH", "munge's socket", TEXT(munge_socket)},
    {"log-level", "LEVEL", "error, warning, notice, info or debug", .set = set_log_level},
    {"pidfile", "PATH", "write the process id to PATH", TEXT(pidfile)},
    {"cpus", "LIST", "use only these CPUs of the node", .set = set_cpus},
    {"counters", "NAME", "overrides cosched_counters of slurm.conf", TEXT(counters)},
    {"replay", "DIR", "decide again what was recorded in DIR, compare, and exit",
     TEXT(replay)},
    {"machine", "FILE", "description of the node (default: " COSCHED_MACHINE
     " if it is there); hwloc: none", .set = set_machine, TEXT(machine)},
    {"weights", "FILE", "what coschedmodel train made for this node, for the policy option "
     "concurrency", TEXT(weights)},
    {"help", NULL, "this text", .letter = 'h'},
    {"version", NULL, "version", .letter = 'V'},
};

#define OPTIONS (sizeof(table) / sizeof(table[0]))
#define FIRST 256 /* what getopt_long() returns for the first, without letter */

static int set_option(struct settings *s, const struct entry *e, const char *arg,
                      struct errtext *err)
{
    if (e->size && snprintf((char *)s + e->offset, e->size, "%s", arg) >= (int)e->size)
        return errtext_set(err, EINVAL, "--%s: longer than %zu characters",
                           e->name, e->size - 1);
    if (!e->argument)
        *(bool *)((char *)s + e->offset) = e->on;
    return e->set ? e->set(s, arg, err) : 0;
}

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

static void set_defaults(struct settings *s)
{
    const char *name = getenv("SLURMD_NODENAME");
    const char *directory = getenv("STATE_DIRECTORY"); /* systemd's word */

    memset(s, 0, sizeof(*s));
    snprintf(s->socket, sizeof(s->socket), "%s/coschedd.sock", COSCHED_RUNDIR);
    snprintf(s->state, sizeof(s->state), "%s/state.json", COSCHED_RUNDIR);
    snprintf(s->records, sizeof(s->records), "%s/records",
             directory && *directory == '/' ? directory : COSCHED_STATEDIR);
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

int settings_parse(struct settings *s, int argc, char **argv,
                   struct errtext *err)
{
    struct option options[OPTIONS + 1] = {0};
    int value;

    set_defaults(s);
    for (size_t i = 0; i < OPTIONS; i++)
        options[i] = (struct option){table[i].name, table[i].argument != NULL, NULL,
                                     table[i].letter ? table[i].letter : FIRST + (int)i};
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
        if (set_option(s, value == 'f' ? table : &table[value - FIRST], optarg, err) < 0)
            return -1;
    }
    if (optind < argc)
        return errtext_set(err, EINVAL, "%s: unexpected argument (see --help)",
                           argv[optind]);
    if (node_config_check(s->overrides, err) < 0)
        return -1;
    if (expand_node(s->socket, s->node, err) < 0 ||
        expand_node(s->state, s->node, err) < 0 ||
        expand_node(s->records, s->node, err) < 0)
        return -1;
    if (expand_node(s->pidfile, s->node, err) < 0)
        return -1;
    return s->check ? 1 : 0;
}
