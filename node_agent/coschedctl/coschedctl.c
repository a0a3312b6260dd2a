/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: ask the agent of this node. */

#include "config.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"

enum { ARG_JOB = 1, ARG_OUTPUT = 2, ARG_JSON = 4, ARG_DIR = 8,
       ARG_REASON = 16 };

static const struct command {
    const char *name;
    unsigned takes;
    int (*run)(const struct ctl *ctl);
    const char *help;
} commands[] = {
    {"status", ARG_JOB | ARG_JSON, ctl_status,
     "jobs of this node, their CPUs, what they do"},
    {"top", ARG_JOB, ctl_top,
     "the same with the last reason, anew each second"},
    {"explain", ARG_JOB | ARG_JSON, ctl_explain,
     "decisions, each with its reason"},
    {"trace", ARG_JOB | ARG_OUTPUT, ctl_trace,
     "cores over time (Chrome trace event JSON)"},
    {"config", ARG_JSON, ctl_config, "settings in force"},
    {"ping", ARG_JSON, ctl_ping, "is there an agent?"},
    {"counters", ARG_JSON, ctl_counters,
     "what can be counted here, and why not more"},
    {"record", ARG_DIR, ctl_record,
     "let the agent record what happens on this node"},
    {"selftest", ARG_OUTPUT, ctl_selftest,
     "try the counters under load; a report to send"},
    {"drain", ARG_REASON, ctl_drain,
     "stop sharing: every job has what Slurm gave it"},
    {"resume", 0, ctl_resume, "share again"},
    {0},
};

/* Options without a short form. */
enum { OPTION_SOCKET = 256, OPTION_VERSION };

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"socket", required_argument, NULL, OPTION_SOCKET},
    {"json", no_argument, NULL, 'j'},
    {"output", required_argument, NULL, 'o'},
    {"stop", no_argument, NULL, 's'},
    {"reason", required_argument, NULL, 'r'},
    {0},
};

const char cli_program[] = "coschedctl";

static void help(FILE *out)
{
    fputs("usage: coschedctl [--socket PATH] COMMAND [ARGUMENT]...\n\n", out);
    for (const struct command *c = commands; c->name; c++) {
        char usage[48];
        snprintf(usage, sizeof(usage), "%s%s%s%s", c->name,
                 c->takes & ARG_JOB ? " [JOB]" : "",
                 c->takes & ARG_JSON ? " [--json]" : "",
                 c->takes & ARG_DIR      ? " DIR | --stop"
                 : c->takes & ARG_REASON ? " [--reason TEXT]"
                 : c->takes & ARG_OUTPUT ? " [-o, --output FILE]"
                                         : "");
        fprintf(out, "  %-32s %s\n", usage, c->help);
    }
    ctl_health_help(out);
    ctl_machine_help(out);
    ctl_calibrate_help(out);
    ctl_ks_help(out);
    ctl_run_help(out);
    fputs("\n"
          "  --socket PATH  the agent's socket (default: $COSCHED_SOCKET, else\n"
          "                 " COSCHED_RUNDIR "/coschedd.sock); %n is the node\n"
          "  --help         print this text\n"
          "  --version      print the version\n\n"
          "Exit status: 0 done, 1 failed or refused by the agent, 2 bad command\n"
          "line, 3 no agent; run: that of the program.\n",
          out);
}

/* Parse what stands behind the name of COMMAND and run it. */
static int run_command(const struct command *command, struct ctl *ctl, int argc,
                       char **argv)
{
    int option, rc;

    optind = 0; /* a second scan, from the command's name */
    while ((option = getopt_long(argc, argv, ":hjo:", long_options, NULL)) !=
           -1) {
        if (option == 'h') {
            help(stdout);
            return CTL_OK;
        }
        if (option == OPTION_SOCKET)
            ctl->socket = optarg;
        else if (option == 'j' && command->takes & ARG_JSON)
            ctl->json = true;
        else if (option == 'o' && command->takes & ARG_OUTPUT)
            ctl->output = optarg;
        else if (option == 's' && command->takes & ARG_DIR)
            ctl->stop = true;
        else if (option == 'r' && command->takes & ARG_REASON)
            ctl->reason = optarg;
        else if (option == '?' || option == ':')
            return cli_bad_option(argv[0], long_options, option, argv);
        else
            return fail(CTL_USAGE, "%s: takes no --%s", argv[0],
                        option == 'j'   ? "json"
                        : option == 'o' ? "output"
                        : option == 's' ? "stop"
                        : option == 'r' ? "reason"
                                        : "version");
    }
    if (optind < argc && command->takes & ARG_JOB &&
        (rc = ctl_parse_job(argv[optind++], &ctl->job)) != CTL_OK)
        return rc;
    if (optind < argc && command->takes & ARG_DIR)
        ctl->dir = argv[optind++];
    if (optind < argc)
        return fail(CTL_USAGE, "%s: %s: one argument too many", argv[0],
                    argv[optind]);
    return cli_finish(command->run(ctl));
}

int main(int argc, char **argv)
{
    struct ctl ctl = {0};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "+:h", long_options, NULL)) !=
           -1) {
        switch (option) {
        case 'h':
            help(stdout);
            return CTL_OK;
        case OPTION_VERSION:
            puts("coschedctl " PACKAGE_VERSION);
            return CTL_OK;
        case OPTION_SOCKET:
            ctl.socket = optarg;
            break;
        case '?':
        case ':':
            return cli_bad_option(NULL, long_options, option, argv);
        default:
            return fail(CTL_USAGE, "%s: stands behind the command",
                        argv[optind - 1]);
        }
    }
    if (optind == argc) {
        help(stderr);
        return CTL_USAGE;
    }
    argc -= optind;
    argv += optind;
    if (strcmp(argv[0], "run") == 0)
        return ctl_run(ctl.socket, argc, argv);
    if (strcmp(argv[0], "machine") == 0)
        return ctl_machine(argc, argv);
    if (strcmp(argv[0], "calibrate") == 0)
        return ctl_calibrate(ctl.socket, argc, argv);
    if (strcmp(argv[0], "health") == 0)
        return ctl_health(ctl.socket, argc, argv);
    if (strcmp(argv[0], "ks") == 0)
        return ctl_ks(argc, argv);
    for (const struct command *c = commands; c->name; c++)
        if (strcmp(c->name, argv[0]) == 0)
            return run_command(c, &ctl, argc, argv);
    return fail(CTL_USAGE, "%s: unknown command, see coschedctl --help",
                argv[0]);
}
