/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: what clients make of replies.
 *
 * The first byte says how many descriptors come with a reply; replies end with
 * a zero byte. */

#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "node_agent/client/client.h"

static int listener = -1;
static char path[108];

static void set_up(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(path, sizeof(path), "%s/socket", fuzz_directory());
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    REQUIRE(listener >= 0);
    REQUIRE(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
    REQUIRE(listen(listener, 4) == 0);
}

/* Send a reply with COUNT descriptors.  False: it is too long for a packet. */
static bool reply_with(int fd, const void *text, size_t size, unsigned count)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * 4)];
        struct cmsghdr align;
    } control = {.bytes = ""};
    struct iovec part = {(void *)text, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int fds[4] = {fd, fd, fd, fd};

    if (count) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

static void call(struct client *client)
{
    const struct message_request ping = {.op = MESSAGE_PING};
    struct errtext err = {""};
    json_t *reply = NULL;
    int fds[MESSAGE_MAX_FDS];
    size_t count = 0;

    if (client_call(client, &ping, &reply, fds, MESSAGE_MAX_FDS, &count, &err) <
        0) {
        fuzz_refused(&err);
        REQUIRE(!reply && !count);
        return;
    }
    REQUIRE(json_is_object(reply) &&
            json_is_true(json_object_get(reply, "ok")));
    REQUIRE(count <= MESSAGE_MAX_FDS);
    for (size_t i = 0; i < count; i++)
        REQUIRE(fcntl(fds[i], F_GETFD) == FD_CLOEXEC && close(fds[i]) == 0);
    json_decref(reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes all = {data, size};
    unsigned fds = fuzz_take_byte(&all) % 5;
    struct errtext err = {""};

    if (listener < 0)
        set_up();
    int lowest = dup(listener);
    close(lowest);
    struct client *client = client_open(path, 60000, &err);
    int server = client ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    REQUIRE(client && server >= 0);
    /* Before the request, so that nobody waits; at most three. */
    size_t replies = 0;
    while (all.size && replies < 3) {
        const uint8_t *end = memchr(all.data, '\0', all.size);
        size_t length = end ? (size_t)(end - all.data) : all.size;
        if (!length || !reply_with(server, all.data, length, fds))
            break;
        replies++;
        all.data += length + (end != NULL);
        all.size -= length + (end != NULL);
    }
    shutdown(server, SHUT_WR);
    for (size_t i = 0; i <= replies; i++)
        call(client);
    client_close(client);
    close(server);
    /* No descriptor is left. */
    int now = dup(listener);
    REQUIRE(now == lowest);
    close(now);
    return 0;
}
