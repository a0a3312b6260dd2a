/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A process that undoes what the agent did to others, should the agent die. */

#include "node_agent/enforce/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "node_agent/enforce/cgroup.h"
#include "node_agent/enforce/freezer.h"
#include "node_agent/enforce/heirs.h"
#include "node_agent/enforce/ledger.h"
#include "node_agent/enforce/privilege.h"
#include "node_agent/enforce/proc.h"
#include "node_agent/enforce/stopper.h"
#include "protocol/cpulist.h"

/* The supervisor of an agent that was killed continues thousands of processes
 * in less. */
#define WAIT_MS 5000

/* Entries looked at by supervisor_tidy(). */
#define TIDY 8

struct supervisor {
    struct ledger *ledger; /* NULL: not started */
    int fd;                /* closed by the agent's end; -1: none */
    pid_t pid;             /* 0: none */
    struct log_limit told;
    struct errtext problem;
};

/* ---- undoing ---------------------------------------------------------------
 */

static void undo(const struct ledger_entry *entry)
{
    switch (entry->what) {
    case LEDGER_NARROWED:
        cgroup_restore(entry->path, NULL, NULL);
        break;
    case LEDGER_HELD:
        heirs_widen(entry->pid, entry->start, &entry->granted);
        break;
    case LEDGER_FROZEN:
        freezer_set(entry->path, false, NULL);
        break;
    case LEDGER_STOPPED:
        stopper_undo(entry->pid, entry->start, entry->again);
        break;
    default:
        break;
    }
}

static size_t undo_all(struct ledger *ledger)
{
    heirs_widen_all(ledger);
    return ledger_undo(ledger, undo);
}

/* ---- the process ------------------------------------------------------------
 */

__attribute__((noreturn)) static void supervisor_main(struct ledger *ledger,
                                                      int agent)
{
    int kept[] = {agent, ledger_lock(ledger)};
    char c;

    prctl(PR_SET_NAME, "coschedd-superv");
    fd_drop_others(kept, 2);
    privilege_drop(NULL);
    /* It must outlive a signal sent to the whole group or session. */
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    while (read(kept[0], &c, 1) < 0 && errno == EINTR)
        ;
    undo_all(ledger);
    _exit(0);
}

/* Start the process.  False, and the problem says why. */
static bool start(struct supervisor *s)
{
    int ends[2];

    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        errtext_set(&s->problem, errno, "supervisor: pipe: %s",
                    strerror(errno));
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        supervisor_main(s->ledger, ends[0]);
    }
    close(ends[0]);
    if (pid < 0) {
        errtext_set(&s->problem, errno, "supervisor: fork: %s",
                    strerror(errno));
        close(ends[1]);
        return false;
    }
    s->fd = ends[1];
    s->pid = pid;
    s->problem.text[0] = '\0';
    return true;
}

struct supervisor *supervisor_new(void)
{
    struct supervisor *s = calloc(1, sizeof(*s));

    if (s)
        s->fd = -1;
    return s;
}

int supervisor_start(struct supervisor *s, const char *path,
                     struct errtext *err)
{
    size_t count;

    if (!s)
        return 0;
    if (!(s->ledger = ledger_new(path, WAIT_MS, undo_all, &count, err)))
        return -1;
    if (count)
        log_notice("undid %zu thing%s that an agent before had done to "
                   "processes and cgroups",
                   count, count == 1 ? "" : "s");
    if (*ledger_problem(s->ledger))
        log_warn("%s; only the supervisor undoes what this agent does",
                 ledger_problem(s->ledger));
    if (!start(s))
        return errtext_set(err, errno, "%s", s->problem.text);
    return 0;
}

/* Has the process ended?  If it lives, it is not to take our end for the agent's. */
static bool ended(const struct supervisor *s)
{
    pid_t pid;

    do
        pid = waitpid(s->pid, NULL, WNOHANG);
    while (pid < 0 && errno == EINTR);
    return pid;
}

bool supervisor_ready(struct supervisor *s)
{
    if (!s)
        return true;
    if (!s->ledger)
        return false;
    if (s->pid && !ended(s))
        return true;
    bool tell = log_limit_allows(&s->told, 0, clock_ns());
    if (s->pid && tell)
        log_warn("the supervisor (process %d) has ended; another is started",
                 (int)s->pid);
    s->pid = 0;
    if (start(s))
        return true;
    if (tell)
        log_error("%s: nothing is stopped or pinned", s->problem.text);
    return false;
}

const char *supervisor_problem(struct supervisor *s)
{
    return supervisor_ready(s) ? ""
           : *s->problem.text  ? s->problem.text
                               : "the supervisor was not started";
}

/* ---- notes
 * ------------------------------------------------------------------- */

static int note(struct supervisor *s, const struct ledger_entry *entry,
                size_t *number)
{
    if (!s)
        return 0;
    if (!s->ledger) {
        errno = ESRCH;
        return -1;
    }
    if ((*number = ledger_add(s->ledger, entry)))
        return 0;
    int saved = errno;
    if (log_limit_allows(&s->told, 0, clock_ns()))
        log_error("supervisor: cannot note what is to be undone: %s",
                  strerror(saved));
    errno = saved;
    return -1;
}

int supervisor_will_stop(struct supervisor *s, pid_t pid, uint64_t start,
                         bool again, size_t *number)
{
    return note(
        s,
        &(struct ledger_entry){
            .what = LEDGER_STOPPED, .pid = pid, .start = start, .again = again},
        number);
}

int supervisor_will_hold(struct supervisor *s, uint32_t job, pid_t pid, uint64_t start,
                         const struct cosched_cpuset *granted, size_t *number)
{
    return note(s,
                &(struct ledger_entry){.what = LEDGER_HELD,
                                       .pid = pid,
                                       .start = start,
                                       .granted = *granted,
                                       .job = job},
                number);
}

void supervisor_saw(struct supervisor *s, uint64_t ticks)
{
    if (s && s->ledger)
        ledger_see(s->ledger, ticks);
}

static int note_group(struct supervisor *s, enum ledger_what what,
                      const char *path, size_t *number)
{
    struct ledger_entry entry = {.what = what};

    if (strlen(path) >= sizeof(entry.path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(entry.path, path);
    return note(s, &entry, number);
}

int supervisor_will_narrow(struct supervisor *s, const char *path,
                           size_t *number)
{
    return note_group(s, LEDGER_NARROWED, path, number);
}

int supervisor_will_freeze(struct supervisor *s, const char *path,
                           size_t *number)
{
    return note_group(s, LEDGER_FROZEN, path, number);
}

void supervisor_done(struct supervisor *s, size_t *number)
{
    if (s && s->ledger)
        ledger_clear(s->ledger, number);
}

static bool gone(const struct ledger_entry *entry)
{
    struct proc_stat stat;

    return entry->what == LEDGER_HELD &&
           (proc_read(entry->pid, &stat) < 0 ? errno == ESRCH
                                             : stat.start != entry->start);
}

void supervisor_tidy(struct supervisor *s)
{
    if (s && s->ledger)
        ledger_tidy(s->ledger, TIDY, gone);
}

void supervisor_free(struct supervisor *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    while (s->pid && waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    ledger_free(s->ledger);
    free(s);
}
