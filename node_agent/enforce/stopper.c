/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Stops processes, and continues what it has stopped, nothing else. */

#include "node_agent/enforce/stopper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/syscalls.h"
#include "node_agent/enforce/proc.h"
#include "node_agent/enforce/threads.h"

struct stopped {
    uint32_t job;
    pid_t pid;
    uint64_t start;
    int pidfd;
    bool over;  /* to be continued */
    bool again; /* SIGSTOP was sent more than once: one that is pending may be
                   ours */
    bool seen;  /* stopped, since then */
    size_t note;
};

struct stopper {
    struct supervisor *supervisor;
    struct stopped *all; /* [count] */
    size_t count, room;
    size_t next;      /* to be looked at */
    size_t over;      /* so many are to be continued, */
    size_t next_over; /* from here on */
    struct log_limit told;
};

struct stopper *stopper_new(struct supervisor *supervisor)
{
    struct stopper *s = calloc(1, sizeof(*s));

    if (s)
        s->supervisor = supervisor;
    return s;
}

void stopper_free(struct stopper *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        close(s->all[i].pidfd);
    free(s->all);
    free(s);
}

size_t stopper_count(const struct stopper *s)
{
    return s->count;
}

/* The process, by a pidfd that is known to be of it; -1 with errno. */
static int open_process(pid_t pid, uint64_t start, struct proc_stat *stat)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0)
        return -1;
    int rc = proc_read(pid, stat), saved = errno;
    if (rc == 0 && stat->start == start && !stat->exiting)
        return fd;
    close(fd);
    errno = rc < 0 ? saved : ESRCH;
    return -1;
}

static int send(int pidfd, int number)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

/* True when PID is stopped, and somebody has stopped it once more. */
static bool stopped_twice(pid_t pid)
{
    struct proc_stop stop;

    return proc_read_stop(pid, &stop) == 0 && stop.stopped && stop.pending;
}

/* Forget entry I, whose place another takes. */
static void forget(struct stopper *s, size_t i)
{
    supervisor_done(s->supervisor, &s->all[i].note);
    close(s->all[i].pidfd);
    s->over -= s->all[i].over;
    s->all[i] = s->all[--s->count];
}

/* ---- stopping -------------------------------------------------------------
 */

static bool make_room(struct stopper *s)
{
    if (s->count < s->room)
        return true;
    size_t room = s->room ? 2 * s->room : 64;
    struct stopped *all = realloc(s->all, room * sizeof(*all));
    if (!all)
        return false;
    s->all = all;
    s->room = room;
    return true;
}

/* True when PID was to be continued, and has not been so far: it stays stopped.
 */
static bool keep_stopped(struct stopper *s, uint32_t job, pid_t pid,
                         uint64_t start)
{
    struct stopped *p = s->all;

    while (s->over && p < s->all + s->count &&
           !(p->over && p->pid == pid && p->start == start))
        p++;
    if (!s->over || p == s->all + s->count)
        return false;
    p->over = false;
    p->job = job;
    s->over--;
    return true;
}

int stopper_stop(struct stopper *s, uint32_t job, pid_t pid, uint64_t start)
{
    struct stopped new = {.job = job, .pid = pid, .start = start};
    struct proc_stat stat;
    struct proc_stop stop;

    if (keep_stopped(s, job, pid, start))
        return 1;
    if (!make_room(s))
        return -1;
    if ((new.pidfd = open_process(pid, start, &stat)) < 0)
        return errno == ESRCH ? 0 : -1;
    /* By another; or it is about to be. */
    if (stat.state == 'T' ||
        (proc_read_stop(pid, &stop) == 0 && (stop.stopped || stop.pending))) {
        close(new.pidfd);
        return 0;
    }
    if (supervisor_will_stop(s->supervisor, pid, start, false, &new.note) ==
        0) {
        if (send(new.pidfd, SIGSTOP) == 0) {
            s->all[s->count++] = new;
            return 1;
        }
        int saved = errno;
        supervisor_done(s->supervisor, &new.note);
        errno = saved;
    }
    int saved = errno;
    close(new.pidfd);
    errno = saved;
    return saved == ESRCH ? 0 : -1;
}

/* ---- continuing -----------------------------------------------------------
 */

/* False: it has to be tried again. */
static bool go_on(struct stopper *s, struct stopped *p)
{
    if (!p->again && stopped_twice(p->pid)) {
        log_debug("job %u: process %d was stopped by another, too", p->job,
                  (int)p->pid);
        return true;
    }
    if (send(p->pidfd, SIGCONT) == 0 || errno == ESRCH)
        return true;
    if (log_limit_allows(&s->told, p->job, clock_ns()))
        log_error("job %u: cannot continue process %d: %s", p->job, (int)p->pid,
                  strerror(errno));
    return false;
}

/* Everybody in turn, that those who cannot be continued keep no other from it.
 */
static void continue_some(struct stopper *s, size_t *work)
{
    for (size_t n = s->count; n && s->over && *work; n--) {
        if (s->next_over >= s->count)
            s->next_over = 0;
        struct stopped *p = &s->all[s->next_over];
        if (p->over)
            work_take(work, STOPPER_WORK);
        if (p->over && go_on(s, p))
            forget(s, s->next_over);
        else
            s->next_over++;
    }
}

void stopper_continue(struct stopper *s, uint32_t job, size_t *work)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].job == job && !s->all[i].over) {
            s->all[i].over = true;
            s->over++;
        }
    continue_some(s, work);
}

bool stopper_owes(const struct stopper *s, uint32_t job)
{
    size_t i = 0;

    if (!job)
        return s->over;
    while (s->over && i < s->count && !(s->all[i].over && s->all[i].job == job))
        i++;
    return s->over && i < s->count;
}

void stopper_undo(pid_t pid, uint64_t start, bool again)
{
    struct proc_stat stat;
    int fd = open_process(pid, start, &stat);

    if (fd < 0)
        return;
    if (again || !stopped_twice(pid))
        send(fd, SIGCONT);
    close(fd);
}

/* ---- looking ----------------------------------------------------------------
 */

static bool ended(const struct stopped *p)
{
    struct pollfd poll_fd = {.fd = p->pidfd, .events = POLLIN};

    return poll(&poll_fd, 1, 0) > 0;
}

/* P runs, or may: stop it again. */
static void stop_again(struct stopper *s, struct stopped *p, bool waits)
{
    size_t before = p->note;

    if (p->seen && !waits && log_limit_allows(&s->told, p->job, clock_ns()))
        log_info(
            "job %u: process %d was continued by another while it has no turn",
            p->job, (int)p->pid);
    p->note = 0;
    if (!supervisor_ready(s->supervisor) ||
        supervisor_will_stop(s->supervisor, p->pid, p->start, true, &p->note) <
            0) {
        p->note = before;
        return;
    }
    supervisor_done(s->supervisor, &before);
    p->again = true;
    p->seen = false;
    send(p->pidfd, SIGSTOP);
}

/* True when there is nothing more to do about P. */
static bool look_at(struct stopper *s, struct stopped *p)
{
    struct proc_stop stop;

    if (ended(p))
        return true;
    if (p->over || proc_read_stop(p->pid, &stop) < 0)
        return false;
    if (stop.stopped) {
        p->seen = true;
        p->again = p->again && stop.pending;
    } else if (!stop.pending) {
        stop_again(s, p, stop.waits);
    }
    return false;
}

void stopper_look(struct stopper *s, size_t *work)
{
    continue_some(s, work);
    size_t looks = s->count < STOPPER_LOOKS ? s->count : STOPPER_LOOKS;

    for (; looks; looks--) {
        if (s->next >= s->count)
            s->next = 0;
        if (s->next < s->count && look_at(s, &s->all[s->next]))
            forget(s, s->next);
        else
            s->next++;
    }
}
