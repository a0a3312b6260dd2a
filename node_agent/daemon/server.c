/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's socket: connections, who is at the other end, garbage. */

#include "node_agent/daemon/server.h"

#include <libgen.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "node_agent/daemon/munge_decoder.h"
#include "node_agent/daemon/user_time.h"

/* The socket's file is looked for this often: somebody may clean up. */
#define LOOK_US (2 * 1000000)

/* Pause of accept() when the process is out of descriptors. */
#define ACCEPT_PAUSE_US 100000

/* Between two looks for silent connections, and for users who may go on. */
#define SWEEP_US 2000000
#define WAIT_US 20000

static const char munge_prefix[] = "MUNGE:";

struct connection {
    struct server *server;
    int fd;
    struct ucred cred;
    struct munge_ticket *ticket; /* its request is being checked by munged */
    sd_event_source *source;
    void *owner;
    uint64_t heard_ns; /* accepted, or last packet */
    bool waiting;      /* its user has used up his time */
    struct connection *next;
};

struct server {
    sd_event *event;
    int fd;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    enum server_auth auth;
    struct munge_decoder *munge;
    const struct server_handler *handler;
    void *arg;
    sd_event_source *accept_source;
    sd_event_source *resume_source;
    sd_event_source *look_source;
    dev_t device; /* of the socket's file */
    ino_t inode;
    sd_event_source *sweep_source; /* runs while there is a silent one */
    sd_event_source *wait_source;  /* runs while one waits */
    struct connection *connections;
    size_t count;
    struct user_time user_time;
    struct log_limit refused;
    struct log_limit flood;
    struct log_limit garbage;
    struct log_limit crowd;
    struct log_limit munge_silent;
    struct log_limit lost;
    struct message_packet packet; /* too large for the stack */
};

/* Close and forget C, without a word to its owner. */
static void connection_free(struct connection *c)
{
    for (struct connection **p = &c->server->connections; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            c->server->count--;
            break;
        }
    munge_decoder_cancel(c->ticket);
    sd_event_source_disable_unref(c->source);
    close(c->fd);
    free(c);
}

/* ---- no user keeps the server from others -------------------------------- */

/* Root and the agent's own user, who could do worse. */
static bool guard_exempt(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

/* UID has cost the CPU time since BEGIN_NS (clock_cpu_ns()).  False when it has
 * none left: its connections are to wait. */
static bool guard_charge(struct server *s, uid_t uid, uint64_t begin_ns)
{
    if (guard_exempt(uid))
        return true;
    return user_time_charge(&s->user_time, uid, clock_cpu_ns() - begin_ns,
                            clock_ns()) > 0;
}

static int on_wait_over(sd_event_source *source, uint64_t usec, void *arg)
{
    struct server *s = arg;
    uint64_t now_ns = clock_ns();
    bool more = false;

    (void)usec;
    for (struct connection *c = s->connections; c; c = c->next) {
        if (!c->waiting)
            continue;
        if (user_time_left(&s->user_time, c->cred.uid, now_ns) > 0) {
            c->waiting = false;
            c->heard_ns = now_ns;
            sd_event_source_set_enabled(c->source, SD_EVENT_ON);
        } else {
            more = true;
        }
    }
    if (!more) {
        s->wait_source = sd_event_source_disable_unref(s->wait_source);
        return 0;
    }
    sd_event_source_set_time_relative(source, WAIT_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Read nothing from C until its user has time again. */
static void guard_let_wait(struct connection *c)
{
    struct server *s = c->server;

    if (log_limit_allows(&s->flood, c->cred.uid, clock_ns()))
        log_warn("uid %u asks too much: its requests wait for their share",
                 c->cred.uid);
    c->waiting = true;
    sd_event_source_set_enabled(c->source, SD_EVENT_OFF);
    if (!s->wait_source)
        sd_event_add_time_relative(s->event, &s->wait_source, CLOCK_MONOTONIC,
                                   WAIT_US, 0, on_wait_over, s);
}

/* Connections of UID, silent ones only or all. */
static size_t count_of_uid(const struct server *s, uid_t uid, bool silent)
{
    size_t n = 0;

    for (const struct connection *c = s->connections; c; c = c->next)
        n += c->cred.uid == uid && !(silent && c->owner);
    return n;
}

/* May UID have one more connection? */
static bool guard_admits(const struct server *s, uid_t uid)
{
    if (uid == 0)
        return s->count < SERVER_CONNECTIONS;
    return s->count < SERVER_CONNECTIONS - SERVER_CONNECTIONS_ROOT &&
           count_of_uid(s, uid, false) < SERVER_CONNECTIONS_UID &&
           (guard_exempt(uid) ||
            count_of_uid(s, uid, true) < SERVER_SILENT_UID);
}

static int on_sweep(sd_event_source *source, uint64_t usec, void *arg)
{
    struct server *s = arg;
    struct connection *next;
    uint64_t now_ns = clock_ns();
    bool more = false;

    (void)usec;
    for (struct connection *c = s->connections; c; c = next) {
        next = c->next;
        if (c->owner || guard_exempt(c->cred.uid))
            continue;
        if (!c->waiting && !c->ticket &&
            now_ns - c->heard_ns > SERVER_SILENT_NS)
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

static void guard_accepted(struct connection *c)
{
    struct server *s = c->server;

    c->heard_ns = clock_ns();
    if (!guard_exempt(c->cred.uid) && !s->sweep_source)
        sd_event_add_time_relative(s->event, &s->sweep_source, CLOCK_MONOTONIC,
                                   SWEEP_US, 0, on_sweep, s);
}

static void guard_stop(struct server *s)
{
    s->sweep_source = sd_event_source_disable_unref(s->sweep_source);
    s->wait_source = sd_event_source_disable_unref(s->wait_source);
}

/* ---- requests ------------------------------------------------------------ */

static void connection_end(struct connection *c)
{
    struct server *s = c->server;
    void *owner = c->owner;

    connection_free(c);
    if (owner)
        s->handler->hangup(s->arg, owner);
}

void server_own(struct connection *c, void *owner)
{
    c->owner = owner;
}

void server_drop(struct connection *c)
{
    /* Freed when the loop sees the end: the caller may be answering on it. */
    if (c) {
        c->owner = NULL;
        shutdown(c->fd, SHUT_RDWR);
    }
}

static int send_reply(struct connection *c, struct reply *reply)
{
    json_t *body = reply->body ? json_incref(reply->body) : json_object();
    int rc = -1;

    json_object_set_new(body, "v", json_integer(MESSAGE_VERSION));
    json_object_set_new(body, "ok", json_true());
    char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    if (text)
        rc = message_send(c->fd, text, strlen(text), reply->fds, reply->nfds,
                          NULL);
    free(text);
    return rc;
}

static int send_error(struct connection *c, int errnum, const char *error)
{
    json_t *body = json_pack("{s:i, s:b, s:i, s:s}", "v", MESSAGE_VERSION,
                             "ok", 0, "errnum", errnum, "error", error);
    if (body && errnum == EPROTO) { /* a newer client may fall back */
        json_object_set_new(body, "oldest",
                            json_integer(MESSAGE_VERSION_OLDEST));
        json_object_set_new(body, "newest", json_integer(MESSAGE_VERSION));
    }
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    int rc = -1;

    if (text)
        rc = message_send(c->fd, text, strlen(text), NULL, 0, NULL);
    free(text);
    json_decref(body);
    return rc;
}

/* Answer, log once per uid and minute, hang up. */
static void refuse_garbage(struct connection *c, int errnum, const char *why)
{
    if (log_limit_allows(&c->server->garbage, c->cred.uid, clock_ns()))
        log_warn("refused a packet from uid %u (pid %d): %s", c->cred.uid,
                 (int)c->cred.pid, why);
    send_error(c, errnum, why);
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
        rc = errtext_set(&err, EPERM,
                         "%s: only root and the agent's user may ask this%s",
                         message_op_name(request->op),
                         s->auth == SERVER_AUTH_MUNGE
                             ? ", with a munge credential"
                             : "");
        /* Root asks again with a credential. */
        if (!guard_exempt(c->cred.uid) &&
            log_limit_allows(&s->refused, c->cred.uid, clock_ns()))
            log_warn("refused '%s' from uid %u (pid %d)",
                     message_op_name(request->op), c->cred.uid,
                     (int)c->cred.pid);
    } else {
        rc = s->handler->request(s->arg, c, peer, request, &reply, &err);
    }
    if (rc < 0)
        rc = send_error(c, errno, err.text[0] ? err.text : strerror(errno));
    else
        rc = send_reply(c, &reply);
    json_decref(reply.body);
    for (size_t i = 0; reply.close_fds && i < reply.nfds; i++)
        close(reply.fds[i]);
    return rc;
}

static void end_refused(struct connection *c, const char *why)
{
    send_error(c, errno, why);
    connection_end(c);
}

/* True when the client of a request by Slurm waits no longer: it is not done
 * then, as the user has been told that there is no agent.  The end of a job is
 * worth knowing at any time. */
static bool gave_up(const struct connection *c, enum message_op op)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

    return message_op_privileged(op) && op != MESSAGE_WITHDRAW &&
           poll(&p, 1, 0) > 0 &&
           p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* Do what the TEXT of a request says; PROVED by user TRUSTED.  False when the
 * connection has ended. */
static bool take_request(struct connection *c, const char *text, size_t size,
                         bool proved, uid_t trusted)
{
    struct message_request request;
    struct errtext err = {""};
    struct peer peer = {
        .pid = c->cred.pid,
        .uid = c->cred.uid,
        /* A credential that another user got hold of is worth nothing. */
        .privileged =
            proved && guard_exempt(trusted) && guard_exempt(c->cred.uid)};

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
    uid_t asking = c->cred.uid;
    uint64_t begin_ns = clock_cpu_ns();

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
    guard_charge(s, asking, begin_ns);
}

/* The rest is done when munged has answered; nothing more is read until then. */
static void check_credential(struct connection *c, const char *text)
{
    struct server *s = c->server;
    struct errtext err = {""};

    c->ticket = munge_decoder_submit(s->munge, text, guard_exempt(c->cred.uid),
                                     on_decoded, c, &err);
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
    struct server *s = c->server;
    uid_t uid = c->cred.uid;
    uint64_t begin_ns = clock_cpu_ns();

    (void)source;
    (void)fd;
    (void)events;
    c->heard_ns = clock_ns();
    bool ready = take_packet(c);
    if (!guard_charge(s, uid, begin_ns) && ready)
        guard_let_wait(c);
    return 0;
}

static void add_connection(struct server *s, int fd)
{
    uint64_t begin_ns = clock_cpu_ns();
    struct connection *c = calloc(1, sizeof(*c));
    socklen_t size = sizeof(c->cred);

    if (!c || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c->cred, &size) < 0) {
        free(c);
        close(fd);
        return;
    }
    if (!guard_admits(s, c->cred.uid)) {
        if (log_limit_allows(&s->crowd, c->cred.uid, clock_ns()))
            log_warn("too many connections: refused one from uid %u",
                     c->cred.uid);
        free(c);
        close(fd);
        return;
    }
    c->server = s;
    c->fd = fd;
    c->next = s->connections;
    s->connections = c;
    s->count++;
    if (sd_event_add_io(s->event, &c->source, fd, EPOLLIN, on_packet, c) < 0) {
        connection_free(c);
        return;
    }
    guard_accepted(c);
    if (!guard_charge(s, c->cred.uid, begin_ns))
        guard_let_wait(c);
}

static int on_resume(sd_event_source *source, uint64_t usec, void *arg)
{
    struct server *s = arg;

    (void)source;
    (void)usec;
    if (s->accept_source)
        sd_event_source_set_enabled(s->accept_source, SD_EVENT_ON);
    return 0;
}

static int on_accept(sd_event_source *source, int fd, uint32_t events,
                     void *arg)
{
    struct server *s = arg;
    int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    if (client >= 0) {
        add_connection(s, client);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
               errno == ENOMEM) {
        /* The waiting connection stays readable: without a pause this would
         * spin. */
        log_warn("cannot accept connections for now: %s", strerror(errno));
        s->resume_source = sd_event_source_disable_unref(s->resume_source);
        if (sd_event_add_time_relative(s->event, &s->resume_source,
                                       CLOCK_MONOTONIC, ACCEPT_PAUSE_US, 0,
                                       on_resume, s) >= 0)
            sd_event_source_set_enabled(source, SD_EVENT_OFF);
    }
    return 0;
}

/* ---- the socket ---------------------------------------------------------- */

/* Who may write into the directory may put a socket of their own there, and
 * Slurm would tell them of its jobs. */
static int make_directory(const char *path, struct errtext *err)
{
    char copy[sizeof(((struct sockaddr_un *)0)->sun_path)];
    struct stat st;

    snprintf(copy, sizeof(copy), "%s", path);
    char *dir = dirname(copy);
    if ((mkdir(dir, 0755) < 0 && errno != EEXIST) || stat(dir, &st) < 0)
        return errtext_set(err, errno, "%s: %s", dir, strerror(errno));
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return errtext_set(err, EPERM, "%s: belongs to uid %u, not to uid %u or "
                                       "root", dir, st.st_uid, geteuid());
    if (st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX))
        return errtext_set(err, EPERM, "%s: others may write there", dir);
    return 0;
}

/* Remove a socket at ADDRESS that nobody listens on. */
static int remove_stale(const struct sockaddr_un *address, struct errtext *err)
{
    struct stat st;

    if (lstat(address->sun_path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return errtext_set(err, EEXIST, "%s: exists and is no socket",
                           address->sun_path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errtext_set(err, errno, "socket: %s", strerror(errno));
    int rc = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    bool stale = rc < 0 && (errno == ECONNREFUSED || errno == ENOENT);
    close(fd);
    if (!stale)
        return errtext_set(err, EADDRINUSE, "%s: another agent listens there",
                           address->sun_path);
    unlink(address->sun_path);
    return 0;
}

static int listen_at(struct server *s, struct errtext *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;

    memcpy(address.sun_path, s->path, sizeof(s->path));
    if (make_directory(s->path, err) < 0 || remove_stale(&address, err) < 0)
        return -1;
    s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0 ||
        bind(s->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        lstat(s->path, &st) < 0)
        return errtext_set(err, errno, "%s: %s", s->path, strerror(errno));
    s->device = st.st_dev;
    s->inode = st.st_ino;
    if (chmod(s->path, 0666) < 0 || listen(s->fd, 512) < 0)
        return errtext_set(err, errno, "%s: %s", s->path, strerror(errno));
    int rc = sd_event_add_io(s->event, &s->accept_source, s->fd, EPOLLIN,
                             on_accept, s);
    return rc < 0 ? errtext_set(err, -rc, "event loop: %s", strerror(-rc)) : 0;
}

/* True while the file at the socket's path is the one that we made. */
static bool has_file(const struct server *s)
{
    struct stat st;

    return s->inode && lstat(s->path, &st) == 0 && st.st_dev == s->device &&
           st.st_ino == s->inode;
}

static void stop_listening(struct server *s)
{
    s->accept_source = sd_event_source_disable_unref(s->accept_source);
    if (has_file(s))
        unlink(s->path);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->inode = 0;
}

/* A socket without a file is one that no job finds: make it anew. */
static int on_look(sd_event_source *source, uint64_t usec, void *arg)
{
    struct server *s = arg;
    struct errtext err;

    sd_event_source_set_time(source, usec + LOOK_US);
    sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    if (has_file(s))
        return 0;
    stop_listening(s);
    if (listen_at(s, &err) == 0) {
        log_notice("%s was gone: made anew", s->path);
    } else {
        stop_listening(s);
        if (log_limit_allows(&s->lost, 0, clock_ns()))
            log_error("%s is gone: %s", s->path, err.text);
    }
    return 0;
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
    s->fd = -1;
    s->auth = auth;
    s->handler = handler;
    s->arg = arg;
    if (strlen(path) >= sizeof(s->path)) {
        errtext_set(err, ENAMETOOLONG, "%.100s...: too long for a socket", path);
        goto fail;
    }
    if (!(s->munge = munge_decoder_new(event, munge_socket, err)))
        goto fail;
    strcpy(s->path, path);
    if (listen_at(s, err) < 0)
        goto fail;
    int rc = sd_event_add_time_relative(event, &s->look_source, CLOCK_MONOTONIC,
                                        LOOK_US, LOOK_US / 4, on_look, s);
    if (rc < 0) {
        errtext_set(err, -rc, "event loop: %s", strerror(-rc));
        goto fail;
    }
    return s;
fail:
    server_free(s);
    return NULL;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    int saved = errno;
    while (s->connections)
        connection_free(s->connections);
    sd_event_source_disable_unref(s->resume_source);
    sd_event_source_disable_unref(s->look_source);
    guard_stop(s);
    stop_listening(s);
    munge_decoder_free(s->munge);
    free(s);
    errno = saved;
}
