/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A process that undoes what the agent did to others, should the agent die. */

#include "node_agent/enforce/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "node_agent/enforce/cgroup.h"
#include "node_agent/enforce/privilege.h"
#include "node_agent/enforce/proc.h"
#include "protocol/cpulist.h"

enum notice_op {
    NOTICE_STOPPED,
    NOTICE_CONTINUED,
    NOTICE_HELD,
    NOTICE_NARROWED,
    NOTICE_RESTORED,
};

/* What the agent sends, with a pidfd if it is NOTICE_STOPPED or NOTICE_HELD. */
struct notice {
    enum notice_op op;
    union {
        struct {
            pid_t pid;
            struct cosched_cpuset granted;
        };
        char path[CGROUP_PATH_MAX]; /* NOTICE_NARROWED, NOTICE_RESTORED */
    };
};

struct supervisor {
    int fd;
    pid_t pid;
};

/* A process that the supervisor answers for. */
struct ward {
    pid_t pid;
    int pidfd;
    bool stopped;
    bool held;
    struct cosched_cpuset granted;
    struct ward *next;
};

/* A cgroup that it answers for. */
struct narrowed {
    char path[CGROUP_PATH_MAX];
    struct narrowed *next;
};

static bool ended(const struct ward *w)
{
    struct pollfd p = {.fd = w->pidfd, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

/* Forget the dead, and those for whom nothing is to be undone. */
static void prune(struct ward **first)
{
    while (*first) {
        struct ward *w = *first;
        if ((w->stopped || w->held) && !ended(w)) {
            first = &w->next;
            continue;
        }
        *first = w->next;
        close(w->pidfd);
        free(w);
    }
}

static struct ward *find(struct ward **first, pid_t pid, int pidfd)
{
    struct ward *w;

    for (w = *first; w; w = w->next)
        if (w->pid == pid) {
            if (pidfd >= 0)
                close(pidfd);
            return w;
        }
    if (pidfd < 0 || !(w = calloc(1, sizeof(*w))))
        return NULL;
    w->pid = pid;
    w->pidfd = pidfd;
    w->next = *first;
    return *first = w;
}

/* Keep in mind, or with RESTORED forget, the cgroup at PATH. */
static void note_group(struct narrowed **first, const char *path, bool restored)
{
    while (*first && strcmp((*first)->path, path))
        first = &(*first)->next;
    struct narrowed *n = *first;
    if (restored && n) {
        *first = n->next;
        free(n);
    } else if (!restored && !n && (n = calloc(1, sizeof(*n)))) {
        memcpy(n->path, path, sizeof(n->path));
        *first = n;
    }
}

static void undo(const struct ward *w)
{
    pid_t *tids;
    ssize_t n = 0;

    if (w->held && !ended(w) && (n = proc_threads(w->pid, &tids)) > 0)
        for (ssize_t i = 0; i < n; i++)
            cpuset_set_affinity(tids[i], &w->granted);
    if (n > 0)
        free(tids);
    if (w->stopped)
        syscall(SYS_pidfd_send_signal, w->pidfd, SIGCONT, NULL, 0);
}

/* Receive one notice.  False at the end of the agent. */
static bool receive(int fd, struct notice *notice, int *pidfd)
{
    union {
        char buffer[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {.iov_base = notice, .iov_len = sizeof(*notice)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.buffer,
                         .msg_controllen = sizeof(control.buffer)};
    ssize_t n;

    do
        n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
    *pidfd = -1;
    if (c && c->cmsg_type == SCM_RIGHTS)
        memcpy(pidfd, CMSG_DATA(c), sizeof(int));
    return n == (ssize_t)sizeof(*notice);
}

__attribute__((noreturn)) static void supervisor_main(int fd)
{
    struct ward *first = NULL;
    struct narrowed *groups = NULL;
    struct notice notice;
    int pidfd;

    prctl(PR_SET_NAME, "coschedd-superv");
    fd = fd_drop_others(fd);
    privilege_drop(NULL);
    /* It must outlive a signal sent to the whole group or session. */
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    while (receive(fd, &notice, &pidfd)) {
        if (notice.op == NOTICE_NARROWED || notice.op == NOTICE_RESTORED) {
            note_group(&groups, notice.path, notice.op == NOTICE_RESTORED);
            continue;
        }
        prune(&first);
        struct ward *w = find(&first, notice.pid, pidfd);
        if (!w)
            continue;
        if (notice.op == NOTICE_HELD) {
            w->held = true;
            w->granted = notice.granted;
        } else {
            w->stopped = notice.op == NOTICE_STOPPED;
        }
    }
    for (struct narrowed *n = groups; n; n = n->next)
        cgroup_restore(n->path, NULL);
    for (struct ward *w = first; w; w = w->next)
        undo(w);
    _exit(0);
}

struct supervisor *supervisor_new(struct errtext *err)
{
    struct supervisor *w = calloc(1, sizeof(*w));
    int pair[2];

    if (!w) {
        errtext_set(err, ENOMEM, "supervisor: out of memory");
        return NULL;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        errtext_set(err, errno, "supervisor: socketpair: %s", strerror(errno));
        free(w);
        return NULL;
    }
    if ((w->pid = fork()) < 0) {
        errtext_set(err, errno, "supervisor: fork: %s", strerror(errno));
        close(pair[0]);
        close(pair[1]);
        free(w);
        return NULL;
    }
    if (w->pid == 0) {
        close(pair[0]);
        supervisor_main(pair[1]);
    }
    close(pair[1]);
    w->fd = pair[0];
    return w;
}

static int tell(struct supervisor *w, const struct notice *notice, int pidfd)
{
    union {
        char buffer[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec iov = {.iov_base = (void *)notice, .iov_len = sizeof(*notice)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    if (pidfd >= 0) {
        msg.msg_control = control.buffer;
        msg.msg_controllen = sizeof(control.buffer);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &pidfd, sizeof(int));
    }
    do
        n = sendmsg(w->fd, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -1 : 0;
}

int supervisor_stopped(struct supervisor *w, pid_t pid, int pidfd)
{
    return tell(w, &(struct notice){.op = NOTICE_STOPPED, .pid = pid}, pidfd);
}

int supervisor_continued(struct supervisor *w, pid_t pid)
{
    return tell(w, &(struct notice){.op = NOTICE_CONTINUED, .pid = pid}, -1);
}

int supervisor_held(struct supervisor *w, pid_t pid, int pidfd,
                const struct cosched_cpuset *granted)
{
    return tell(w,
                &(struct notice){
                    .op = NOTICE_HELD, .pid = pid, .granted = *granted},
                pidfd);
}

static int tell_group(struct supervisor *w, enum notice_op op, const char *path)
{
    struct notice notice = {.op = op};

    if (strlen(path) >= sizeof(notice.path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(notice.path, path);
    return tell(w, &notice, -1);
}

int supervisor_narrowed(struct supervisor *w, const char *path)
{
    return tell_group(w, NOTICE_NARROWED, path);
}

int supervisor_restored(struct supervisor *w, const char *path)
{
    return tell_group(w, NOTICE_RESTORED, path);
}

void supervisor_free(struct supervisor *w)
{
    if (!w)
        return;
    close(w->fd);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    free(w);
}
