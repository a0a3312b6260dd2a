/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel: the queueing model as a filter. */

#include "config.h"

#include <stdio.h>

#include "coschedmodel/command.h"

enum {
    TAKES_RHO = 1,
    TAKES_METHOD = 2,
    TAKES_MACHINE = 4,
    TAKES_SWEEP = 8,
    TAKES_ACTION = 16,
    NO_TABLE = 32,
};

static const struct cli_command commands[] = {
    {"station", TAKES_RHO | TAKES_METHOD, command_station,
     "[OPTION]... [FILE]", "one memory controller and its cores (M/M/1/N/N)",
     "Input: {\"rho\": R or [R...], \"cores\": N}, or \"lambda\" and \"mu\"\n"
     "instead of rho: utilisation, response time, throughput, queue and speedup\n"
     "on 1..N cores.  Or {\"mu\": M, \"classes\": [{\"count\": N, \"lambda\":\n"
     "L}...]}: cores of several jobs at once.\n"},
    {"speedup", TAKES_METHOD | TAKES_MACHINE, command_speedup,
     "[OPTION]... [FILE]", "speedup of a loop from its profile (LoopPerf-S, -T)",
     "Input: {\"machine\": NAME, \"loops\": [{\"name\": ..., \"profiles\": [P] or\n"
     "[P, Q]}...]}: speedup on 1, 2, ... LLC domains over one.\n"},
    {"utilisation", TAKES_METHOD | TAKES_MACHINE | TAKES_SWEEP,
     command_utilisation, "[OPTION]... [FILE]",
     "how well a mix of jobs uses a machine (NuPoCo)",
     "Input: {\"machine\": NAME, \"jobs\": [{\"name\": ..., \"rho\": R or\n"
     "\"rates\": [...], \"cores\": [...]}...]}: the jobs' speeds and the\n"
     "utilisation of cores and controllers.\n"},
    {"fit", 0, command_fit, "[OPTION]... [FILE]",
     "rho or service times from measurements",
     "Input: {\"samples\": [{\"cores\": N, \"throughput\": X}...]} for rho, or\n"
     "{\"runs\": [{\"reads\": N, \"writes\": N, \"prefetches\": N, \"busy_us\":\n"
     "T}...]} for service times by kind of request.\n"},
    {"ks", 0, command_ks, "[OPTION]... [FILE]",
     "Kolmogorov-Smirnov test of samples",
     "Input: {\"a\": [...], \"b\": [...]}: are both of one distribution?  Or\n"
     "{\"counts\": [...]}: are they of a Poisson distribution?\n"},
    {"machine", TAKES_ACTION | NO_TABLE, command_machine,
     "show|check [OPTION]... [FILE]", "show or check a machine description",
     "FILE is a description or the name of a shipped one.\n"
     "  show   print it with all routes\n"
     "  check  print nothing but what is wrong\n"},
    {0},
};

enum {
    OPTION_TABLE = CLI_OWN,
    OPTION_RHO,
    OPTION_CORES,
    OPTION_METHOD,
    OPTION_MACHINE,
    OPTION_SWEEP,
};

static const struct option long_options[] = {
    CLI_OPTIONS,
    {"table", no_argument, NULL, OPTION_TABLE},
    {"rho", required_argument, NULL, OPTION_RHO},
    {"cores", required_argument, NULL, OPTION_CORES},
    {"method", required_argument, NULL, OPTION_METHOD},
    {"machine", required_argument, NULL, OPTION_MACHINE},
    {"sweep", no_argument, NULL, OPTION_SWEEP},
    {0},
};

const char cli_program[] = "coschedmodel";

static void print_options(const struct cli_command *c)
{
    if (!(c->takes & NO_TABLE))
        puts("  --table         print a table instead of JSON");
    if (c->takes & TAKES_RHO)
        puts("  --rho R,...     instead of FILE, with --cores\n"
             "  --cores N       instead of FILE, with --rho");
    if (c->takes & TAKES_MACHINE)
        puts("  --machine NAME  this machine: a file, or a shipped description");
    if (c->takes & TAKES_METHOD)
        printf("  --method NAME   %s%s\n",
               c->run == command_speedup
                   ? "stations (the papers), closed"
                   : "automatic, exact, approximate, average, linearizer",
               c->run == command_utilisation ? ", closed" : "");
    if (c->takes & TAKES_SWEEP)
        puts("  --sweep         two jobs: all ways to divide the cores");
    puts("  --help          print this text");
}

/* The command's mask must have what OPTION needs. */
static bool takes(const struct cli_command *c, int option)
{
    switch (option) {
    case OPTION_TABLE:
        return !(c->takes & NO_TABLE);
    case OPTION_RHO:
    case OPTION_CORES:
        return c->takes & TAKES_RHO;
    case OPTION_METHOD:
        return c->takes & TAKES_METHOD;
    case OPTION_MACHINE:
        return c->takes & TAKES_MACHINE;
    case OPTION_SWEEP:
        return c->takes & TAKES_SWEEP;
    default:
        return false;
    }
}

static int set(struct arguments *arguments, int option)
{
    switch (option) {
    case OPTION_TABLE:
        arguments->table = true;
        break;
    case OPTION_RHO:
        arguments->rho = optarg;
        break;
    case OPTION_CORES:
        arguments->cores = optarg;
        break;
    case OPTION_METHOD:
        arguments->method = optarg;
        break;
    case OPTION_MACHINE:
        arguments->machine = optarg;
        break;
    case OPTION_SWEEP:
        arguments->sweep = true;
        break;
    }
    return EXIT_DONE;
}

/* The action where there is one, a file. */
static int take_operands(const struct cli_command *c,
                         struct arguments *arguments, int argc, char **argv)
{
    if (c->takes & TAKES_ACTION) {
        if (optind == argc)
            return fail(EXIT_USAGE, "%s: needs show or check", c->name);
        arguments->action = argv[optind++];
    }
    if (optind < argc)
        arguments->file = argv[optind++];
    return EXIT_DONE;
}

int main(int argc, char **argv)
{
    static const struct cli cli = {
        .usage = "COMMAND [OPTION]... [FILE]",
        .about = "Reads JSON from FILE or standard input and writes JSON, which\n"
                 "coschedplot draws.\n",
        .commands = commands,
        .options = long_options,
        .help = print_options,
        .takes = takes,
        .set = set,
        .operands = take_operands,
    };
    struct arguments arguments = {.file = "-"};

    return cli_main(&cli, &arguments, argc, argv);
}
