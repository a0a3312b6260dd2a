/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's socket: connections, who is at the other end, garbage. */

#include "node_agent/daemon/server.h"

#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/daemon/answer.h"
#include "node_agent/daemon/listener.h"
#include "node_agent/daemon/munge_decoder.h"
#include "node_agent/daemon/users.h"

/* Between two looks for silent connections, and at those that wait. */
#define SWEEP_US 2000000
#define WAIT_US  20000

#define SOCKET_PATH_MAX sizeof(((struct sockaddr_un *)0)->sun_path)

static const char munge_prefix[] = "MUNGE:";

struct connection {
    struct server *server;
    uint64_t number;
    int fd;
    struct ucred cred;
    struct user *user;
    struct munge_ticket *ticket; /* its request is being checked by munged */
    sd_event_source *source;
    uint32_t job;      /* that a process has attached to over it; 0: none */
    uint64_t heard_ns; /* accepted, or last packet */
    size_t unread;     /* bytes of its reply that were not read, as last seen */
    bool waiting;      /* for its user's time, or until he has read */
    TAILQ_ENTRY(connection) next_waiting;
};

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
    sd_event_source *wait_source;  /* runs while one waits */
    sd_event_source *turn_source;  /* likewise, for its user's turn */
    uint64_t turn;
    struct connection *slot[SERVER_CONNECTIONS];
    uint16_t empty[SERVER_CONNECTIONS]; /* a stack of slots */
    size_t count;
    uint64_t made; /* connections so far */
    TAILQ_HEAD(, connection) waiting;
    struct users users;
    size_t refused_count; /* since window_ns */
    uint64_t window_ns;
    struct log_limit refused;
    struct log_limit flood;
    struct log_limit garbage;
    struct log_limit crowd;
    struct log_limit munge_silent;
    struct message_packet packet; /* too large for the stack */
};

/* ---- connections --------------------------------------------------------- */

/* The connection called NUMBER, or NULL. */
static struct connection *connection_find(const struct server *s,
                                          uint64_t number)
{
    struct connection *c = s->slot[number % SERVER_CONNECTIONS];

    return c && c->number == number ? c : NULL;
}

/* NULL when out of memory or room. */
static struct connection *connection_new(struct server *s, int fd,
                                         const struct ucred *cred,
                                         struct user *user)
{
    struct connection *c = s->count < SERVER_CONNECTIONS ? calloc(1, sizeof(*c))
                                                         : NULL;

    if (!c)
        return NULL;
    c->server = s;
    c->fd = fd;
    c->cred = *cred;
    c->user = user;
    c->heard_ns = clock_ns();
    c->number = ++s->made * SERVER_CONNECTIONS + s->empty[s->count++];
    s->slot[c->number % SERVER_CONNECTIONS] = c;
    users_connect(&s->users, user);
    return c;
}

/* Take what C has unread, now N bytes, into its user's account. */
static void count_unread(struct connection *c, size_t n)
{
    users_unread(&c->server->users, c->user, (ssize_t)(n - c->unread));
    c->unread = n;
}

/* Close and forget C, without a word to the handler. */
static void connection_free(struct connection *c)
{
    struct server *s = c->server;
    size_t slot = c->number % SERVER_CONNECTIONS;

    count_unread(c, 0);
    c->user->attached -= c->job != 0;
    users_disconnect(&s->users, c->user);
    if (c->waiting)
        TAILQ_REMOVE(&s->waiting, c, next_waiting);
    s->slot[slot] = NULL;
    s->empty[--s->count] = (uint16_t)slot;
    munge_decoder_cancel(c->ticket);
    sd_event_source_disable_unref(c->source);
    close(c->fd);
    free(c);
}

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
    struct connection *c = connection_find(s, number);

    if (c && !c->job) {
        c->job = job;
        c->user->attached++;
    }
}

void server_drop(struct server *s, uint64_t number)
{
    struct connection *c = connection_find(s, number);

    if (!c)
        return;
    /* Freed when the loop sees the end: the caller may be answering on it. */
    c->user->attached -= c->job != 0;
    c->job = 0;
    shutdown(c->fd, SHUT_RDWR);
}

/* ---- no user keeps the server from others -------------------------------- */

/* Root and the agent's own user, who could do worse. */
static bool guard_exempt(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

static void charge(struct server *s, struct user *user, uint64_t begin_ns)
{
    users_charge(&s->users, user, clock_cpu_ns() - begin_ns + USERS_EVENT_NS,
                 clock_ns());
}

void server_charge(struct server *s, uid_t uid, uint64_t begin_ns)
{
    struct user *user = users_find(&s->users, uid, guard_exempt(uid), true,
                                   clock_ns());

    if (user)
        charge(s, user, begin_ns);
}

/* Bytes that the peer of C has not read yet. */
static size_t unread(const struct connection *c)
{
    int n = 0;

    return ioctl(c->fd, SIOCOUTQ, &n) == 0 && n > 0 ? (size_t)n : 0;
}

static bool reads(const struct server *s, const struct user *user)
{
    return user->unread <= SERVER_UNREAD_UID &&
           (user->resident ||
            s->users.strangers.unread <= SERVER_UNREAD_STRANGERS);
}

/* Has USER read enough to be told more?  Looked at once in a while. */
static bool guard_reads(struct server *s, struct user *user, uint64_t now_ns)
{
    if (user->exempt || reads(s, user))
        return true;
    if (now_ns - user->seen_ns < WAIT_US * NS_PER_US)
        return false;
    user->seen_ns = now_ns;
    for (size_t i = 0; i < SERVER_CONNECTIONS; i++)
        if (s->slot[i] && s->slot[i]->user == user && s->slot[i]->unread)
            count_unread(s->slot[i], unread(s->slot[i]));
    return reads(s, user);
}

/* May C be served at NOW_NS?  FLOOD: its user has no time left. */
static bool guard_ready(struct connection *c, uint64_t now_ns, bool *flood)
{
    struct server *s = c->server;

    *flood = !users_solvent(&s->users, c->user, now_ns);
    return !*flood && guard_reads(s, c->user, now_ns);
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
        count_unread(c, unread(c));
    charge(s, user, begin_ns);
}

/* The first that may be served of those whose users have not had this turn. */
static struct connection *next_in_turn(struct server *s)
{
    uint64_t now_ns = clock_ns();
    struct connection *c;
    bool flood;

    TAILQ_FOREACH(c, &s->waiting, next_waiting)
    if (c->user->turn != s->turn && guard_ready(c, now_ns, &flood))
        break;
    return c;
}

/* Serve one of those that wait, each user in turn.  False when none may be. */
static bool serve_waiting(struct server *s)
{
    struct connection *c = next_in_turn(s);

    if (!c) {
        s->turn++;
        c = next_in_turn(s);
    }
    if (!c)
        return false;
    TAILQ_REMOVE(&s->waiting, c, next_waiting);
    c->waiting = false;
    c->user->turn = s->turn;
    sd_event_source_set_enabled(c->source, SD_EVENT_ON);
    serve(c);
    return true;
}

/* Serve one, then let other events have their turn: what waits all the time
 * would be served before connections and packets that sd-event has still to
 * see. */
static int on_turn(sd_event_source *source, uint64_t usec, void *arg)
{
    struct server *s = arg;

    if (!serve_waiting(s) || TAILQ_EMPTY(&s->waiting))
        return 0;
    sd_event_source_set_time(source, usec);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* The same, some time later. */
static int on_wait_over(sd_event_source *source, uint64_t usec, void *arg)
{
    struct server *s = arg;

    (void)usec;
    bool served = serve_waiting(s);
    if (TAILQ_EMPTY(&s->waiting)) {
        s->wait_source = sd_event_source_disable_unref(s->wait_source);
        return 0;
    }
    sd_event_source_set_time_relative(source, served ? 0 : WAIT_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Read nothing from C until it is its user's turn, and he has time again, or
 * has read. */
static void guard_let_wait(struct connection *c, bool flood)
{
    struct server *s = c->server;

    if (flood && log_limit_allows(&s->flood, c->cred.uid, clock_ns()))
        log_warn("uid %u asks too much: its requests wait for their share",
                 c->cred.uid);
    c->waiting = true;
    TAILQ_INSERT_TAIL(&s->waiting, c, next_waiting);
    sd_event_source_set_enabled(c->source, SD_EVENT_OFF);
    if (!s->wait_source &&
        sd_event_add_time_relative(s->event, &s->wait_source, CLOCK_MONOTONIC,
                                   WAIT_US, 0, on_wait_over, s) >= 0)
        sd_event_source_set_priority(s->wait_source, SERVER_USERS_PRIORITY);
    if (flood)
        return;
    if (s->turn_source)
        sd_event_source_set_enabled(s->turn_source, SD_EVENT_ONESHOT);
    else if (sd_event_add_time_relative(s->event, &s->turn_source,
                                        CLOCK_MONOTONIC, 0, 1, on_turn, s) >= 0)
        sd_event_source_set_priority(s->turn_source, SERVER_USERS_PRIORITY);
}

/* May USER have one more connection? */
static bool guard_admits(const struct server *s, const struct user *user)
{
    if (user->uid == 0)
        return s->count < SERVER_CONNECTIONS;
    if (s->count >= SERVER_CONNECTIONS - SERVER_CONNECTIONS_ROOT)
        return false;
    size_t most = SERVER_CONNECTIONS - SERVER_CONNECTIONS_ROOT - s->count;
    if (most > SERVER_CONNECTIONS_UID)
        most = SERVER_CONNECTIONS_UID;
    return user->connections < most &&
           (user->resident ||
            (user->connections - user->attached < SERVER_SILENT_UID &&
             s->users.strangers.connections < most));
}

static int on_sweep(sd_event_source *source, uint64_t usec, void *arg)
{
    struct server *s = arg;
    uint64_t now_ns = clock_ns();
    bool more = false;

    (void)usec;
    for (size_t i = 0; i < SERVER_CONNECTIONS; i++) {
        struct connection *c = s->slot[i];
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
                        .privileged = proved && guard_exempt(trusted) &&
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
    } else if (!c->user->exempt && unread(c)) {
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
    struct user *user = c->user;
    bool flood = false;

    (void)source;
    (void)fd;
    (void)events;
    if ((user->exempt || user->turn != c->server->turn) &&
        guard_ready(c, clock_ns(), &flood)) {
        user->turn = c->server->turn;
        serve(c);
    } else {
        guard_let_wait(c, flood);
    }
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
    sd_event_source_set_priority(c->source, SERVER_USERS_PRIORITY);
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
        user = users_find(&s->users, cred.uid, guard_exempt(cred.uid),
                          s->handler->resident(s->arg, cred.uid), now_ns);
    if (user && guard_admits(s, user))
        c = connection_new(s, fd, &cred, user);
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

    return user ? users_wait_ns(&s->users, user, clock_ns()) : SERVER_PAUSE_NS;
}

/* ---- the server ---------------------------------------------------------- */

static int listen_for_all(struct server *s, const char *path,
                          struct errtext *err)
{
    char root[SOCKET_PATH_MAX];

    s->path = path;
    if (!(s->listener = listener_new(s->event, path, 0666, LISTENER_NOBODY,
                                     SERVER_USERS_PRIORITY, on_accepted, s,
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
    return listener_new(s->event, path, 0600, uid, SERVER_USERS_PRIORITY,
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
    s->turn = 1;
    TAILQ_INIT(&s->waiting);
    for (size_t i = 0; i < SERVER_CONNECTIONS; i++)
        s->empty[i] = (uint16_t)i;
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
    for (size_t i = 0; i < SERVER_CONNECTIONS; i++)
        if (s->slot[i])
            connection_free(s->slot[i]);
    sd_event_source_disable_unref(s->sweep_source);
    sd_event_source_disable_unref(s->wait_source);
    sd_event_source_disable_unref(s->turn_source);
    listener_free(s->root);
    listener_free(s->listener);
    munge_decoder_free(s->munge);
    free(s);
    errno = saved;
}
