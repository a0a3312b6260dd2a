/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Looks at jobs that do not follow, and keeps what was found. */

#include "node_agent/daemon/looks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "node_agent/core/enforcer.h"
#include "node_agent/enforce/privilege.h"

/* A process with one thread that used less is a shell that waits. */
#define BUSY_TICKS 5

struct look {
    struct looks *looks;
    struct job *job; /* NULL: it is gone, and the child still has to go */
    pid_t child;     /* 0: none */
    int from;        /* its pipe */
    sd_event_source *exit_source, *kill_source;
    bool late;   /* it was killed */
    size_t used; /* bytes in fresh */
    struct follow_process fresh[LOOK_PROCESSES], found[LOOK_PROCESSES];
    size_t count;      /* in found */
    uint64_t ended_ns; /* of the last look; 0: none so far */
    unsigned settled;  /* states, as bits, that it was looked at in */
    enum job_state
        state; /* the last of them; JOB_STARTING: none since it attached */
    struct look *next;
};

struct looks {
    sd_event *event;
    struct look *first;
    size_t running; /* children that are not late */
};

struct looks *looks_new(sd_event *event)
{
    struct looks *l = calloc(1, sizeof(*l));

    if (l)
        l->event = sd_event_ref(event);
    return l;
}

/* ---- the child --------------------------------------------------------------
 */

__attribute__((noreturn)) static void
child_main(int to, struct follow_process *p, size_t count)
{
    const struct rlimit limit = {LOOK_NS / NS_PER_S, LOOK_NS / NS_PER_S};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "coschedd-look");
    fd_drop_others(&to, 1);
    setrlimit(RLIMIT_CPU, &limit);
    privilege_read_files();
    for (size_t i = 0; i < count; i++) {
        follow_look(&p[i]);
        if (fd_write_all(to, &p[i], sizeof(p[i])) < 0)
            break;
    }
    _exit(0);
}

static void end_child(struct look *k)
{
    k->exit_source = sd_event_source_disable_unref(k->exit_source);
    k->kill_source = sd_event_source_disable_unref(k->kill_source);
    if (k->from >= 0)
        close(k->from);
    if (k->child && !k->late)
        k->looks->running--;
    k->from = -1;
    k->child = 0;
}

static void remove_look(struct look *k)
{
    for (struct look **p = &k->looks->first; *p; p = &(*p)->next)
        if (*p == k) {
            *p = k->next;
            break;
        }
    free(k);
}

/* The child is gone: what it wrote is what is known. */
static void finish(struct look *k)
{
    end_child(k);
    k->ended_ns = clock_ns();
    k->count = k->used / sizeof(k->fresh[0]);
    memcpy(k->found, k->fresh, k->count * sizeof(k->fresh[0]));
    /* What it was at when it ended badly cannot be told from what it wrote. */
    for (size_t i = 0; i < k->count; i++) {
        struct follow_process *p = &k->found[i];
        p->program[sizeof(p->program) - 1] = '\0';
        p->finding.detail[sizeof(p->finding.detail) - 1] = '\0';
        if ((unsigned)p->finding.word >= FOLLOW_WORDS)
            p->finding.word = FOLLOW_UNKNOWN;
    }
    if (k->count && !k->job->cooperative)
        record_set_follow(&k->job->record, &k->found[0].finding);
}

static int on_exit_of_child(sd_event_source *source, const siginfo_t *info,
                            void *arg)
{
    struct look *k = arg;
    ssize_t n;

    (void)source;
    /* What is still in the pipe. */
    while (k->job && k->used < sizeof(k->fresh) &&
           (n = read(k->from, (char *)k->fresh + k->used,
                     sizeof(k->fresh) - k->used)) > 0)
        k->used += (size_t)n;
    if (info->si_code != CLD_EXITED)
        log_info("job %u: the look at its processes was ended by signal %d",
                 k->job ? k->job->id : 0, info->si_status);
    if (k->job) {
        finish(k);
    } else {
        end_child(k);
        remove_look(k);
    }
    return 0;
}

static int on_late(sd_event_source *source, uint64_t usec, void *arg)
{
    struct look *k = arg;

    (void)source;
    (void)usec;
    kill(k->child, SIGKILL);
    k->late = true;
    k->looks->running--;
    return 0;
}

/* Let a child look at the COUNT processes in k->fresh. */
static int start_child(struct look *k, size_t count)
{
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0)
        child_main(pipes[1], k->fresh, count);
    close(pipes[1]);
    if (child < 0) {
        close(pipes[0]);
        return -1;
    }
    k->from = pipes[0];
    k->child = child;
    k->used = 0;
    k->late = false;
    k->looks->running++;
    if (sd_event_add_child(k->looks->event, &k->exit_source, child, WEXITED,
                           on_exit_of_child, k) < 0 ||
        sd_event_add_time_relative(k->looks->event, &k->kill_source,
                                   CLOCK_MONOTONIC, LOOK_NS / NS_PER_US, 0,
                                   on_late, k) < 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        end_child(k);
        return -1;
    }
    return 0;
}

/* ---- which processes
 * ---------------------------------------------------------- */

/* Insert T into the *COUNT processes of k->fresh, those with most TICKS first.
 */
static void insert(struct look *k, uint64_t *ticks, size_t *count,
                   const struct tracked *t)
{
    size_t at = *count;

    if (at == LOOK_PROCESSES && ticks[--at] >= t->noted_ticks)
        return;
    for (; at && ticks[at - 1] < t->noted_ticks; at--) {
        ticks[at] = ticks[at - 1];
        k->fresh[at] = k->fresh[at - 1];
    }
    ticks[at] = t->noted_ticks;
    k->fresh[at] = (struct follow_process){.pid = t->pid, .start = t->start};
    if (*count < LOOK_PROCESSES)
        ++*count;
}

/* The processes of the job that are not attached into k->fresh: the busy ones,
 * or all if none is. How many. */
static size_t choose(struct look *k)
{
    uint64_t ticks[LOOK_PROCESSES];
    size_t count = 0;

    for (int idle = 0; idle < 2 && !count; idle++)
        for (const struct tracked *t = k->job->tracked; t; t = t->next)
            if (!t->dead && !t->attached &&
                (idle || t->threads_noted > 1 || t->noted_ticks >= BUSY_TICKS))
                insert(k, ticks, &count, t);
    return count;
}

/* ---- when
 * ----------------------------------------------------------------------- */

/* The record of looks at JOB, or NULL when out of memory. */
static struct look *look_of(struct looks *l, struct job *job)
{
    struct look *k = job->look;

    if (k || !(k = calloc(1, sizeof(*k))))
        return k;
    k->looks = l;
    k->job = job;
    k->from = -1;
    k->state = JOB_STARTING;
    k->next = l->first;
    l->first = k;
    return job->look = k;
}

/* Look at the job of K unless that goes on.  False when it cannot be done now.
 */
static bool begin(struct look *k)
{
    if (k->child)
        return true;
    if (k->looks->running >= LOOKS_MOST)
        return false;
    size_t count = choose(k);
    if (!count) {
        k->count = 0;
        k->ended_ns = clock_ns();
        return true;
    }
    return start_child(k, count) == 0;
}

void looks_epoch(struct looks *l, struct job_table *jobs, uint64_t now_ns)
{
    for (struct job *j = jobs->first; j; j = j->next) {
        bool settled = !j->processes && job_live(j) &&
                       (j->doing == JOB_PINNED || j->doing == JOB_SERIAL);
        if (!settled || (j->look && j->look->state == j->doing)) {
            if (!settled && j->look)
                j->look->state = JOB_STARTING;
            continue;
        }
        struct look *k = look_of(l, j);
        /* Once in each state at once, then not so often. */
        if (!k || (k->settled & 1u << j->doing &&
                   now_ns - k->ended_ns < LOOK_PAUSE_NS))
            continue;
        if (j->tracked && begin(k)) {
            k->state = j->doing;
            k->settled |= 1u << j->doing;
        }
    }
}

bool looks_ask(struct looks *l, struct job *job, uint64_t now_ns)
{
    struct look *k = look_of(l, job);

    if (!k || (k->child && k->late))
        return false;
    if (k->child || (k->ended_ns && now_ns - k->ended_ns < LOOK_ASKED_NS))
        return k->child != 0;
    return !begin(k) || k->child;
}

const struct follow_process *looks_found(const struct job *job, size_t *count)
{
    *count = job->look ? job->look->count : 0;
    return job->look ? job->look->found : NULL;
}

void looks_forget(struct job *job)
{
    struct look *k = job->look;

    if (!k)
        return;
    job->look = NULL;
    k->job = NULL;
    if (k->child)
        kill(k->child, SIGKILL); /* on_exit_of_child() does the rest */
    else
        remove_look(k);
}

void looks_free(struct looks *l)
{
    if (!l)
        return;
    while (l->first) {
        struct look *k = l->first;
        if (k->child) {
            kill(k->child, SIGKILL);
            waitpid(k->child, NULL, WNOHANG);
        }
        end_child(k);
        if (k->job)
            k->job->look = NULL;
        remove_look(k);
    }
    sd_event_unref(l->event);
    free(l);
}
