/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Opens counters while the agent serves. */

#include "node_agent/daemon/opening.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The thread writes COUNTERS, WHY and ERR, then the eventfd; the loop reads them after that. */
struct opening {
    char *specification;
    const struct counters_setup *setup;
    opening_done *done;
    void *arg;
    pthread_t thread;
    bool started;
    int eventfd;
    sd_event_source *source;
    struct counters *counters;
    char why[1024];
    struct errtext err;
};

bool opening_is_slow(const char *specification)
{
    return strcmp(specification, "auto") == 0 || strncmp(specification, "likwid", 6) == 0;
}

static void *work(void *arg)
{
    struct opening *o = arg;
    const uint64_t one = 1;

    o->counters = counters_open(o->specification, o->setup, o->why, sizeof(o->why), &o->err);
    (void)!write(o->eventfd, &one, sizeof(one));
    return NULL;
}

static int on_opened(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct opening *o = arg;
    struct counters *counters = o->counters;

    (void)source;
    (void)fd;
    (void)events;
    sd_event_source_set_enabled(o->source, SD_EVENT_OFF);
    o->counters = NULL;
    o->done(o->arg, o->specification, counters, counters ? o->why : o->err.text);
    return 0;
}

static int start_thread(struct opening *o)
{
    sigset_t all, old;

    /* Signals are the event loop's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&o->thread, NULL, work, o);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    o->started = rc == 0;
    return -rc;
}

struct opening *opening_new(sd_event *event, const char *specification,
                            const struct counters_setup *setup, opening_done *done, void *arg,
                            struct errtext *err)
{
    struct opening *o = calloc(1, sizeof(*o));

    if (!o || !(o->specification = strdup(specification))) {
        free(o);
        errtext_set(err, ENOMEM, "counters: out of memory");
        return NULL;
    }
    o->setup = setup;
    o->done = done;
    o->arg = arg;
    o->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = o->eventfd < 0 ? -errno
                            : sd_event_add_io(event, &o->source, o->eventfd, EPOLLIN,
                                              on_opened, o);
    if (rc >= 0)
        rc = start_thread(o);
    if (rc < 0) {
        opening_free(o);
        errtext_set(err, -rc, "counters: %s", strerror(-rc));
        return NULL;
    }
    return o;
}

void opening_free(struct opening *o)
{
    if (!o)
        return;
    if (o->started)
        pthread_join(o->thread, NULL);
    sd_event_source_disable_unref(o->source);
    if (o->eventfd >= 0)
        close(o->eventfd);
    counters_close(o->counters);
    free(o->specification);
    free(o);
}
