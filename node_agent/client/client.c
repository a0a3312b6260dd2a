/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Client side of the agent's socket. */

#include "config.h"

#include "node_agent/client/client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "node_agent/client/munge_credential.h"

#define DEFAULT_SOCKET COSCHED_RUNDIR "/coschedd.sock"
#define NODE_MAX 256

struct client {
    int fd;
    int timeout_ms;
    bool in_all; /* it bounds all that is done since opened_ns together */
    uint64_t opened_ns;
    bool munge;
    char *munge_socket;
    struct message_packet packet; /* too large for some stacks */
};

/* The node's name as Slurm has it, else the short host name. */
static const char *node_name(char *buffer, size_t size)
{
    const char *name = getenv("SLURMD_NODENAME");

    if (name && *name && strlen(name) < size && !strchr(name, '/'))
        return strcpy(buffer, name);
    if (gethostname(buffer, size) < 0)
        return strcpy(buffer, "localhost");
    buffer[size - 1] = '\0';
    buffer[strcspn(buffer, ".")] = '\0';
    return buffer;
}

int client_socket_path(const char *path, char *buffer, size_t size,
                       struct errtext *err)
{
    char name[NODE_MAX];
    size_t used = 0;

    if (!path || !*path)
        path = getenv("COSCHED_SOCKET");
    if (!path || !*path)
        path = DEFAULT_SOCKET;
    for (const char *p = path; *p;) {
        bool node = p[0] == '%' && p[1] == 'n';
        const char *piece = node ? node_name(name, sizeof(name)) : p;
        size_t length = node ? strlen(name) : 1;
        if (used + length >= size)
            return errtext_set(err, ENAMETOOLONG,
                               "%.120s: socket path too long", path);
        memcpy(buffer + used, piece, length);
        used += length;
        p += node ? 2 : 1;
    }
    buffer[used] = '\0';
    return 0;
}

/* Milliseconds that are left of CLIENT's time since BEGIN_NS. */
static int left_ms(const struct client *client, uint64_t begin_ns)
{
    uint64_t gone_ms = (clock_ns() - begin_ns) / NS_PER_MS;

    return gone_ms < (uint64_t)client->timeout_ms
               ? client->timeout_ms - (int)gone_ms
               : 0;
}

/* Limit each send and receive, so that a stuck agent counts as absent. */
static int set_timeouts(int fd, int timeout_ms)
{
    struct timeval tv = {.tv_sec = timeout_ms / 1000,
                         .tv_usec = timeout_ms % 1000 * 1000};

    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) < 0 ||
                   setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0
               ? -1
               : 0;
}

/* Root, which is what starts jobs, tells nobody but root of them. */
static int check_agent(int fd, const char *path, struct errtext *err)
{
    struct ucred agent;
    socklen_t size = sizeof(agent);

    if (geteuid() != 0)
        return 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &agent, &size) < 0)
        return errtext_set(err, errno, "socket: %s", strerror(errno));
    if (agent.uid != 0)
        return errtext_set(err, EPERM, "%.100s: belongs to uid %u, not to root",
                           path, agent.uid);
    return 0;
}

static int connect_once(int fd, const struct sockaddr_un *address)
{
    int rc;

    do
        rc = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    while (rc < 0 && errno == EINTR);
    return rc;
}

/* By root's own way, where there is one and we may. */
static int connect_to(int fd, const struct sockaddr_un *address)
{
    struct sockaddr_un root = *address;
    size_t length = strlen(root.sun_path);

    if (length + sizeof(MESSAGE_ROOT_SUFFIX) <= sizeof(root.sun_path)) {
        strcpy(root.sun_path + length, MESSAGE_ROOT_SUFFIX);
        if (connect_once(fd, &root) == 0)
            return 0;
        if (errno == EAGAIN || errno == EINPROGRESS)
            return -1; /* there is an agent, and it hangs */
    }
    return connect_once(fd, address);
}

struct client *client_open(const char *path, int timeout_ms,
                           struct errtext *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct client *client = calloc(1, sizeof(*client));

    if (!client) {
        errtext_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    client->fd = -1;
    client->timeout_ms = timeout_ms;
    client->opened_ns = clock_ns();
    if (client_socket_path(path, address.sun_path, sizeof(address.sun_path),
                           err) < 0)
        goto fail;
    client->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (client->fd < 0 || set_timeouts(client->fd, timeout_ms) < 0) {
        errtext_set(err, errno, "socket: %s", strerror(errno));
        goto fail;
    }
    if (connect_to(client->fd, &address) < 0) {
        /* With SO_SNDTIMEO a full backlog ends in EAGAIN. */
        if (errno == EAGAIN || errno == EINPROGRESS)
            errno = ETIMEDOUT;
        errtext_set(err, errno, "no agent at %.100s: %s", address.sun_path,
                    strerror(errno));
        goto fail;
    }
    if (check_agent(client->fd, address.sun_path, err) < 0)
        goto fail;
    return client;
fail:
    client_close(client);
    return NULL;
}

void client_bound_in_all(struct client *client)
{
    client->in_all = true;
}

int client_use_munge(struct client *client, const char *socket,
                     struct errtext *err)
{
#ifdef HAVE_MUNGE
    char *copy = socket ? strdup(socket) : NULL;

    if (socket && !copy)
        return errtext_set(err, ENOMEM, "out of memory");
    free(client->munge_socket);
    client->munge_socket = copy;
    client->munge = true;
    return 0;
#else
    (void)client, (void)socket;
    return errtext_set(err, ENOTSUP, "built without munge");
#endif
}

static int no_answer(const struct client *client, struct errtext *err)
{
    return errtext_set(err, ETIMEDOUT, "the agent did not answer within %d ms",
                       client->timeout_ms);
}

/* The next send or receive is to be over in time. */
static int limit(const struct client *client, uint64_t begin_ns,
                 struct errtext *err)
{
    int left = left_ms(client, begin_ns);

    if (left == 0)
        return no_answer(client, err);
    if (set_timeouts(client->fd, left) < 0)
        return errtext_set(err, errno, "socket: %s", strerror(errno));
    return 0;
}

static int send_request(struct client *client,
                        const struct message_request *request,
                        uint64_t begin_ns, struct errtext *err)
{
    char *text = message_encode(request, err);

    if (text && client->munge && message_op_privileged(request->op)) {
        char *signed_text = munge_credential_encode(text, strlen(text), client->munge_socket,
                                                    false, left_ms(client, begin_ns), err);
        int saved = errno;
        free(text);
        text = signed_text;
        errno = saved;
    }
    if (!text)
        return -1;
    int rc = limit(client, begin_ns, err);
    if (rc == 0 &&
        (rc = message_send(client->fd, text, strlen(text), NULL, 0, err)) < 0 &&
        errno == EAGAIN)
        rc = no_answer(client, err);
    int saved = errno;
    free(text);
    errno = saved;
    return rc;
}

/* Wait for one packet of reply. */
static int receive_reply(struct client *client, uint64_t begin_ns,
                         struct errtext *err)
{
    if (limit(client, begin_ns, err) < 0)
        return -1;
    int rc = message_receive(client->fd, &client->packet, err);
    if (rc < 0 && errno == EAGAIN)
        return no_answer(client, err);
    if (rc == 0)
        return errtext_set(err, ECONNRESET, "the agent hung up");
    return rc < 0 ? -1 : 0;
}

/* Fail as the agent said in REPLY. */
static int refused(const json_t *reply, struct errtext *err)
{
    json_int_t errnum = json_integer_value(json_object_get(reply, "errnum"));
    const char *error = json_string_value(json_object_get(reply, "error"));

    return errtext_set(err, errnum > 0 && errnum < 4096 ? (int)errnum : EPROTO,
                       "%.180s",
                       error && *error ? error : "refused without a reason");
}

/* Hand the reply's descriptors out, close what nobody wants. */
static void give_descriptors(struct message_packet *packet, int *fds,
                             size_t max_fds, size_t *nfds)
{
    size_t count = 0;

    while (count < packet->nfds && count < max_fds) {
        fds[count] = packet->fds[count];
        count++;
    }
    for (size_t i = count; i < packet->nfds; i++)
        close(packet->fds[i]);
    packet->nfds = 0;
    if (nfds)
        *nfds = count;
}

int client_call(struct client *client, const struct message_request *request,
                json_t **reply, int *fds, size_t max_fds, size_t *nfds,
                struct errtext *err)
{
    uint64_t begin_ns = client->in_all ? client->opened_ns : clock_ns();

    if (nfds)
        *nfds = 0;
    if (send_request(client, request, begin_ns, err) < 0)
        return -1;
    if (receive_reply(client, begin_ns, err) < 0) {
        /* What comes late must not be taken for the next call's reply. */
        int saved = errno;
        shutdown(client->fd, SHUT_RDWR);
        errno = saved;
        return -1;
    }
    json_t *object = json_loadb(client->packet.text, client->packet.size,
                                JSON_REJECT_DUPLICATES, NULL);
    int rc = 0;
    if (!json_is_object(object))
        rc = errtext_set(err, EPROTO, "the agent's reply is not JSON");
    else if (!json_is_true(json_object_get(object, "ok")))
        rc = refused(object, err);
    if (rc < 0) {
        message_packet_close(&client->packet);
    } else {
        give_descriptors(&client->packet, fds, max_fds, nfds);
        if (reply)
            *reply = json_incref(object);
    }
    int saved = errno;
    json_decref(object);
    errno = saved;
    return rc;
}

void client_close(struct client *client)
{
    int saved = errno;

    if (!client)
        return;
    message_packet_close(&client->packet);
    if (client->fd >= 0)
        close(client->fd);
    free(client->munge_socket);
    free(client);
    errno = saved;
}
