/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl run: a co-scheduled job without Slurm. */

#include "config.h"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"
#include "protocol/cpulist.h"
#include "common/fd.h"
#include "protocol/options.h"

#define TIMEOUT_MS 2000
#define CANNOT_EXECUTE 126
#define NOT_FOUND 127

struct run {
    char socket[108];
    const char *munge; /* munged's socket, NULL: its default */
    bool admitted;     /* the agent knows the job */
    const char *libgomp;
    char **program;
    struct message_request announce;
};

void ctl_run_help(FILE *out)
{
    fputs("  run [OPTIONS] -- PROGRAM...      run a program as co-scheduled job\n"
          "      --job N          job id (default: own process id)\n"
          "      --cpus LIST      its cores as Slurm counts them (default: own\n"
          "                       affinity)\n"
          "      --options TEXT   as the value of sbatch --coschedule\n"
          "      --libgomp DIR    cooperative libgomp (default:\n"
          "                       " COSCHED_LIBGOMPDIR ")\n"
          "      --munge SOCKET   munged's socket, for an agent that asks for it\n",
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
        return fail(CTL_USAGE, "%s", err.text);
    if (cpuset_get_affinity(0, &own) == 0)
        cpulist_format(&own, run->announce.cores, sizeof(run->announce.cores));
    return 0;
}

/* Copy a bounded argument. */
static int set_text(char *field, size_t size, const char *option,
                    const char *value)
{
    if (strlen(value) >= size)
        return fail(CTL_USAGE, "run: %s: longer than %zu bytes", option,
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
            return fail(CTL_USAGE, "run: --cpus %s", err.text);
        return set_text(run->announce.cores, sizeof(run->announce.cores),
                        "--cpus", value);
    case 'O':
        if (job_options_parse(&options, value, &err) < 0)
            return fail(CTL_USAGE, "run: --options %s", err.text);
        return set_text(run->announce.options, sizeof(run->announce.options),
                        "--options", value);
    case 'l':
        run->libgomp = value;
        return 0;
    default:
        run->munge = value;
        return 0;
    }
}

/* What stands behind "run".  0, or the exit status; without a program there is
 * no more to do. */
static int parse(struct run *run, int argc, char **argv)
{
    static const struct option options[] = {
        {"job", required_argument, NULL, 'J'},
        {"cpus", required_argument, NULL, 'c'},
        {"options", required_argument, NULL, 'O'},
        {"libgomp", required_argument, NULL, 'l'},
        {"munge", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int option;

    optind = 0;
    while ((option = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
        if (option == 'h') {
            ctl_run_help(stdout);
            return 0;
        }
        int rc = option == '?' || option == ':'
                     ? cli_bad_option("run", options, option, argv)
                     : set_option(run, option, optarg);
        if (rc)
            return rc;
    }
    if (optind == argc)
        return fail(CTL_USAGE, "run: no program given");
    run->program = argv + optind;
    const char *name = strrchr(run->program[0], '/');
    snprintf(run->announce.name, sizeof(run->announce.name), "%s",
             name ? name + 1 : run->program[0]);
    return 0;
}

/* Send REQUEST, signed if the agent wants that. */
static int ask(const struct run *run, const struct message_request *request,
               struct errtext *err)
{
    struct client *client = client_open(run->socket, TIMEOUT_MS, err);
    int rc = -1;

    if (client)
        rc = client_call(client, request, NULL, NULL, 0, NULL, err);
    if (client && rc < 0 && errno == EPERM &&
        client_use_munge(client, run->munge, NULL) == 0)
        rc = client_call(client, request, NULL, NULL, 0, NULL, err);
    client_close(client);
    return rc;
}

/* The environment of a co-scheduled job. */
static int set_environment(const struct run *run)
{
    const char *old = getenv("LD_LIBRARY_PATH");
    char job[16], *path;

    snprintf(job, sizeof(job), "%u", run->announce.job);
    if (asprintf(&path, "%s%s%s", run->libgomp, old && *old ? ":" : "",
                 old ? old : "") < 0)
        return -1;
    int rc = setenv("COSCHED_SOCKET", run->socket, 1) < 0 ||
                     setenv("COSCHED_JOB", job, 1) < 0 ||
                     setenv("LD_LIBRARY_PATH", path, 1) < 0
                 ? -1
                 : 0;
    free(path);
    return rc;
}

/* In the child: wait for the end of GO, then be the program. */
static void become_program(const struct run *run, int go)
{
    char byte;

    if (run->admitted && set_environment(run) < 0)
        fail(0, "run: environment: %s", strerror(errno));
    /* The agent must know this process before it has children. */
    (void)fd_read_all(go, &byte, 1);
    execvp(run->program[0], run->program);
    int status = errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
    fail(status, "run: %s: %s", run->program[0], strerror(errno));
    _exit(status);
}

/* Start the program as a task of the job.  Its pid, or -1. */
static pid_t start(const struct run *run)
{
    struct message_request task = {
        .op = MESSAGE_TASK, .job = run->announce.job};
    struct errtext err = {""};
    int go[2];

    if (pipe2(go, O_CLOEXEC) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        close(go[1]);
        become_program(run, go[0]);
    }
    task.pid = child;
    if (child > 0 && run->admitted && ask(run, &task, &err) < 0)
        fail(0, "run: task: %s", err.text);
    int saved = errno;
    close(go[0]);
    close(go[1]);
    errno = saved;
    return child;
}

static volatile sig_atomic_t program_pid;

static void pass_on(int number)
{
    kill((pid_t)program_pid, number);
}

/* Wait for CHILD; its exit status as a shell has it.  The job must be withdrawn
 * whatever ends it, so signals that ask us to end go to the program. */
static int wait_for(pid_t child)
{
    struct sigaction action = {.sa_handler = pass_on};
    int status;

    program_pid = child;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    /* The terminal sends these to the program, too. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return CTL_FAILED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int ctl_run(const char *socket, int argc, char **argv)
{
    struct run run = {0};
    struct errtext err = {""};
    struct message_request withdraw = {.op = MESSAGE_WITHDRAW};
    int rc = set_defaults(&run, socket);

    if (rc == 0)
        rc = parse(&run, argc, argv);
    if (rc || !run.program)
        return rc;
    run.admitted = ask(&run, &run.announce, &err) == 0;
    if (!run.admitted)
        fail(0, "run: %s; the program runs without co-scheduling",
             err.text);
    pid_t child = start(&run);
    rc = child < 0 ? fail(CTL_FAILED, "run: %s: %s", run.program[0],
                          strerror(errno))
                   : wait_for(child);
    withdraw.job = run.announce.job;
    if (run.admitted && ask(&run, &withdraw, &err) < 0)
        fail(0, "run: withdraw: %s", err.text);
    return rc;
}
