/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's socket: connections, who is at the other end, garbage. */

#include "node_agent/daemon/server.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/daemon/answer.h"
#include "node_agent/daemon/listener.h"
#include "node_agent/daemon/munge_decoder.h"
#include "node_agent/daemon/turns.h"

/* Between two looks for silent connections. */
#define SWEEP_US 2000000

#define SOCKET_PATH_MAX sizeof(((struct sockaddr_un *)0)->sun_path)

static const char munge_prefix[] = "MUNGE:";

struct server {
    sd_event *event;
    enum server_auth auth;
    const char *path;
    struct listener *listener;
    struct listener *root; /* where nobody else can stand in the way */
    struct munge_decoder *munge;
    const struct server_handler *handler;
    void *arg;
    sd_event_source *sweep_source; /* runs while there is a silent one */
    struct connections connections;
    struct turns turns;
    size_t refused_count; /* since window_ns */
    uint64_t window_ns;
    struct log_limit refused;
    struct log_limit garbage;
    struct log_limit crowd;
    struct log_limit munge_silent;
    struct message_packet packet; /* too large for the stack */
};

/* ---- connections --------------------------------------------------------- */

static void connection_end(struct connection *c)
{
    struct server *s = c->server;
    uint64_t number = c->number;
    uint32_t job = c->job;

    connection_free(c);
    if (job)
        s->handler->hangup(s->arg, number, job);
}

void server_attached(struct server *s, uint64_t number, uint32_t job)
{
    struct connection *c = connections_find(&s->connections, number);

    if (c && !c->job)
        connection_attach(c, job);
}

void server_drop(struct server *s, uint64_t number)
{
    struct connection *c = connections_find(&s->connections, number);

    if (!c)
        return;
    /* Freed when the loop sees the end: the caller may be answering on it. */
    connection_attach(c, 0);
    shutdown(c->fd, SHUT_RDWR);
}

/* ---- who pays ------------------------------------------------------------ */

/* Root and the agent's own user, who could do worse. */
static bool is_exempt(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

static void charge(struct server *s, struct user *user, uint64_t begin_ns)
{
    users_charge(&s->connections.users, user, clock_cpu_ns() - begin_ns + USERS_EVENT_NS,
                 clock_ns());
}

void server_charge(struct server *s, uid_t uid, uint64_t begin_ns)
{
    struct user *user = users_find(&s->connections.users, uid, is_exempt(uid), true,
                                   clock_ns());

    if (user)
        charge(s, user, begin_ns);
}

static bool take_packet(struct connection *c);

/* Receive one packet of C; its user pays. */
static void serve(struct connection *c)
{
    struct server *s = c->server;
    struct user *user = c->user;
    uint64_t begin_ns = clock_cpu_ns();

    c->heard_ns = clock_ns();
    if (take_packet(c) && !user->exempt)
        connection_count_unread(c, connection_unread(c));
    charge(s, user, begin_ns);
}

static int on_sweep(sd_event_source *source, uint64_t usec, void *arg)
{
    struct server *s = arg;
    uint64_t now_ns = clock_ns();
    bool more = false;

    (void)usec;
    for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
        struct connection *c = s->connections.slot[i];
        if (!c || c->job || c->user->exempt)
            continue;
        if (!c->waiting && now_ns - c->heard_ns > SERVER_SILENT_NS &&
            sd_event_source_get_pending(c->source) <= 0)
            connection_free(c);
        else
            more = true;
    }
    if (!more) {
        s->sweep_source = sd_event_source_disable_unref(s->sweep_source);
        return 0;
    }
    sd_event_source_set_time_relative(source, SWEEP_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- requests ------------------------------------------------------------ */

/* Answer, log once per uid and minute, hang up. */
static void refuse_garbage(struct connection *c, int errnum, const char *why)
{
    if (log_limit_allows(&c->server->garbage, c->cred.uid, clock_ns()))
        log_warn("refused a packet from uid %u (pid %d): %s", c->cred.uid,
                 (int)c->cred.pid, why);
    answer_error(c->fd, errnum, why);
    connection_end(c);
}

static int answer(struct connection *c, const struct peer *peer,
                  const struct message_request *request)
{
    struct server *s = c->server;
    struct reply reply = {0};
    struct errtext err = {""};
    int rc;

    if (message_op_privileged(request->op) && !peer->privileged) {
        rc = errtext_set(
            &err, EPERM, "%s: only root and the agent's user may ask this%s",
            message_op_name(request->op),
            s->auth == SERVER_AUTH_MUNGE ? ", with a munge credential" : "");
        /* Root asks again with a credential. */
        if (!c->user->exempt &&
            log_limit_allows(&s->refused, c->cred.uid, clock_ns()))
            log_warn("refused '%s' from uid %u (pid %d)",
                     message_op_name(request->op), c->cred.uid,
                     (int)c->cred.pid);
    } else {
        rc = s->handler->request(s->arg, peer, request, &reply, &err);
    }
    if (rc < 0)
        rc = answer_error(c->fd, errno,
                          err.text[0] ? err.text : strerror(errno));
    else
        rc = answer_reply(c->fd, &reply);
    json_decref(reply.body);
    return rc;
}

static void end_refused(struct connection *c, const char *why)
{
    answer_error(c->fd, errno, why);
    connection_end(c);
}

/* True when the client of a request by Slurm waits no longer: it is not done
 * then, as the user has been told that there is no agent.  The end of a job is
 * worth knowing at any time. */
static bool gave_up(const struct connection *c, enum message_op op)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

    return message_op_privileged(op) && op != MESSAGE_WITHDRAW &&
           poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* Do what the TEXT of a request says; PROVED by user TRUSTED.  False when the
 * connection has ended. */
static bool take_request(struct connection *c, const char *text, size_t size,
                         bool proved, uid_t trusted)
{
    struct message_request request;
    struct errtext err = {""};
    struct peer peer = {.connection = c->number,
                        .job = c->job,
                        .socket = c->fd,
                        .pid = c->cred.pid,
                        .uid = c->cred.uid,
                        .privileged = proved && is_exempt(trusted) &&
                                      c->user->exempt};

    if (message_decode(text, size, &request, &err) < 0)
        refuse_garbage(c, errno, err.text[0] ? err.text : strerror(errno));
    else if (gave_up(c, request.op) || answer(c, &peer, &request) < 0)
        connection_end(c);
    else
        return true;
    return false;
}

static void on_decoded(void *arg, int errnum, const char *payload, size_t size,
                       uid_t uid, const char *error)
{
    struct connection *c = arg;
    struct server *s = c->server;

    c->ticket = NULL;
    sd_event_source_set_enabled(c->source, SD_EVENT_ON);
    if (errnum == ETIMEDOUT) {
        if (log_limit_allows(&s->munge_silent, 0, clock_ns()))
            log_warn("%s; requests of Slurm are refused meanwhile", error);
        errno = errnum;
        end_refused(c, error);
    } else if (errnum) {
        refuse_garbage(c, errnum, error);
    } else {
        take_request(c, payload, size, true, uid);
    }
}

/* The rest is done when munged has answered; nothing more is read until then.
 */
static void check_credential(struct connection *c, const char *text)
{
    struct errtext err = {""};

    /* In other hands it proves nothing, whoever made it. */
    if (!c->user->exempt) {
        refuse_garbage(
            c, EPERM,
            "credentials are taken from only root and the agent's user");
        return;
    }
    c->ticket = munge_decoder_submit(c->server->munge, text, on_decoded, c,
                                     &err);
    if (!c->ticket)
        end_refused(c, err.text);
    else
        sd_event_source_set_enabled(c->source, SD_EVENT_OFF);
}

/* Receive one packet and do what it says.  True when the connection is ready
 * for another one. */
static bool take_packet(struct connection *c)
{
    struct message_packet *packet = &c->server->packet;
    struct errtext err = {""};

    int rc = message_receive(c->fd, packet, &err);
    if (rc < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (rc < 0 && errno == EMSGSIZE) {
        refuse_garbage(c, EMSGSIZE, err.text);
    } else if (rc <= 0) {
        connection_end(c);
    } else if (packet->nfds) {
        message_packet_close(packet);
        refuse_garbage(c, EINVAL, "descriptors that nobody asked for");
    } else if (!c->user->exempt && connection_unread(c)) {
        message_packet_close(packet); /* it does not read what it asked for */
        connection_end(c);
    } else if (!strncmp(packet->text, munge_prefix, sizeof(munge_prefix) - 1)) {
        check_credential(c, packet->text);
    } else {
        return take_request(c, packet->text, packet->size,
                            c->server->auth == SERVER_AUTH_PEER, c->cred.uid);
    }
    return false;
}

static int on_packet(sd_event_source *source, int fd, uint32_t events,
                     void *arg)
{
    struct connection *c = arg;

    (void)source;
    (void)fd;
    (void)events;
    turns_take(&c->server->turns, c);
    return 0;
}

/* Watch the new connection C. */
static int connection_watch(struct connection *c)
{
    struct server *s = c->server;

    if (sd_event_add_io(s->event, &c->source, c->fd, EPOLLIN, on_packet, c) < 0)
        return -1;
    if (c->user->exempt)
        return 0;
    sd_event_source_set_priority(c->source, EVENT_USERS_PRIORITY);
    if (!s->sweep_source)
        sd_event_add_time_relative(s->event, &s->sweep_source, CLOCK_MONOTONIC,
                                   SWEEP_US, 0, on_sweep, s);
    return 0;
}

/* Take FD as a connection, which is *WELCOME or closed again.  Who pays for
 * that, or NULL. */
static struct user *accept_one(struct server *s, int fd, bool *welcome)
{
    uint64_t begin_ns = clock_cpu_ns(), now_ns = clock_ns();
    struct user *user = NULL;
    struct connection *c = NULL;
    struct ucred cred;
    socklen_t size = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) == 0)
        user = users_find(&s->connections.users, cred.uid, is_exempt(cred.uid),
                          s->handler->resident(s->arg, cred.uid), now_ns);
    if (user && connections_admit(&s->connections, user))
        c = connections_add(&s->connections, s, fd, &cred, user);
    else if (user && log_limit_allows(&s->crowd, cred.uid, now_ns))
        log_warn("too many connections: refused one from uid %u", cred.uid);
    *welcome = c && connection_watch(c) == 0;
    if (!c)
        close(fd);
    else if (!*welcome)
        connection_free(c);
    if (user)
        charge(s, user, begin_ns);
    return user;
}

/* One more was refused that anybody may have made: is that enough for now? */
static uint64_t count_refused(struct server *s)
{
    uint64_t now_ns = clock_ns();

    if (now_ns - s->window_ns >= SERVER_PAUSE_NS) {
        s->window_ns = now_ns;
        s->refused_count = 0;
    }
    return ++s->refused_count < SERVER_REFUSED
               ? 0
               : s->window_ns + SERVER_PAUSE_NS - now_ns;
}

/* A listener_accepted. */
static uint64_t on_accepted(void *arg, int fd)
{
    bool welcome;

    accept_one(arg, fd, &welcome);
    return welcome ? 0 : count_refused(arg);
}

/* Likewise, where only one user and root may come: who owes waits outside. */
static uint64_t on_accepted_of_job(void *arg, int fd)
{
    struct server *s = arg;
    bool welcome;
    struct user *user = accept_one(s, fd, &welcome);

    return user ? users_wait_ns(&s->connections.users, user, clock_ns()) : SERVER_PAUSE_NS;
}

/* ---- the server ---------------------------------------------------------- */

static int listen_for_all(struct server *s, const char *path,
                          struct errtext *err)
{
    char root[SOCKET_PATH_MAX];

    s->path = path;
    if (!(s->listener = listener_new(s->event, path, 0666, LISTENER_NOBODY,
                                     EVENT_USERS_PRIORITY, on_accepted, s,
                                     err)))
        return -1;
    listener_remove_left(path);
    if (snprintf(root, sizeof(root), "%s" MESSAGE_ROOT_SUFFIX, path) >=
        (int)sizeof(root))
        return 0; /* root shares the other one */
    s->root = listener_new(s->event, root, 0600, LISTENER_NOBODY,
                           SD_EVENT_PRIORITY_NORMAL, on_accepted, s, err);
    return s->root ? 0 : -1;
}

struct listener *server_listen_for(struct server *s, uint32_t job, uid_t uid,
                                   struct errtext *err)
{
    char path[SOCKET_PATH_MAX];

    if (snprintf(path, sizeof(path), "%s.%u", s->path, job) >=
        (int)sizeof(path)) {
        errtext_set(err, ENAMETOOLONG, "%.100s.%u: too long for a socket",
                    s->path, job);
        return NULL;
    }
    return listener_new(s->event, path, 0600, uid, EVENT_USERS_PRIORITY,
                        on_accepted_of_job, s, err);
}

struct server *server_new(sd_event *event, const char *path,
                          enum server_auth auth, const char *munge_socket,
                          const struct server_handler *handler, void *arg,
                          struct errtext *err)
{
    struct server *s = calloc(1, sizeof(*s));

    if (!s) {
        errtext_set(err, ENOMEM, "server: out of memory");
        return NULL;
    }
    s->event = event;
    s->auth = auth;
    s->handler = handler;
    s->arg = arg;
    connections_init(&s->connections);
    turns_begin(&s->turns, event, &s->connections, serve);
    if (!(s->munge = munge_decoder_new(event, munge_socket, err)) ||
        listen_for_all(s, path, err) < 0) {
        server_free(s);
        return NULL;
    }
    return s;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    int saved = errno;
    for (size_t i = 0; i < CONNECTIONS_MOST; i++)
        if (s->connections.slot[i])
            connection_free(s->connections.slot[i]);
    sd_event_source_disable_unref(s->sweep_source);
    turns_end(&s->turns);
    listener_free(s->root);
    listener_free(s->listener);
    munge_decoder_free(s->munge);
    free(s);
    errno = saved;
}
