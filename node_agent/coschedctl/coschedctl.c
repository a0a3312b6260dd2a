/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: ask the agent of this node, and look at the node. */

#include "config.h"

#include <string.h>

#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"
#include "node_agent/coschedctl/remote.h"

#define COMMAND(name_, options_, operand_, help_, ...)                         \
    {.name = #name_, .options = options_, .run = run_##name_,                  \
     .operand = operand_, .help = help_, __VA_ARGS__}

/* Commands that ask an agent may ask that of a job's node, by --job. */
#define ANYWHERE(name)                                                         \
    static int run_##name(const struct arguments *a)                           \
    {                                                                          \
        if (a->node && !a->run_job)                                            \
            return fail(CTL_USAGE, "%s: --node: needs --job", #name);          \
        return a->run_job ? ctl_remote(a, #name) : ctl_##name(a);              \
    }
#define HERE(name)                                                             \
    static int run_##name(const struct arguments *a)                           \
    {                                                                          \
        return a->run_job || a->node                                           \
                   ? fail(CTL_USAGE, "%s: --%s: not for this command", #name,  \
                          a->node ? "node" : "job")                            \
                   : ctl_##name(a);                                            \
    }
ANYWHERE(status)
ANYWHERE(top)
ANYWHERE(explain)
ANYWHERE(why)
ANYWHERE(trace)
ANYWHERE(config)
ANYWHERE(ping)
ANYWHERE(health)
ANYWHERE(counters)
HERE(jobs)
HERE(drain)
HERE(resume)
HERE(selftest)
HERE(record)
HERE(requests)
HERE(machine)
HERE(calibrate)
#define run_run ctl_run
#define JOB .operands = {offsetof(struct arguments, job)}
#define FILE_OPERAND .operands = {offsetof(struct arguments, file)}

static const struct cli_command commands[] = {
    COMMAND(status, "json", "[JOB]",
            "jobs of this node, their CPUs, what they do", JOB),
    COMMAND(top, "", "[JOB]", "cores and jobs while they run, anew each second",
            JOB),
    COMMAND(explain, "json", "[JOB]", "decisions, each with its reason", JOB),
    COMMAND(why, "json", "JOB",
            "why its processes follow their share of cores, or do not", JOB),
    COMMAND(trace, "output", "[JOB]",
            "cores over time (Chrome trace event JSON)", JOB),
    COMMAND(jobs, "all json", "",
            "one's co-scheduled jobs, as Slurm knows them"),
    COMMAND(config, "json", "", "settings in force"),
    COMMAND(ping, "json", "", "is there an agent?"),
    COMMAND(health, "timeout json", "",
            "one line for HealthCheckProgram; 0 well, 1 not quite, 3 no agent"),
    COMMAND(drain, "reason munge", "",
            "stop sharing: every job has what Slurm gave it"),
    COMMAND(resume, "munge", "", "share again"),
    COMMAND(counters, "json", "",
            "what can be counted here, and why not more"),
    COMMAND(selftest, "output", "",
            "try the counters under load; a report to send"),
    COMMAND(record, "stop munge", "DIR",
            "let the agent record what happens on this node",
            FILE_OPERAND),
    COMMAND(requests, "metric per", "DIR|FILE",
            "the memory requests of a recording, for coschedmodel ks",
            .details = "FILE may have numbers, one a line, as well, or be what\n"
                       "calibrate wrote.\n",
            FILE_OPERAND),
    COMMAND(machine, "json", "[FILE]",
            "what the model knows of this node, or FILE", FILE_OPERAND),
    COMMAND(calibrate, "output quick force size counters", "",
            "measure service times of memory and links"),
    COMMAND(run, "job cpus options libgomp munge", "-- PROGRAM...",
            "run a program as co-scheduled job",
            .rest = offsetof(struct arguments, program)),
    {0},
};

static const struct cli_option options[] = {
    CLI_OPTION("json", CLI_FLAG, json, NULL, "the answer as JSON"),
    CLI_OPTION("output", CLI_TEXT, output, "FILE",
               "write there (calibrate: the machine description, which\n"
               "coschedplot draws)",
               .letter = 'o'),
    CLI_OPTION("timeout", CLI_NUMBER, timeout_s, "SECONDS",
               "to wait for the agent (default: 2)", .low = 0.01, .high = 60,
               .expected = "from 0.01 to 60 seconds"),
    CLI_OPTION("reason", CLI_TEXT, reason, "TEXT", "shown by status and health"),
    CLI_OPTION("stop", CLI_FLAG, stop, NULL, "end the recording"),
    CLI_OPTION("metric", CLI_WORD, metric, "NAME",
               "memory, job-traffic or read-misses (default: the first there)",
               .expected = "memory|job-traffic|read-misses"),
    CLI_OPTION("per", CLI_NUMBER, per_us, "US",
               "scale counts to intervals of that length", .low = 1e-3,
               .high = 1e9, .expected = "microseconds"),
    CLI_OPTION("quick", CLI_FLAG, quick, NULL,
               "smaller arrays, fewer repetitions"),
    CLI_OPTION("force", CLI_FLAG, force, NULL, "also while others use the node"),
    CLI_OPTION("size", CLI_COUNT, mib, "MIB", "of each of three arrays",
               .low = 1, .high = 4096, .expected = "1 to 4096 MiB"),
    CLI_OPTION("counters", CLI_TEXT, counters, "NAME",
               "as of coschedd; none: by time alone"),
    CLI_OPTION("all", CLI_FLAG, all, NULL, "those of all users"),
    CLI_OPTION("job", CLI_COUNT, run_job, "N",
               "ask on the first node of job N, by a step of it (srun);\n"
               "run: job id (default: own process id)",
               .low = 1, .high = UINT32_MAX, .expected = "a job id"),
    CLI_OPTION("node", CLI_TEXT, node, "NAME", "--job: on this node of it"),
    CLI_OPTION("cpus", CLI_TEXT, cpus, "LIST",
               "its cores as Slurm counts them (default: own affinity)"),
    CLI_OPTION("options", CLI_TEXT, options, "TEXT",
               "as the value of sbatch --coschedule"),
    CLI_OPTION("libgomp", CLI_TEXT, libgomp, "DIR",
               "cooperative libgomp (default:\n" COSCHED_LIBGOMPDIR ")"),
    CLI_OPTION("munge", CLI_TEXT, munge, "SOCKET",
               "munged's socket (default: that of libmunge)"),
    CLI_OPTION("socket", CLI_TEXT, socket, "PATH",
               "the agent's socket (default: $COSCHED_SOCKET, else\n"
               COSCHED_RUNDIR "/coschedd.sock); %n is the node"),
    {0},
};

const char cli_program[] = "coschedctl";

bool ctl_takes_job(const char *name)
{
    for (const struct cli_command *c = commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c->operands[0] == offsetof(struct arguments, job);
    return false;
}

int main(int argc, char **argv)
{
    static const struct cli cli = {
        .usage = "[--socket PATH | --job N] COMMAND [OPTION]... [ARGUMENT]...",
        .about = "",
        .status = "0 done, 1 failed or refused by the agent, 2 bad command\n"
                  "line, 3 no agent; run: that of the program.",
        .commands = commands,
        .options = options,
        .common = "socket job node",
    };
    struct arguments arguments = {.timeout_s = 2,
                                  .counters = "auto",
                                  .metric = -1,
                                  .libgomp = COSCHED_LIBGOMPDIR};

    return cli_main(&cli, &arguments, argc, argv);
}
