/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedd: start, serve, stop. */

#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "node_agent/daemon/agent.h"
#include "common/fd.h"
#include "node_agent/daemon/event.h"
#include "node_agent/daemon/request.h"
#include "node_agent/recording/journal_replay.h"
#include "common/log.h"
#include "node_agent/enforce/privilege.h"
#include "node_agent/daemon/settings.h"
#include "node_agent/enforce/supervisor.h"

/* ---- into the background, with the news of a failed start ----------------- */

/* End of the pipe to the waiting parent; -1 in the foreground. */
static int parent_fd = -1;

/* Exit as the child tells: one byte '+' is success, all else its error. */
__attribute__((noreturn)) static void wait_for_child(int fd)
{
    char text[512] = "";
    ssize_t used = fd_read_all(fd, text, sizeof(text) - 1);

    if (!strcmp(text, "+"))
        _exit(0);
    fprintf(stderr, "coschedd: error: %s\n",
            used > 0 ? text : "ended during its start");
    _exit(1);
}

/* Fork into the background.  The parent waits until the child calls daemon_started()
 * and exits 0, or prints what daemon_failed() says and exits 1, also when the child
 * dies silently.  Returns in the child only; -1 with errno when forking failed. */
static int daemon_fork(struct errtext *err)
{
    int pipe_fds[2];

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return errtext_set(err, errno, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return errtext_set(err, errno, "fork: %s", strerror(errno));
    if (pid > 0) {
        close(pipe_fds[1]);
        wait_for_child(pipe_fds[0]);
    }
    close(pipe_fds[0]);
    parent_fd = pipe_fds[1];
    setsid();
    if (chdir("/") < 0)
        return errtext_set(err, errno, "/: %s", strerror(errno));
    return 0;
}

static void tell_parent(const char *text)
{
    (void)fd_write_all(parent_fd, text, strlen(text));
    close(parent_fd);
    parent_fd = -1;
}

/* Start-up has succeeded: release the parent, close the standard streams. */
static void daemon_started(void)
{
    if (parent_fd < 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
    tell_parent("+");
}

/* Start-up has failed with TEXT.  Nothing happens in the foreground. */
static void daemon_failed(const char *text)
{
    if (parent_fd >= 0)
        tell_parent(text);
}

/* ---- serving --------------------------------------------------------------- */

/* Four descriptors per attached process and one per task and client. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* The agent has to run within milliseconds while all cores compute.  Not
 * permitted to ordinary users, who do without. */
#define NICE_LEVEL (-10)

/* SIGTERM and SIGINT end the loop; SIGCHLD reports the helper's end. */
static int watch_signals(sd_event *event, struct errtext *err)
{
    sigset_t set;
    int rc;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return errtext_set(err, errno, "signals: %s", strerror(errno));
    /* Without a handler the loop ends. */
    if ((rc = sd_event_add_signal(event, NULL, SIGTERM, NULL, NULL)) < 0 ||
        (rc = sd_event_add_signal(event, NULL, SIGINT, NULL, NULL)) < 0)
        return errtext_set(err, -rc, "event loop: %s", strerror(-rc));
    return 0;
}

static int write_pidfile(const char *path, struct errtext *err)
{
    if (!*path)
        return 0;
    FILE *file = fopen(path, "we");
    if (!file)
        return errtext_set(err, errno, "--pidfile %s: %s", path,
                           strerror(errno));
    fprintf(file, "%d\n", (int)getpid());
    if (fclose(file))
        return errtext_set(err, errno, "--pidfile %s: %s", path,
                           strerror(errno));
    return 0;
}

static int serve(const struct settings *settings, struct supervisor *supervisor,
                 struct errtext *err)
{
    sd_event *event = NULL;
    struct agent *agent = NULL;
    int rc = sd_event_new(&event);

    if (rc < 0)
        return errtext_set(err, -rc, "event loop: %s", strerror(-rc));
    rc = -1;
    if (watch_signals(event, err) == 0 && privilege_drop(err) == 0 &&
        (agent = agent_new(settings, supervisor, event, &request_handler, err)) &&
        write_pidfile(settings->pidfile, err) == 0) {
        daemon_started();
        sd_notify(0, "READY=1");
        /* A loop that stands still is no agent: systemd starts another. */
        sd_event_set_watchdog(event, true);
        log_notice("coschedd %s serves node %s at %s", PACKAGE_VERSION,
                   settings->node, settings->socket);
        rc = sd_event_loop(event);
        if (rc < 0)
            rc = errtext_set(err, -rc, "event loop: %s", strerror(-rc));
        sd_notify(0, "STOPPING=1");
        log_notice("stopping");
    }
    agent_free(agent);
    if (rc >= 0 && settings->pidfile[0])
        unlink(settings->pidfile);
    sd_event_unref(event);
    return rc < 0 ? -1 : 0;
}

/* --replay: what the recorded node would decide now. */
static int replay(const struct settings *settings)
{
    struct journal_result result;
    struct errtext err = {""};
    bool all = settings->log_level == LOG_DEBUG;

    log_open(all ? LOG_DEBUG : LOG_WARNING, false);
    int rc = journal_replay(
        settings->replay, settings->policy_given ? settings->policy : NULL,
        all, stdout, &result, &err);

    if (rc < 0) {
        fprintf(stderr, "coschedd: error: %s\n", err.text);
        return 2;
    }
    printf("%zu intervals, %zu decisions, %zu of them differ\n",
           result.samples, result.decisions, result.different);
    return result.different ? 1 : 0;
}

int main(int argc, char **argv)
{
    static struct settings settings;
    struct supervisor *supervisor = NULL;
    struct errtext err = {""};

    int rc = settings_parse(&settings, argc, argv, &err);
    if (rc > 0)
        return 0;
    if (rc < 0) {
        fprintf(stderr, "coschedd: error: %s\n", err.text);
        return 2;
    }
    if (settings.replay[0])
        return replay(&settings);
    umask(022);
    rc = settings.foreground ? 0 : daemon_fork(&err);
    log_open(settings.log_level, !settings.foreground);
    raise_descriptor_limit();
    setpriority(PRIO_PROCESS, 0, NICE_LEVEL);
    if (rc == 0 && !(supervisor = supervisor_new()))
        rc = errtext_set(&err, ENOMEM, "out of memory");
    if (rc == 0)
        rc = serve(&settings, supervisor, &err);
    if (rc < 0) {
        log_error("%s", err.text);
        daemon_failed(err.text);
    }
    /* Whatever is still stopped or held is set free by the supervisor. */
    supervisor_free(supervisor);
    return rc < 0 ? 1 : 0;
}
