/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedsim: what a policy does to jobs on a machine, in virtual time. */

#include <float.h>

#include "common/log.h"
#include "simulator/coschedsim.h"

#define OPERAND "--machine MACHINE SCENARIO"
/* Options of all commands, and of those that read scenarios. */
#define ALL "machine policy options weights counters noise wait network seed limit " \
            "history stock json "
#define SCENARIO ALL "scenario library "
#define FILE_OPERAND .operands = {offsetof(struct arguments, file)}

static const struct cli_command commands[] = {
    {.name = "run", .options = SCENARIO "trace record explain",
     .run = command_run, .operand = OPERAND,
     .help = "run scenarios and print the results",
     .details =
         "Runs each scenario of the file under each policy: turnaround of each\n"
         "job, makespan, harmonic mean of the speedups over running alone,\n"
         "utilisations, moves and decisions.\n",
     FILE_OPERAND},
    {.name = "compare", .options = SCENARIO "csv", .run = command_compare,
     .operand = OPERAND, .help = "compare policies",
     .details =
         "Runs each scenario under each policy (default: all)\n"
         "and under native time sharing, to which NTT is relative.\n",
     FILE_OPERAND},
    {.name = "sweep", .options = SCENARIO "csv vary", .run = command_sweep,
     .operand = OPERAND, .help = "vary a parameter",
     .details =
         "Runs each scenario under each policy with each value of --vary;\n"
         "several --vary make a grid.  A value may be a range: 8..64/8, 1..64*2.\n"
         "KEY is\n"
         "  cores            of the machine, LLC domain after LLC domain\n"
         "  jobs             of the scenario; more than it has: the same again\n"
         "  arrival          seconds from one job's arrival to the next one's\n"
         "  scale, rates     factor of work, of requests to memory\n"
         "  imbalance, sync_share, llc_loss, llc_power, overlap, latency, barriers\n"
         "                   of parallel regions\n"
         "  JOB.KEY          one of the last nine of one job only\n"
         "  seed, noise      as the options\n"
         "  POLICY:OPTION    of a policy\n"
         "  anything else    option of slurm.conf without its prefix: epoch, ...\n",
     FILE_OPERAND},
    {.name = "samples", .options = "machine library noise network seed ",
     .run = command_samples, .operand = OPERAND,
     .help = "what coschedmodel train learns from",
     .details =
         "Runs each parallel region of the scenarios' programs alone on 1, 2, ...\n"
         "cores, with its data interleaved, on each NUMA node, and at its threads,\n"
         "and prints time, energy and the signatures of its threads as JSON.\n",
     FILE_OPERAND},
    {.name = "replay", .options = ALL "trace record explain",
     .run = command_replay, .operand = "DIRECTORY",
     .help = "run the jobs of a recording under other policies",
     .details =
         "Runs the jobs of a recording (coschedctl record, coschedsim run\n"
         "--record) again under other policies.  A recording has its machine, and\n"
         "what the agent learned of the regions.\n",
     FILE_OPERAND},
    {0},
};

static const struct cli_option options[] = {
    CLI_OPTION("machine", CLI_TEXT, machine, "NAME",
               "a file, or a shipped description"),
    CLI_OPTION("policy", CLI_TEXT, policy, "P,...",
               "policies, each NAME or NAME:OPTION:VALUE;..."),
    CLI_OPTION("scenario", CLI_TEXT, scenario, "NAME", "only this one of the file"),
    CLI_OPTION("library", CLI_TEXT, library, "FILE",
               "programs, instead of those the file names"),
    CLI_OPTION("vary", CLI_TEXTS, vary, "KEY=V,...", "what to vary, and its values",
               .high = ARGUMENTS_VARY),
    CLI_OPTION("options", CLI_TEXT, options, "LIST",
               "the agent's, as in slurm.conf: cosched_epoch=50ms"),
    CLI_OPTION("weights", CLI_TEXT, weights, "FILE",
               "of coschedmodel train, for the policy option concurrency"),
    CLI_OPTION("counters", CLI_TEXT, counters, "NAME",
               "virtual (an exact PMU) or progress (reported work)"),
    CLI_OPTION("noise", CLI_NUMBER, noise, "X",
               "relative standard error of the virtual counters",
               .high = DBL_MAX, .expected = "a number >= 0"),
    CLI_OPTION("wait", CLI_WORD, wait, "HOW",
               "stock OpenMP threads: default, active or passive",
               .expected = "default|active|passive"),
    CLI_OPTION("network", CLI_WORD, network, "METHOD",
               "memory's truth: schweitzer or linearizer",
               .expected = "schweitzer|linearizer"),
    CLI_OPTION("seed", CLI_COUNT, seed, "N", "of everything random (1)",
               .high = 0x1p64, .expected = "a whole number >= 0"),
    CLI_OPTION("limit", CLI_NUMBER, limit_s, "S",
               "give up after so many virtual seconds", .high = DBL_MAX,
               .expected = "a number >= 0"),
    CLI_OPTION("history", CLI_FLAG, history, NULL,
               "the agent knows how long each job takes alone"),
    CLI_OPTION("stock", CLI_FLAG, stock, NULL,
               "stock OpenMP runtimes: cores change by affinity alone"),
    CLI_OPTION("trace", CLI_TEXT, trace, "FILE",
               "write the agent's trace, for Perfetto"),
    CLI_OPTION("record", CLI_TEXT, record, "DIR",
               "write a recording, as coschedctl record does"),
    CLI_OPTION("explain", CLI_FLAG, explain, NULL,
               "with all decisions and their reasons"),
    CLI_OPTION("csv", CLI_FLAG, csv, NULL, "print CSV instead of a table"),
    CLI_OPTION("json", CLI_FLAG, json, NULL,
               "print JSON instead of a table, for coschedplot, too"),
    {0},
};

const char cli_program[] = "coschedsim";

int main(int argc, char **argv)
{
    static const struct cli cli = {
        .usage = "COMMAND --machine MACHINE [OPTION]... FILE",
        .about = "",
        .status = "0 done, 1 bad input or output, 2 bad command line.",
        .commands = commands,
        .options = options,
    };
    struct arguments arguments = {.options = "",
                                  .counters = "virtual",
                                  .seed = 1,
                                  .limit_s = 1e6};

    log_open(LOG_WARNING, false); /* of the agent's parts */
    return cli_main(&cli, &arguments, argc, argv);
}
