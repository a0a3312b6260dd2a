/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl run: a co-scheduled job without Slurm. */

#include "config.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/ctl.h"
#include "protocol/cpulist.h"
#include "protocol/options.h"

#define TIMEOUT_MS 2000
#define COMMAND_NOT_FOUND 127

struct run {
    char socket[108];
    const char *libgomp;
    char **program;
    struct message_request announce;
};

void ctl_run_help(FILE *out)
{
    fputs("  run [OPTIONS] -- PROGRAM...    run a program as co-scheduled job\n"
          "      --job N          job id (default: own process id)\n"
          "      --cpus LIST      CPUs it may use (default: own affinity)\n"
          "      --options TEXT   as the value of sbatch --coschedule\n"
          "      --libgomp DIR    cooperative libgomp (default:\n"
          "                       " COSCHED_LIBGOMPDIR ")\n",
          out);
}

static int set_defaults(struct run *run, const char *socket)
{
    struct errtext err;
    struct cosched_cpuset own;

    run->libgomp = COSCHED_LIBGOMPDIR;
    run->announce.op = MESSAGE_ANNOUNCE;
    run->announce.job = (uint32_t)getpid();
    run->announce.uid = (uint32_t)getuid();
    if (client_socket_path(socket, run->socket, sizeof(run->socket), &err) < 0)
        return ctl_fail(CTL_USAGE, "%s", err.text);
    if (cpuset_get_affinity(0, &own) == 0)
        cpulist_format(&own, run->announce.cores, sizeof(run->announce.cores));
    return 0;
}

/* Copy a bounded argument. */
static int set_text(char *field, size_t size, const char *option,
                    const char *value)
{
    if (strlen(value) >= size)
        return ctl_fail(CTL_USAGE, "%s: longer than %zu bytes", option,
                        size - 1);
    strcpy(field, value);
    return 0;
}

static int set_option(struct run *run, int option, const char *value)
{
    struct errtext err;
    struct cosched_cpuset set;
    struct job_options options;

    switch (option) {
    case 'J':
        return ctl_parse_job(value, &run->announce.job);
    case 'c':
        if (cpulist_parse(value, &set, &err) < 0)
            return ctl_fail(CTL_USAGE, "--cpus %s", err.text);
        return set_text(run->announce.cores, sizeof(run->announce.cores),
                        "--cpus", value);
    case 'O':
        if (job_options_parse(&options, value, &err) < 0)
            return ctl_fail(CTL_USAGE, "--options %s", err.text);
        return set_text(run->announce.options, sizeof(run->announce.options),
                        "--options", value);
    case 'l':
        run->libgomp = value;
        return 0;
    default:
        return CTL_USAGE;
    }
}

static int parse(struct run *run, int argc, char **argv)
{
    static const struct option options[] = {
        {"job", required_argument, NULL, 'J'},
        {"cpus", required_argument, NULL, 'c'},
        {"options", required_argument, NULL, 'O'},
        {"libgomp", required_argument, NULL, 'l'},
        {0},
    };
    int option;

    optind = 0;
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        int rc = set_option(run, option, optarg);
        if (rc)
            return rc;
    }
    if (optind == argc)
        return ctl_fail(CTL_USAGE, "run: no program given");
    run->program = argv + optind;
    const char *name = strrchr(run->program[0], '/');
    snprintf(run->announce.name, sizeof(run->announce.name), "%s",
             name ? name + 1 : run->program[0]);
    return 0;
}

static int ask(const struct run *run, const struct message_request *request,
               struct errtext *err)
{
    struct client *client = client_open(run->socket, TIMEOUT_MS, err);
    int rc = client ? client_call(client, request, NULL, NULL, 0, NULL, err)
                    : -1;

    client_close(client);
    return rc;
}

/* In the child: the environment of a co-scheduled job, then the program. */
static void become_program(const struct run *run, int go)
{
    char job[16], path[8192], byte;
    const char *old = getenv("LD_LIBRARY_PATH");

    snprintf(job, sizeof(job), "%u", run->announce.job);
    snprintf(path, sizeof(path), "%s%s%s", run->libgomp, old && *old ? ":" : "",
             old ? old : "");
    setenv("COSCHED_SOCKET", run->socket, 1);
    setenv("COSCHED_JOB", job, 1);
    setenv("LD_LIBRARY_PATH", path, 1);
    /* The agent must know this process before it has children. */
    while (read(go, &byte, 1) < 0 && errno == EINTR)
        ;
    execvp(run->program[0], run->program);
    ctl_fail(COMMAND_NOT_FOUND, "%s: %s", run->program[0], strerror(errno));
    _exit(COMMAND_NOT_FOUND);
}

/* Wait for CHILD; its exit status as a shell has it. */
static int wait_for(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return CTL_REFUSED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int ctl_run(const char *socket, int argc, char **argv)
{
    struct run run = {0};
    struct errtext err = {""};
    int go[2];
    int rc = set_defaults(&run, socket);

    if (rc == 0)
        rc = parse(&run, argc, argv);
    if (rc)
        return rc;
    bool admitted = ask(&run, &run.announce, &err) == 0;
    if (!admitted)
        ctl_fail(0, "%s; the program runs without co-scheduling", err.text);
    if (pipe(go) < 0)
        return ctl_fail(CTL_REFUSED, "pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        close(go[1]);
        become_program(&run, go[0]);
    }
    close(go[0]);
    if (child < 0)
        return ctl_fail(CTL_REFUSED, "fork: %s", strerror(errno));
    struct message_request request = {
        .op = MESSAGE_TASK, .job = run.announce.job, .pid = child};
    if (admitted && ask(&run, &request, &err) < 0)
        ctl_fail(0, "task: %s", err.text);
    close(go[1]);
    /* As a shell does: what ends the program from the terminal ends us too. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    rc = wait_for(child);
    request.op = MESSAGE_WITHDRAW;
    if (admitted)
        ask(&run, &request, NULL);
    return rc;
}
