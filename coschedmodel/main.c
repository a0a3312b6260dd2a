/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedmodel: the queueing model as a filter. */

#include "coschedmodel/command.h"

/* A command that reads FILE. */
#define COMMAND(name_, options_, help_, details_)                              \
    {.name = #name_, .options = options_, .run = command_##name_,              \
     .operand = "[FILE]", .help = help_, .details = details_,                  \
     .operands = {offsetof(struct arguments, file)}}

static const struct cli_command commands[] = {
    COMMAND(station, "table rho cores method",
            "one memory controller and its cores (M/M/1/N/N)",
            "Input: {\"rho\": R or [R...], \"cores\": N}, or \"lambda\" and "
            "\"mu\"\n"
            "instead of rho: utilisation, response time, throughput, queue and\n"
            "speedup on 1..N cores.  Or {\"mu\": M, \"classes\": [{\"count\": N,\n"
            "\"lambda\": L}...]}: cores of several jobs at once.\n"),
    COMMAND(speedup, "table method machine best-f",
            "speedup of a loop from its profile (LoopPerf-S, -T, Best-F)",
            "Input: {\"machine\": NAME, \"loops\": [{\"name\": ..., \"profiles\":\n"
            "[P] or [P, Q]}...]}: speedup on 1, 2, ... LLC domains over one.\n"),
    COMMAND(utilisation, "table method machine sweep",
            "how well a mix of jobs uses a machine (NuPoCo)",
            "Input: {\"machine\": NAME, \"jobs\": [{\"name\": ..., \"rho\": R or\n"
            "\"rates\": [...], \"cores\": [...]}...]}: the jobs' speeds and the\n"
            "utilisation of cores and controllers.\n"),
    COMMAND(fit, "table", "rho or service times from measurements",
            "Input: {\"samples\": [{\"cores\": N, \"throughput\": X}...]} for\n"
            "rho, or {\"runs\": [{\"reads\": N, \"writes\": N, \"prefetches\": N,\n"
            "\"busy_us\": T}...]} for service times by kind of request.\n"),
    COMMAND(ks, "table bins alpha least",
            "Kolmogorov-Smirnov test of samples",
            "Input: {\"a\": [...], \"b\": [...]}: are both of one distribution?\n"
            "Or {\"counts\": [...]}: are they of a Poisson distribution?  Or what\n"
            "coschedctl requests prints: are those of each region?\n"),
    COMMAND(map, "table rule cores machine",
            "threads to NUMA nodes (critical path, DyNUMA)",
            "Input: {\"requests\": [[N...]...], \"cores\": N or [N...]}, a row for each\n"
            "thread with its requests to each NUMA node; or these rows as text.\n"
            "Optional: \"rule\", \"factor\" (1.5: latency of remote memory) or\n"
            "\"machine\", \"closeness\" (0.75).\n"),
    COMMAND(train, "table seed rounds machine",
            "predictors of concurrency from samples (DyNUMA)",
            "Input: {\"machine\": NAME, \"samples\": [{\"program\": NAME, \"threads\":\n"
            "[[IPC, L, R, B]...], \"time_s\": [T...], \"energy_j\": [E...]}...]}, as\n"
            "coschedsim samples prints: of each core (or LLC domain) on all instructions,\n"
            "local and remote accesses and branch misses per cycle; then time and energy on\n"
            "1, 2, ... cores.  Prints the weights, and the errors for each program\n"
            "when trained without it (--table: only these).\n"),
    {.name = "machine", .options = "", .run = command_machine,
     .operand = "show|check FILE", .help = "show or check a machine description",
     .details = "FILE is a description or the name of a shipped one.\n"
                "  show   print it with all routes\n"
                "  check  print nothing but what is wrong\n",
     .operands = {offsetof(struct arguments, action),
                  offsetof(struct arguments, file)}},
    {0},
};

static const struct cli_option options[] = {
    CLI_OPTION("table", CLI_FLAG, table, NULL, "print a table instead of JSON"),
    CLI_OPTION("rho", CLI_TEXT, rho, "R,...", "instead of FILE, with --cores"),
    CLI_OPTION("cores", CLI_COUNT, cores, "N",
               "instead of FILE, with --rho; map: of each NUMA node",
               .low = 1, .high = STATION_MOST_CORES),
    CLI_OPTION("rule", CLI_TEXT, rule, "NAME",
               "map: critical (default), locality, best-critical, best-locality"),
    CLI_OPTION("method", CLI_TEXT, method, "NAME",
               "speedup: stations (the papers) or closed; others: automatic,\n"
               "exact, approximate, average, linearizer, for utilisation closed"),
    CLI_OPTION("machine", CLI_TEXT, machine, "NAME",
               "this machine: a file, or a shipped description"),
    CLI_OPTION("sweep", CLI_FLAG, sweep, NULL,
               "two jobs: all ways to divide the cores"),
    CLI_OPTION("best-f", CLI_FLAG, best_f, NULL,
               "speedup: service times that fit the \"measured\" speedups best"),
    CLI_OPTION("bins", CLI_COUNT, bins, "N",
               "categories; 0: each number (default: 10; counts: 0)",
               .high = MOST_BINS),
    CLI_OPTION("alpha", CLI_NUMBER, alpha, "P",
               "level of significance (default: 0.05)", .low = 1e-9,
               .high = 1 - 1e-9, .expected = "between 0 and 1"),
    CLI_OPTION("least", CLI_COUNT, least, "N",
               "intervals that a region must have (default: 20)", .low = 2,
               .high = 1e6),
    CLI_OPTION("seed", CLI_COUNT, seed, "N", "of the network's first weights (default: 1)",
               .high = 0x1p53),
    CLI_OPTION("rounds", CLI_COUNT, rounds, "N",
               "of training (default: 1000)", .low = 1, .high = 1e7),
    {0},
};

const char cli_program[] = "coschedmodel";

int main(int argc, char **argv)
{
    static const struct cli cli = {
        .usage = "COMMAND [OPTION]... [FILE]",
        .about = "Reads JSON from FILE or standard input and writes JSON, which\n"
                 "coschedplot draws.\n",
        .status = "0 done, 1 bad input or output, 2 bad command line.",
        .commands = commands,
        .options = options,
    };
    struct arguments arguments = {
        .file = "-", .bins = NO_BINS, .least = 20, .alpha = 0.05,
        .seed = 1, .rounds = 1000};

    return cli_main(&cli, &arguments, argc, argv);
}
