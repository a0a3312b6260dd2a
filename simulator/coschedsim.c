/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedsim: what a policy does to jobs on a machine, in virtual time. */

#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "simulator/coschedsim.h"

enum {
    TAKES_VARY = 1,
    TAKES_CSV = 2,
    TAKES_SCENARIO = 4, /* and the library of its programs */
    TAKES_TRACE = 8,    /* and what else one run alone can tell */
};

#define OPERAND "--machine MACHINE [OPTION]... "

static const struct cli_command commands[] = {
    {"run", TAKES_SCENARIO | TAKES_TRACE, command_run, OPERAND "SCENARIO",
     "run scenarios and say what came of them",
     "Runs each scenario of the file under each policy: turnaround of each job,\n"
     "makespan, harmonic mean of the speedups over running alone, utilisations,\n"
     "moves and decisions.\n"},
    {"compare", TAKES_SCENARIO | TAKES_CSV, command_compare, OPERAND "SCENARIO",
     "compare policies",
     "Runs each scenario under each policy (default: all that there are) and\n"
     "under native time sharing, to which NTT is relative.\n"},
    {"sweep", TAKES_SCENARIO | TAKES_CSV | TAKES_VARY, command_sweep,
     OPERAND "SCENARIO", "vary a parameter",
     "Runs each scenario under each policy with each value of --vary; several\n"
     "--vary make a grid.  A value may be a range: 8..64/8, 1..64*2.  KEY is\n"
     "  cores            of the machine, LLC domain after LLC domain\n"
     "  jobs             of the scenario; more than it has: the same again\n"
     "  arrival          seconds from one job's arrival to the next one's\n"
     "  scale, rates     factor of work, of requests to memory\n"
     "  imbalance, sync_share, llc_loss, barriers    of parallel regions\n"
     "  JOB.KEY          one of the last six of one job only\n"
     "  seed, noise      as the options\n"
     "  POLICY:OPTION    of a policy\n"
     "  anything else    option of slurm.conf without its prefix: epoch, ...\n"},
    {"replay", TAKES_TRACE, command_replay, OPERAND "DIRECTORY",
     "what if: what was recorded, otherwise",
     "Runs the jobs of a recording (coschedctl record, coschedsim run --record)\n"
     "again under other policies.  A recording has its machine, and what the agent\n"
     "learned of the regions.\n"},
    {0},
};

enum {
    OPTION_MACHINE = CLI_OWN,
    OPTION_LIBRARY,
    OPTION_SCENARIO,
    OPTION_POLICY,
    OPTION_OPTIONS,
    OPTION_COUNTERS,
    OPTION_NOISE,
    OPTION_NETWORK,
    OPTION_WAIT,
    OPTION_SEED,
    OPTION_LIMIT,
    OPTION_HISTORY,
    OPTION_VARY,
    OPTION_TRACE,
    OPTION_RECORD,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_EXPLAIN,
};

static const struct option long_options[] = {
    CLI_OPTIONS,
    {"machine", required_argument, NULL, OPTION_MACHINE},
    {"library", required_argument, NULL, OPTION_LIBRARY},
    {"scenario", required_argument, NULL, OPTION_SCENARIO},
    {"policy", required_argument, NULL, OPTION_POLICY},
    {"options", required_argument, NULL, OPTION_OPTIONS},
    {"counters", required_argument, NULL, OPTION_COUNTERS},
    {"noise", required_argument, NULL, OPTION_NOISE},
    {"network", required_argument, NULL, OPTION_NETWORK},
    {"wait", required_argument, NULL, OPTION_WAIT},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"history", no_argument, NULL, OPTION_HISTORY},
    {"vary", required_argument, NULL, OPTION_VARY},
    {"trace", required_argument, NULL, OPTION_TRACE},
    {"record", required_argument, NULL, OPTION_RECORD},
    {"json", no_argument, NULL, OPTION_JSON},
    {"csv", no_argument, NULL, OPTION_CSV},
    {"explain", no_argument, NULL, OPTION_EXPLAIN},
    {0},
};

const char cli_program[] = "coschedsim";

static void print_options(const struct cli_command *c)
{
    puts("  --machine NAME    a file, or a shipped description\n"
         "  --policy P,...    policies, each NAME or NAME:OPTION:VALUE;...");
    if (c->takes & TAKES_SCENARIO)
        puts("  --scenario NAME   only this one of the file\n"
             "  --library FILE    programs, instead of those the file names");
    if (c->takes & TAKES_VARY)
        puts("  --vary KEY=V,...  what to vary, and its values");
    puts("  --options LIST    the agent's, as in slurm.conf: cosched_epoch=50ms\n"
         "  --counters NAME   virtual (an exact PMU) or progress (reported work)\n"
         "  --noise X         relative standard error of the virtual counters\n"
         "  --wait HOW        stock OpenMP threads: default, active or passive\n"
         "  --network METHOD  memory's truth: schweitzer or linearizer\n"
         "  --seed N          of everything random (1)\n"
         "  --limit S         give up after so many virtual seconds\n"
         "  --history         the agent knows how long each job takes alone");
    if (c->takes & TAKES_TRACE)
        puts("  --trace FILE      write the agent's trace, for Perfetto\n"
             "  --record DIR      write a recording, as coschedctl record does\n"
             "  --explain         with all decisions and their reasons");
    if (c->takes & TAKES_CSV)
        puts("  --csv             print CSV instead of a table");
    puts("  --json            print JSON instead of a table, for coschedplot, too\n"
         "  --help            print this text");
}

/* The command's mask must have what OPTION needs. */
static bool takes(const struct cli_command *c, int option)
{
    switch (option) {
    case OPTION_VARY:
        return c->takes & TAKES_VARY;
    case OPTION_CSV:
        return c->takes & TAKES_CSV;
    case OPTION_SCENARIO:
    case OPTION_LIBRARY:
        return c->takes & TAKES_SCENARIO;
    case OPTION_TRACE:
    case OPTION_RECORD:
    case OPTION_EXPLAIN:
        return c->takes & TAKES_TRACE;
    default:
        return true;
    }
}

static int set_number(const char *option, double *value)
{
    char *end;

    errno = 0;
    *value = strtod(optarg, &end);
    if (end == optarg || *end || errno || !(*value >= 0) || isinf(*value))
        return fail(EXIT_USAGE, "--%s %s: is not a number >= 0", option,
                    optarg);
    return EXIT_DONE;
}

static int set_seed(struct arguments *a)
{
    char *end;

    errno = 0;
    a->seed = strtoull(optarg, &end, 10);
    if (end == optarg || *end || errno || strchr(optarg, '-'))
        return fail(EXIT_USAGE, "--seed %s: is not a whole number >= 0", optarg);
    return EXIT_DONE;
}

static int set_word(struct arguments *a, int option)
{
    if (option == OPTION_NETWORK) {
        if (!strcmp(optarg, "linearizer"))
            a->network = NETWORK_LINEARIZER;
        else if (!strcmp(optarg, "schweitzer"))
            a->network = NETWORK_SCHWEITZER;
        else
            return fail(EXIT_USAGE, "--network %s: is neither schweitzer nor "
                        "linearizer", optarg);
        return EXIT_DONE;
    }
    for (a->wait = TIMESHARE_DEFAULT; a->wait <= TIMESHARE_PASSIVE; a->wait++)
        if (!strcmp(timeshare_wait_name(a->wait), optarg))
            return EXIT_DONE;
    return fail(EXIT_USAGE, "--wait %s: is not default, active or passive",
                optarg);
}

static int set(struct arguments *a, int option)
{
    switch (option) {
    case OPTION_MACHINE:
        a->machine = optarg;
        break;
    case OPTION_LIBRARY:
        a->library = optarg;
        break;
    case OPTION_SCENARIO:
        a->scenario = optarg;
        break;
    case OPTION_POLICY:
        a->policy = optarg;
        break;
    case OPTION_OPTIONS:
        a->options = optarg;
        break;
    case OPTION_COUNTERS:
        a->counters = optarg;
        break;
    case OPTION_VARY:
        if (a->varies == ARGUMENTS_VARY)
            return fail(EXIT_USAGE, "--vary %s: %d are the most", optarg,
                        ARGUMENTS_VARY);
        a->vary[a->varies++] = optarg;
        break;
    case OPTION_TRACE:
        a->trace = optarg;
        break;
    case OPTION_RECORD:
        a->record = optarg;
        break;
    case OPTION_HISTORY:
        a->history = true;
        break;
    case OPTION_JSON:
        a->json = true;
        break;
    case OPTION_CSV:
        a->csv = true;
        break;
    case OPTION_EXPLAIN:
        a->explain = true;
        break;
    case OPTION_NOISE:
        return set_number("noise", &a->noise);
    case OPTION_LIMIT:
        return set_number("limit", &a->limit_s);
    case OPTION_SEED:
        return set_seed(a);
    default:
        return set_word(a, option);
    }
    return EXIT_DONE;
}

static int take_operands(const struct cli_command *c,
                         struct arguments *arguments, int argc, char **argv)
{
    (void)c;
    if (optind < argc)
        arguments->file = argv[optind++];
    return EXIT_DONE;
}

int main(int argc, char **argv)
{
    static const struct cli cli = {
        .usage = "COMMAND --machine MACHINE [OPTION]... FILE",
        .about = "",
        .commands = commands,
        .options = long_options,
        .help = print_options,
        .takes = takes,
        .set = set,
        .operands = take_operands,
    };
    struct arguments arguments = {.options = "",
                                  .counters = "virtual",
                                  .seed = 1,
                                  .limit_s = 1e6,
                                  .network = NETWORK_SCHWEITZER};

    log_open(LOG_WARNING, false); /* of the agent's parts */
    return cli_main(&cli, &arguments, argc, argv);
}
