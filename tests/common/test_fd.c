/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* All bytes through a descriptor, whatever comes between. */

#include "tests/protocol/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/fd.h"

#define SIZE 100000 /* many times what the pipe holds */
#define SIGNALS 20

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

static unsigned char byte(size_t i)
{
    return (unsigned char)(i * 7 + i / 251);
}

/* A pipe that holds one page; the parent's handler is set without SA_RESTART. */
static void make(int ends[2])
{
    struct sigaction act = {.sa_handler = on_signal};

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 4096);
    assert_true(fcntl(ends[1], F_GETPIPE_SZ) < SIZE);
    assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
    signals = 0;
}

/* In the child: wait until process PID, the parent, sleeps: in the call that is
 * tested.  0; -1 if it never does. */
static int wait_until_asleep(pid_t pid)
{
    char path[64], text[512];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    for (int tries = 0; tries < 60000; tries++) {
        FILE *file = fopen(path, "re");
        size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
        if (file)
            fclose(file);
        text[n] = '\0';
        const char *state = strrchr(text, ')');
        if (state && state[1] && state[2] == 'S')
            return 0;
        usleep(1000);
    }
    return -1;
}

/* The child found what it should, and has ended. */
static void assert_good(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The reader takes a few bytes at a time, of different numbers, and sends
 * signals while the writer waits for room. */
static void read_slowly(int fd, pid_t parent)
{
    unsigned char part[997];
    size_t got = 0;

    for (int i = 0; i < SIGNALS; i++) {
        if (wait_until_asleep(parent) < 0)
            _exit(2);
        kill(parent, SIGUSR1);
        ssize_t n = read(fd, part, 100 + (size_t)i * 40);
        for (ssize_t k = 0; k < n; k++)
            if (part[k] != byte(got++))
                _exit(3);
    }
    for (ssize_t n; (n = read(fd, part, sizeof(part))) > 0;)
        for (ssize_t k = 0; k < n; k++)
            if (part[k] != byte(got++))
                _exit(4);
    _exit(got == SIZE ? 0 : 5);
}

static void test_write(void **state)
{
    static unsigned char data[SIZE];
    pid_t parent = getpid();
    int ends[2];

    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        data[i] = byte(i);
    make(ends);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[1]);
        read_slowly(ends[0], parent);
    }
    close(ends[0]);
    assert_int_equal(fd_write_all(ends[1], data, SIZE), 0);
    close(ends[1]);
    assert_good(child);
    assert_true(signals > 0);
}

static void test_read(void **state)
{
    static unsigned char data[SIZE];
    pid_t parent = getpid();
    int ends[2];

    (void)state;
    make(ends);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        /* Byte by byte at first, a signal before each. */
        for (size_t i = 0; i < SIZE; i++) {
            unsigned char c = byte(i);
            if (i < SIGNALS && wait_until_asleep(parent) < 0)
                _exit(2);
            if (i < SIGNALS)
                kill(parent, SIGUSR1);
            if (write(ends[1], &c, 1) != 1)
                _exit(3);
        }
        _exit(0);
    }
    close(ends[1]);
    /* More than comes: it ends with the writer. */
    assert_int_equal(fd_read_all(ends[0], data, 3), 3);
    assert_int_equal(fd_read_all(ends[0], data + 3, SIZE - 10), SIZE - 10);
    char rest[64];
    assert_int_equal(fd_read_all(ends[0], rest, sizeof(rest)), 7);
    memcpy(data + SIZE - 7, rest, 7);
    assert_int_equal(fd_read_all(ends[0], rest, sizeof(rest)), 0);
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(data[i], byte(i));
    close(ends[0]);
    assert_good(child);
    assert_true(signals > 0);
}

static void test_nothing(void **state)
{
    int ends[2];

    (void)state;
    make(ends);
    assert_int_equal(fd_write_all(ends[1], NULL, 0), 0);
    assert_int_equal(fd_read_all(ends[0], NULL, 0), 0);
    /* Not even the descriptor is looked at. */
    assert_int_equal(fd_write_all(-1, NULL, 0), 0);
    close(ends[0]);
    close(ends[1]);
}

static void test_errors(void **state)
{
    char c = 0;
    int ends[2];

    (void)state;
    make(ends);
    errno = 0;
    assert_int_equal(fd_write_all(-1, &c, 1), -1);
    assert_int_equal(errno, EBADF);
    errno = 0;
    assert_int_equal(fd_read_all(-1, &c, 1), -1);
    assert_int_equal(errno, EBADF);

    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    errno = 0;
    assert_int_equal(fd_write_all(full, &c, 1), -1);
    assert_int_equal(errno, ENOSPC);
    close(full);

    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    errno = 0;
    assert_int_equal(fd_write_all(ends[1], &c, 1), -1);
    assert_int_equal(errno, EPIPE);
    close(ends[1]);
}

UNIT(test_fd)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests_name("test_fd", tests, NULL, NULL);
}
