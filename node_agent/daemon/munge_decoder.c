/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Checks munge credentials without making the agent wait for munged. */

#include "node_agent/daemon/munge_decoder.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "node_agent/client/munge_credential.h"

struct munge_ticket {
    struct munge_decoder *decoder;
    char *text;
    bool cancelled; /* nobody waits for it */
    munge_decoded *decoded;
    void *arg;
    sd_event_source *limit;
    /* the answer */
    int errnum;
    char *payload;
    size_t size;
    uid_t uid;
    struct errtext error;
    struct munge_ticket *next;
};

/* What loop and thread share.  A thread that hangs in libmunge outlives the
 * decoder, so that this belongs to whoever is the last. */
struct desk {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct munge_ticket *waiting, **last;
    struct munge_ticket *done;
    int eventfd; /* readable when there is something done */
    bool stop;
    unsigned users;
    char *socket;
};

struct munge_decoder {
    sd_event *event;
    sd_event_source *source;
    struct desk *desk;
    bool running;   /* there is a thread */
    size_t tickets; /* wanted */
};

/* Its limit must be off. */
static void ticket_free(struct munge_ticket *t)
{
    free(t->text);
    free(t->payload);
    free(t);
}

static void list_free(struct munge_ticket *t)
{
    while (t) {
        struct munge_ticket *next = t->next;
        ticket_free(t);
        t = next;
    }
}

/* ---- the thread ---------------------------------------------------------- */

/* Called with the lock, which is released. */
static void desk_leave(struct desk *d)
{
    bool last = --d->users == 0;

    pthread_mutex_unlock(&d->lock);
    if (!last)
        return;
    list_free(d->waiting);
    list_free(d->done);
    close(d->eventfd);
    pthread_cond_destroy(&d->work);
    pthread_mutex_destroy(&d->lock);
    free(d->socket);
    free(d);
}

static void decode(const struct desk *d, struct munge_ticket *t)
{
    errno = 0;
    if (munge_credential_decode(t->text, d->socket, &t->payload, &t->size,
                                &t->uid, &t->error) < 0)
        t->errnum = errno ? errno : EACCES;
}

static void *work(void *arg)
{
    struct desk *d = arg;
    const uint64_t one = 1;

    pthread_mutex_lock(&d->lock);
    while (!d->stop) {
        struct munge_ticket *t = d->waiting;
        if (!t) {
            pthread_cond_wait(&d->work, &d->lock);
            continue;
        }
        if (!(d->waiting = t->next))
            d->last = &d->waiting;
        pthread_mutex_unlock(&d->lock);
        decode(d, t);
        pthread_mutex_lock(&d->lock);
        t->next = d->done;
        d->done = t;
        (void)!write(d->eventfd, &one, sizeof(one));
    }
    desk_leave(d);
    return NULL;
}

static int start_thread(struct munge_decoder *m, struct errtext *err)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;

    if (m->running)
        return 0;
    /* Signals are the event loop's. */
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    m->desk->users++;
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&thread, &attr, work, m->desk);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (rc) {
        m->desk->users--;
        return errtext_set(err, rc, "munge: thread: %s", strerror(rc));
    }
    m->running = true;
    return 0;
}

/* ---- the event loop's side ----------------------------------------------- */

/* The ticket's owner is told, or has lost interest. */
static void close_ticket(struct munge_ticket *t)
{
    t->decoder->tickets--;
    t->limit = sd_event_source_disable_unref(t->limit);
}

static int on_done(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct munge_decoder *m = arg;
    uint64_t count;

    (void)source;
    (void)events;
    (void)!read(fd, &count, sizeof(count));
    for (;;) {
        pthread_mutex_lock(&m->desk->lock);
        struct munge_ticket *t = m->desk->done;
        if (t)
            m->desk->done = t->next;
        pthread_mutex_unlock(&m->desk->lock);
        if (!t)
            return 0;
        if (!t->cancelled) {
            close_ticket(t);
            t->decoded(t->arg, t->errnum, t->payload, t->size, t->uid,
                       t->error.text);
        }
        ticket_free(t);
    }
}

/* Take T out of those that wait, with the lock.  False: it is not among them.
 */
static bool withdraw(struct desk *d, struct munge_ticket *t)
{
    for (struct munge_ticket **p = &d->waiting; *p; p = &(*p)->next)
        if (*p == t) {
            if (!(*p = t->next))
                d->last = p;
            return true;
        }
    return false;
}

static void cancel(struct munge_ticket *t)
{
    struct desk *d = t->decoder->desk;

    close_ticket(t);
    pthread_mutex_lock(&d->lock);
    bool mine = withdraw(d, t);
    t->cancelled = true; /* else freed when the thread has handed it back */
    pthread_mutex_unlock(&d->lock);
    if (mine)
        ticket_free(t);
}

static int on_limit(sd_event_source *source, uint64_t usec, void *arg)
{
    struct munge_ticket *t = arg;
    munge_decoded *decoded = t->decoded;
    void *owner = t->arg;

    (void)source;
    (void)usec;
    cancel(t);
    decoded(owner, ETIMEDOUT, NULL, 0, 0, "munge: munged does not answer");
    return 0;
}

static struct desk *desk_new(const char *socket)
{
    struct desk *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->users = 1;
    d->last = &d->waiting;
    d->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (d->eventfd < 0 || (socket && !(d->socket = strdup(socket)))) {
        int saved = errno;
        if (d->eventfd >= 0)
            close(d->eventfd);
        free(d);
        errno = saved;
        return NULL;
    }
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->work, NULL);
    return d;
}

struct munge_decoder *munge_decoder_new(sd_event *event, const char *socket,
                                        struct errtext *err)
{
    struct munge_decoder *m = calloc(1, sizeof(*m));

    if (!m || !(m->desk = desk_new(socket))) {
        errtext_set(err, errno, "munge: %s", strerror(errno));
        free(m);
        return NULL;
    }
    m->event = sd_event_ref(event);
    int rc = sd_event_add_io(event, &m->source, m->desk->eventfd, EPOLLIN,
                             on_done, m);
    if (rc < 0) {
        munge_decoder_free(m);
        errtext_set(err, -rc, "event loop: %s", strerror(-rc));
        return NULL;
    }
    return m;
}

struct munge_ticket *munge_decoder_submit(struct munge_decoder *m,
                                          const char *text,
                                          munge_decoded *decoded, void *arg,
                                          struct errtext *err)
{
    struct munge_ticket *t;

    if (m->tickets >= MUNGE_DECODER_QUEUE) {
        errtext_set(err, EAGAIN, "munge: too many credentials wait");
        return NULL;
    }
    if (start_thread(m, err) < 0)
        return NULL;
    if (!(t = calloc(1, sizeof(*t))) || !(t->text = strdup(text)) ||
        sd_event_add_time_relative(m->event, &t->limit, CLOCK_MONOTONIC,
                                   MUNGE_DECODER_LIMIT_NS / NS_PER_US, 0,
                                   on_limit, t) < 0) {
        if (t)
            ticket_free(t);
        errtext_set(err, ENOMEM, "munge: out of memory");
        return NULL;
    }
    t->decoder = m;
    t->decoded = decoded;
    t->arg = arg;
    m->tickets++;
    pthread_mutex_lock(&m->desk->lock);
    *m->desk->last = t;
    m->desk->last = &t->next;
    pthread_cond_signal(&m->desk->work);
    pthread_mutex_unlock(&m->desk->lock);
    return t;
}

void munge_decoder_cancel(struct munge_ticket *t)
{
    if (t)
        cancel(t);
}

void munge_decoder_free(struct munge_decoder *m)
{
    if (!m)
        return;
    sd_event_source_disable_unref(m->source);
    pthread_mutex_lock(&m->desk->lock);
    m->desk->stop = true;
    pthread_cond_signal(&m->desk->work);
    desk_leave(m->desk);
    sd_event_unref(m->event);
    free(m);
}
