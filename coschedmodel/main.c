/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel: the queueing model as a filter. */

#include "config.h"

#include <getopt.h>
#include <stdarg.h>
#include <string.h>

#include "coschedmodel/command.h"

enum {
    TAKES_RHO = 1,
    TAKES_METHOD = 2,
    TAKES_MACHINE = 4,
    TAKES_SWEEP = 8,
    TAKES_ACTION = 16,
    NO_TABLE = 32,
    NO_PLOT = 64,
};

static const struct command {
    const char *name;
    unsigned takes;
    int (*run)(const struct arguments *arguments);
    const char *help;
    const char *details;
} commands[] = {
    {"station", TAKES_RHO | TAKES_METHOD, command_station,
     "one memory controller and its cores (M/M/1/N/N)",
     "Input: {\"rho\": R or [R...], \"cores\": N}, or \"lambda\" and \"mu\"\n"
     "instead of rho: utilisation, response time, throughput, queue and speedup\n"
     "on 1..N cores.  Or {\"mu\": M, \"classes\": [{\"count\": N, \"lambda\":\n"
     "L}...]}: cores of several jobs at once.\n"},
    {"speedup", TAKES_METHOD | TAKES_MACHINE, command_speedup,
     "speedup of a loop from its profile (LoopPerf-S, -T)",
     "Input: {\"machine\": NAME, \"loops\": [{\"name\": ..., \"profiles\": [P] or\n"
     "[P, Q]}...]}: speedup on 1, 2, ... CPU nodes over one.\n"},
    {"utilisation", TAKES_METHOD | TAKES_MACHINE | TAKES_SWEEP,
     command_utilisation, "how well a mix of jobs uses a machine (NuPoCo)",
     "Input: {\"machine\": NAME, \"jobs\": [{\"name\": ..., \"rho\": R or\n"
     "\"rates\": [...], \"cores\": [...]}...]}: the jobs' speeds and the\n"
     "utilisation of cores and controllers.\n"},
    {"fit", NO_PLOT, command_fit, "rho or service times from measurements",
     "Input: {\"samples\": [{\"cores\": N, \"throughput\": X}...]} for rho, or\n"
     "{\"runs\": [{\"reads\": N, \"writes\": N, \"prefetches\": N, \"busy_us\":\n"
     "T}...]} for service times by kind of request.\n"},
    {"ks", NO_PLOT, command_ks, "Kolmogorov-Smirnov test of samples",
     "Input: {\"a\": [...], \"b\": [...]}: are both of one distribution?  Or\n"
     "{\"counts\": [...]}: are they of a Poisson distribution?\n"},
    {"machine", TAKES_ACTION | NO_TABLE | NO_PLOT, command_machine,
     "show, check or draw a machine description",
     "FILE is a description or the name of a shipped one.\n"
     "  show   print it with all routes\n"
     "  check  print nothing but what is wrong\n"
     "  draw   draw nodes and links (--plot FILE)\n"},
    {0},
};

enum {
    OPTION_VERSION = 256,
    OPTION_TABLE,
    OPTION_PLOT,
    OPTION_RHO,
    OPTION_CORES,
    OPTION_METHOD,
    OPTION_MACHINE,
    OPTION_SWEEP,
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"table", no_argument, NULL, OPTION_TABLE},
    {"plot", required_argument, NULL, OPTION_PLOT},
    {"rho", required_argument, NULL, OPTION_RHO},
    {"cores", required_argument, NULL, OPTION_CORES},
    {"method", required_argument, NULL, OPTION_METHOD},
    {"machine", required_argument, NULL, OPTION_MACHINE},
    {"sweep", no_argument, NULL, OPTION_SWEEP},
    {0},
};

const char cli_program[] = "coschedmodel";

static int help(FILE *out)
{
    fputs("usage: coschedmodel COMMAND [OPTION]... [FILE]\n\n", out);
    for (const struct command *c = commands; c->name; c++)
        fprintf(out, "  %-12s %s\n", c->name, c->help);
    fputs("\nReads JSON from FILE or standard input and writes JSON.\n"
          "coschedmodel COMMAND --help tells more.\n\n"
          "  --help       print this text\n"
          "  --version    print the version\n\n"
          "Exit status: 0 done, 1 bad input or output, 2 bad command line.\n",
          out);
    return out == stdout ? EXIT_DONE : EXIT_USAGE;
}

static int command_help(const struct command *c)
{
    printf("usage: coschedmodel %s %s[OPTION]... [FILE]\n\n%s.\n\n%s\n",
           c->name, c->takes & TAKES_ACTION ? "show|check|draw " : "", c->help,
           c->details);
    if (!(c->takes & NO_TABLE))
        puts("  --table         print a table instead of JSON");
    if (!(c->takes & NO_PLOT) || c->takes & TAKES_ACTION)
        puts("  --plot FILE     draw it, as FILE.svg or FILE.png");
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
    return EXIT_DONE;
}

/* The command's mask must have what OPTION needs. */
static bool takes(const struct command *c, int option)
{
    switch (option) {
    case OPTION_TABLE:
        return !(c->takes & NO_TABLE);
    case OPTION_PLOT:
        return !(c->takes & NO_PLOT) || c->takes & TAKES_ACTION;
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

static void set(struct arguments *arguments, int option)
{
    switch (option) {
    case OPTION_TABLE:
        arguments->table = true;
        break;
    case OPTION_PLOT:
        arguments->plot = optarg;
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
}

/* What stands behind the options: the action where there is one, a file. */
static int operands(const struct command *c, struct arguments *arguments,
                    int argc, char **argv)
{
    if (c->takes & TAKES_ACTION) {
        if (optind == argc)
            return fail(EXIT_USAGE, "%s: needs show, check or draw", c->name);
        arguments->action = argv[optind++];
    }
    if (optind < argc)
        arguments->file = argv[optind++];
    if (optind < argc)
        return fail(EXIT_USAGE, "%s: %s: one argument too many", c->name,
                    argv[optind]);
    return EXIT_DONE;
}

static int run(const struct command *c, int argc, char **argv)
{
    struct arguments arguments = {.file = "-"};
    int option, index = 0;

    optind = 0;
    while ((option = getopt_long(argc, argv, ":h", long_options, &index)) !=
           -1) {
        if (option == 'h')
            return command_help(c);
        if (option == '?' || option == ':')
            return cli_bad_option(c->name, long_options, option, argv);
        if (!takes(c, option))
            return fail(EXIT_USAGE, "%s: --%s: not for this command", c->name,
                        long_options[index].name);
        set(&arguments, option);
    }
    int status = operands(c, &arguments, argc, argv);
    if (status != EXIT_DONE)
        return status;
    return cli_finish(c->run(&arguments));
}

int main(int argc, char **argv)
{
    opterr = 0;
    if (argc < 2)
        return help(stderr);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(stdout);
    if (strcmp(argv[1], "--version") == 0) {
        puts("coschedmodel " PACKAGE_VERSION);
        return EXIT_DONE;
    }
    for (const struct command *c = commands; c->name; c++)
        if (strcmp(c->name, argv[1]) == 0)
            return run(c, argc - 1, argv + 1);
    return fail(EXIT_USAGE, "%s: unknown %s, see coschedmodel --help", argv[1],
                argv[1][0] == '-' ? "option" : "command");
}
