/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl run: a co-scheduled job without Slurm. */

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"
#include "protocol/cpulist.h"
#include "common/fd.h"
#include "protocol/job_library.h"
#include "protocol/options.h"

#define TIMEOUT_MS     2000
#define CANNOT_EXECUTE 126
#define NOT_FOUND      127

struct run {
    const struct arguments *a;
    char socket[108];
    bool admitted; /* the agent knows the job, */
    bool interleave; /* and wants what one thread touches first on all NUMA nodes */
    struct message_request announce;
};

/* Copy a bounded argument. */
static int set_text(char *field, size_t size, const char *option,
                    const char *value)
{
    if (strlen(value) >= size)
        return fail(CTL_USAGE, "run: %s: longer than %zu bytes", option,
                    size - 1);
    strcpy(field, value);
    return CTL_OK;
}

/* The job as A describes it. */
static int describe(struct run *run, const struct arguments *a)
{
    struct message_request *job = &run->announce;
    struct job_options options;
    struct cosched_cpuset set;
    struct errtext err;
    int rc = CTL_OK;

    *run = (struct run){.a = a};
    job->op = MESSAGE_ANNOUNCE;
    job->job = (uint32_t)(a->run_job ? a->run_job : (size_t)getpid());
    job->uid = (uint32_t)getuid();
    if (client_socket_path(a->socket, run->socket, sizeof(run->socket), &err) <
        0)
        return fail(CTL_USAGE, "%s", err.text);
    if (a->cpus && cpulist_parse(a->cpus, &set, &err) < 0)
        return fail(CTL_USAGE, "run: --cpus %s", err.text);
    if (a->options && job_options_parse(&options, a->options, &err) < 0)
        return fail(CTL_USAGE, "run: --options %s", err.text);
    if (a->cpus)
        rc = set_text(job->cores, sizeof(job->cores), "--cpus", a->cpus);
    else if (cpuset_get_affinity(0, &set) == 0)
        cpulist_format(&set, job->cores, sizeof(job->cores));
    if (rc == CTL_OK && a->options)
        rc = set_text(job->options, sizeof(job->options), "--options",
                      a->options);
    if (rc == CTL_OK && !a->program[0])
        rc = fail(CTL_USAGE, "run: no program given");
    if (rc != CTL_OK)
        return rc;
    const char *name = strrchr(a->program[0], '/');
    snprintf(job->name, sizeof(job->name), "%s",
             name ? name + 1 : a->program[0]);
    return CTL_OK;
}

/* Send REQUEST, signed if the agent wants that.  REPLY as of ctl_call(). */
static int ask(const struct run *run, const struct message_request *request, json_t **reply,
               struct errtext *err)
{
    return ctl_call(run->socket, run->a->munge, TIMEOUT_MS, request, reply, NULL,
                    err) == 0
               ? 0
               : -1;
}

/* Announce the job. */
static bool announce(struct run *run, struct errtext *err)
{
    json_t *reply = NULL;

    if (ask(run, &run->announce, &reply, err) < 0)
        return false;
    run->interleave = json_is_true(json_object_get(reply, "interleave"));
    json_decref(reply);
    return true;
}

/* Lead the program to our libgomp, unless the job refuses it. */
static int set_library(const struct run *run)
{
    struct job_options options;
    const char *name, *old;
    char path[PATH_MAX];
    int rc = 0;

    if (job_options_parse(&options, run->announce.options, NULL) == 0 &&
        options.libgomp)
        return setenv("COSCHED_LIBGOMP", "stock", 1);
    for (size_t i = 0; (name = job_library_files[i]); i++) {
        snprintf(path, sizeof(path), "%s/%s", run->a->libgomp, name);
        if (access(path, R_OK) < 0)
            return fail(0, "run: %s: %s; the program keeps its own libgomp",
                        path, strerror(errno));
    }
    for (size_t i = 0; rc == 0 && (name = job_library_variables[i]); i++) {
        old = getenv(name);
        size_t size = strlen(run->a->libgomp) + (old ? strlen(old) : 0) + 32;
        char *value = malloc(size);
        rc = value
                 ? job_library_value(i, run->a->libgomp, old, true, value, size)
                 : -1;
        if (rc == 0)
            rc = setenv(name, value, 1);
        else if (rc > 0)
            rc = 0;
        free(value);
    }
    return rc;
}

/* The environment of a co-scheduled job. */
static int set_environment(const struct run *run)
{
    char job[16];

    snprintf(job, sizeof(job), "%u", run->announce.job);
    return setenv("COSCHED_SOCKET", run->socket, 1) < 0 ||
                   setenv("COSCHED_JOB", job, 1) < 0 ||
                   (run->interleave && setenv("COSCHED_MEMORY", "interleave", 1) < 0)
               ? -1
               : set_library(run);
}

/* In the child: wait for the end of GO, then be the program. */
static void become_program(const struct run *run, int go)
{
    char byte;

    if (run->admitted && set_environment(run) < 0)
        fail(0, "run: environment: %s", strerror(errno));
    /* The agent must know this process before it has children. */
    (void)fd_read_all(go, &byte, 1);
    execvp(run->a->program[0], run->a->program);
    int status = errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
    fail(status, "run: %s: %s", run->a->program[0], strerror(errno));
    _exit(status);
}

/* Start the program as a task of the job.  Its pid, or -1. */
static pid_t start(const struct run *run)
{
    struct message_request task = {.op = MESSAGE_TASK,
                                   .job = run->announce.job};
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
    if (child > 0 && run->admitted && ask(run, &task, NULL, &err) < 0)
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

int ctl_run(const struct arguments *a)
{
    struct run run;
    struct errtext err = {""};
    struct message_request withdraw = {.op = MESSAGE_WITHDRAW};
    int rc = describe(&run, a);

    if (rc)
        return rc;
    run.admitted = announce(&run, &err);
    if (!run.admitted)
        fail(0, "run: %s; the program runs without co-scheduling", err.text);
    pid_t child = start(&run);
    rc = child < 0
             ? fail(CTL_FAILED, "run: %s: %s", a->program[0], strerror(errno))
             : wait_for(child);
    withdraw.job = run.announce.job;
    if (run.admitted && ask(&run, &withdraw, NULL, &err) < 0)
        fail(0, "run: withdraw: %s", err.text);
    return rc;
}
