/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl --job: a command on the node of a job. */

#include "node_agent/coschedctl/remote.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/coschedctl/ctl.h"

#define WORDS 24

/* Let standard output be FILE, here and not on the node. */
static int redirect(const char *file)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        return fail(CTL_FAILED, "%s: %s", file, strerror(errno));
    return CTL_OK;
}

int ctl_remote(const struct arguments *a, const char *command)
{
    static char self[4096], jobid[32], job[16], node[300];
    char *word[WORDS] = {"srun",      jobid,        "--overlap", "--mem=0",
                         "--nodes=1", "--ntasks=1", "--quiet"};
    size_t n = 7;
    bool screen = !strcmp(command, "top") && isatty(STDIN_FILENO) &&
                  isatty(STDOUT_FILENO);
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length < 0)
        return fail(CTL_FAILED, "/proc/self/exe: %s", strerror(errno));
    if (a->output && redirect(a->output) != CTL_OK)
        return CTL_FAILED;
    snprintf(jobid, sizeof(jobid), "--jobid=%zu", a->run_job);
    snprintf(job, sizeof(job), "%zu", a->run_job);
    word[n++] = screen ? "--pty" : "--input=none";
    if (a->node) {
        snprintf(node, sizeof(node), "--nodelist=%s", a->node);
        word[n++] = node;
    }
    word[n++] = self;
    if (a->socket) {
        word[n++] = "--socket";
        word[n++] = (char *)a->socket;
    }
    word[n++] = (char *)command;
    if (a->json)
        word[n++] = "--json";
    if (a->job)
        word[n++] = (char *)a->job;
    else if (strcmp(command, "top") && ctl_takes_job(command))
        word[n++] = job;
    /* What an allocation around this one says is not for that job. */
    unsetenv("SLURM_MEM_PER_CPU");
    unsetenv("SLURM_MEM_PER_NODE");
    unsetenv("SLURM_CPUS_PER_TASK");
    execvp(word[0], word);
    return fail(CTL_FAILED, "--job: srun: %s", strerror(errno));
}
