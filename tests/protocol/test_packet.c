/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Packets and descriptors over a socket pair: no descriptor is ever lost. */

#include "tests/protocol/unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "protocol/message.h"

struct pair {
    int ours, theirs; /* we send, they receive */
    int page;         /* something to pass */
    struct message_packet packet;
};

static int set_up(void **state)
{
    struct pair *pair = calloc(1, sizeof(*pair));
    int fds[2], size = 1 << 20;

    if (!pair || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds) ||
        setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)))
        return -1;
    pair->ours = fds[0];
    pair->theirs = fds[1];
    pair->page = memfd_create("page", MFD_CLOEXEC);
    *state = pair;
    return pair->page < 0;
}

static int tear_down(void **state)
{
    struct pair *pair = *state;

    message_packet_close(&pair->packet);
    close(pair->ours);
    close(pair->theirs);
    close(pair->page);
    free(pair);
    return 0;
}

static size_t open_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Send SIZE bytes and COUNT descriptors as no function of ours would. */
static void send_raw(struct pair *pair, const void *text, size_t size,
                     size_t count)
{
    char space[CMSG_SPACE(sizeof(int) * 64)] = {0};
    struct iovec iov = {.iov_base = (void *)(uintptr_t)text, .iov_len = size};
    struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};

    if (count) {
        header.msg_control = space;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * count);
        for (size_t i = 0; i < count; i++)
            memcpy(CMSG_DATA(c) + i * sizeof(int), &pair->page, sizeof(int));
    }
    assert_int_equal(sendmsg(pair->ours, &header, 0), (ssize_t)size);
}

static void test_send_bad(void **state)
{
    struct pair *pair = *state;
    int fds[MESSAGE_MAX_FDS + 1] = {pair->page, pair->page, pair->page};
    char *text = calloc(1, MESSAGE_MAX + 1);
    struct errtext err = {""};

    assert_non_null(text);
    assert_int_equal(
        message_send(pair->ours, text, MESSAGE_MAX + 1, NULL, 0, &err), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_non_null(strstr(err.text, "65537"));
    assert_int_equal(
        message_send(pair->ours, "{}", 2, fds, MESSAGE_MAX_FDS + 1, &err), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(message_send(-1, "{}", 2, NULL, 0, &err), -1);
    assert_int_equal(errno, EBADF);
    fds[1] = 1000;
    assert_int_equal(message_send(pair->ours, "{}", 2, fds, 2, &err), -1);
    assert_int_equal(errno, EBADF);
    free(text);
    /* Nothing of that was sent. */
    assert_int_equal(message_receive(pair->theirs, &pair->packet, &err), -1);
    assert_int_equal(errno, EAGAIN);
    /* A peer that has gone is an error, not a signal. */
    close(pair->theirs);
    pair->theirs = -1;
    assert_int_equal(message_send(pair->ours, "{}", 2, NULL, 0, &err), -1);
    assert_int_equal(errno, EPIPE);
}

static void test_too_many_descriptors(void **state)
{
    struct pair *pair = *state;
    size_t before = open_descriptors();

    /* Some beyond our room for control data, some only beyond what we want. */
    for (size_t count = MESSAGE_MAX_FDS + 1; count <= 64; count++) {
        struct errtext err = {""};
        send_raw(pair, "{}", 2, count);
        errno = 0;
        assert_int_equal(message_receive(pair->theirs, &pair->packet, &err),
                         -1);
        assert_int_equal(errno, EMSGSIZE);
        assert_int_equal(pair->packet.nfds, 0);
        assert_non_null(strstr(err.text, "descriptors"));
        assert_int_equal(open_descriptors(), before);
    }
}

static void test_too_long(void **state)
{
    struct pair *pair = *state;
    size_t before = open_descriptors();
    char *text = malloc(MESSAGE_MAX + 1);
    struct errtext err = {""};

    assert_non_null(text);
    memset(text, 'x', MESSAGE_MAX + 1);
    send_raw(pair, text, MESSAGE_MAX + 1, 2);
    assert_int_equal(message_receive(pair->theirs, &pair->packet, &err), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(open_descriptors(), before);
    /* The longest that is allowed, and the connection works on. */
    assert_int_equal(
        message_send(pair->ours, text, MESSAGE_MAX, NULL, 0, &err), 0);
    assert_int_equal(message_receive(pair->theirs, &pair->packet, &err), 1);
    assert_int_equal(pair->packet.size, MESSAGE_MAX);
    assert_int_equal(strlen(pair->packet.text), MESSAGE_MAX);
    free(text);
}

static void test_end(void **state)
{
    struct pair *pair = *state;
    size_t before = open_descriptors();

    errno = 0;
    assert_int_equal(message_receive(pair->theirs, &pair->packet, NULL), -1);
    assert_int_equal(errno, EAGAIN);
    /* An empty packet cannot be told from the end, and brings nothing. */
    send_raw(pair, "", 0, 2);
    assert_int_equal(message_receive(pair->theirs, &pair->packet, NULL), 0);
    assert_int_equal(open_descriptors(), before);
    shutdown(pair->ours, SHUT_WR);
    assert_int_equal(message_receive(pair->theirs, &pair->packet, NULL), 0);
    assert_int_equal(message_receive(-1, &pair->packet, NULL), -1);
    assert_int_equal(errno, EBADF);
}

static void test_descriptors(void **state)
{
    struct pair *pair = *state;
    size_t before = open_descriptors();

    for (size_t count = 0; count <= MESSAGE_MAX_FDS; count++) {
        int fds[MESSAGE_MAX_FDS] = {pair->page, pair->page};
        char text[32];
        int n = snprintf(text, sizeof(text), "{\"n\":%zu}", count);
        assert_int_equal(write(pair->page, text, (size_t)n), n);
        assert_int_equal(message_send(pair->ours, text, (size_t)n, fds, count,
                                      NULL), 0);
        assert_int_equal(message_receive(pair->theirs, &pair->packet, NULL), 1);
        assert_string_equal(pair->packet.text, text);
        assert_int_equal(pair->packet.size, n);
        assert_int_equal(pair->packet.nfds, count);
        assert_int_equal(open_descriptors(), before + count);
        for (size_t i = 0; i < count; i++) {
            /* The same file, not inherited by a program that we start. */
            assert_int_equal(lseek(pair->packet.fds[i], 0, SEEK_CUR),
                             lseek(pair->page, 0, SEEK_CUR));
            assert_int_equal(fcntl(pair->packet.fds[i], F_GETFD), FD_CLOEXEC);
        }
        message_packet_close(&pair->packet);
        assert_int_equal(open_descriptors(), before);
    }
}

/* One packet is one message, however many wait. */
static void test_order(void **state)
{
    struct pair *pair = *state;

    for (int i = 0; i < 5; i++) {
        char text[32];
        int n = snprintf(text, sizeof(text), "{\"n\":%d}", i);
        assert_int_equal(
            message_send(pair->ours, text, (size_t)n, NULL, 0, NULL), 0);
    }
    for (int i = 0; i < 5; i++) {
        char text[32];
        snprintf(text, sizeof(text), "{\"n\":%d}", i);
        assert_int_equal(message_receive(pair->theirs, &pair->packet, NULL), 1);
        assert_string_equal(pair->packet.text, text);
    }
}

static void test_close_keeps_errno(void **state)
{
    struct pair *pair = *state;

    pair->packet.nfds = 1;
    pair->packet.fds[0] = -1; /* close() fails */
    errno = ENOENT;
    message_packet_close(&pair->packet);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(pair->packet.nfds, 0);
}

UNIT(test_packet)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_send_bad, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_many_descriptors, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_too_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_close_keeps_errno, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests_name("test_packet", tests, NULL, NULL);
}
