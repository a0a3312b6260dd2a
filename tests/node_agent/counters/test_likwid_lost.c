/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The backend `likwid`, helper process and all: whatever goes wrong. */

#include "tests/node_agent/counters/test_likwid_stage.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

/* ---- a library that misbehaves ------------------------------------------ */

static void library_fails(void **state)
{
    struct fixture *f = *state;

    put(f, "perfmon_init", "-13");
    open_bad(f, EACCES, "perfmon_init failed (-13: Permission denied)");
    put(f, "perfmon_init", "-1");
    open_bad(f, ENOTSUP, "perfmon_init failed (-1)");
    put(f, "perfmon_init", "exit");
    open_bad(f, EPIPE, "the helper ended with status 1");
    put(f, "perfmon_init", "die");
    open_bad(f, EPIPE, "the helper was ended by signal 9");
    drop(f, "perfmon_init");
    put(f, "topology_init", "exit");
    open_bad(f, EPIPE, "the helper ended with status 1");
    drop(f, "topology_init");
    put(f, "perfmon_addEventSet", "-22");
    open_bad(f, ENOTSUP, "event set 1: none of its events can be counted");
    drop(f, "perfmon_addEventSet");
    put(f, "perfmon_startCounters", "-2");
    open_bad(f, EIO, "counting cannot start (-2)");
    drop(f, "perfmon_startCounters");
    open_good(f);
}

static void library_hangs(void **state)
{
    struct fixture *f = *state;

    likwid_timing.start = 100;
    likwid_timing.grace = 100;
    put(f, "perfmon_init", "hang");
    open_bad(f, ETIMEDOUT, "no answer for 100 ms");
}

static void library_talks(void **state)
{
    static const char *const words[] = {"flood", "fork", "close"};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        put(f, "topology_init", words[i]);
        put(f, "perfmon_init", words[i]);
        put(f, "perfmon_readCounters", words[i]);
        open_good(f);
        sample_good(f, 0, NULL);
        close_it(f);
    }
}

static void counters_in_use(void **state)
{
    struct fixture *f = *state;

    put(f, "perfmon_addEventSet", "in-use");
    put(f, "missing", "FIXC1");
    open_bad(f, EBUSY,
             "FIXC1 cannot be counted (it said: ERROR: The selected register "
             "PMC0 is in use.)");
}

/* ---- losing it while running -------------------------------------------- */

static void comes_back(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    open_good(f);
    sample_good(f, 0, NULL);
    assert_false(called(f, "perfmon_init 1"));
    put(f, "perfmon_readCounters", "-5");
    sample_bad(f, &err);
    assert_non_null(strstr(err.text, "likwid: the counters can no longer be "
                                     "read (-5); trying again"));
    assert_true(isnan(f->sample->cpu[0].cycles));
    /* The next helpers fail, too: no more words. */
    for (int i = 0; i < 500; i++) {
        assert_int_equal(sample_once(f, &err), 0);
        assert_true(isnan(f->sample->cpu[0].cycles));
        usleep(1000);
    }
    drop(f, "perfmon_readCounters");
    sample_good(f, 0, NULL);
    /* Registers in use were those of the helper before. */
    assert_true(called(f, "perfmon_init 1"));
}

static void dies(void **state)
{
    struct fixture *f = *state;

    open_good(f);
    sample_good(f, 0, NULL);
    put(f, "perfmon_readCounters", "exit");
    struct errtext err;
    sample_bad(f, &err);
    assert_non_null(strstr(err.text, "the helper ended with status 1"));
    drop(f, "perfmon_readCounters");
    sample_good(f, 0, NULL);
}

static void hangs(void **state)
{
    struct fixture *f = *state;
    struct errtext err;

    open_good(f);
    sample_good(f, 0, NULL);
    likwid_timing.answer = 1;
    put(f, "perfmon_readCounters", "hang");
    sample_bad(f, &err);
    assert_non_null(strstr(err.text, "likwid: no answer for 500 ms"));
    drop(f, "perfmon_readCounters");
    likwid_timing.answer = 1000;
    sample_good(f, 0, NULL);
}

/* Somebody else's: by owner where we may give it away, else by mode. */
static void take_lock(const struct fixture *f)
{
    char path[256];

    path_of(f, "lock.theirs", path);
    put(f, "lock.theirs", "");
    if (geteuid() == 0)
        assert_int_equal(chown(path, 65534, 65534), 0);
    else
        assert_int_equal(chmod(path, 0), 0);
    char lock[256];
    path_of(f, "lock", lock);
    assert_int_equal(rename(path, lock), 0);
}

static void lock_is_honoured(void **state)
{
    struct fixture *f = *state;

    take_lock(f);
    open_bad(f, EBUSY, "/lock");
    assert_false(called(f, "perfmon_init"));
    put(f, "lock", ""); /* ours */
    open_good(f);
    sample_good(f, 0, NULL);
    take_lock(f);
    struct errtext err;
    sample_bad(f, &err);
    assert_int_equal(errno, EBUSY);
    assert_non_null(strstr(err.text, "/lock"));
    drop(f, "lock");
    sample_good(f, 0, NULL);
}

/* ---- a helper that misbehaves ------------------------------------------- */

static void helper_is_strange(void **state)
{
    struct fixture *f = *state;

    helper(f, "#!/bin/sh\nprintf 'HTTP/1.1 200 OK and more of it' >&3\n");
    open_bad(f, EPROTO, "the helper speaks another language");
    helper(f, "#!/bin/sh\nexit 127\n");
    open_bad(f, EPIPE, "the helper ended with status 127");
    helper(f, "#!/bin/sh\necho 'error while loading shared libraries' >&2\n"
              "exit 127\n");
    open_bad(f, EPIPE, "status 127 (it said: error while loading shared");
    helper(f, "#!/bin/sh\nexec 3>&-\nexec sleep 1000\n");
    likwid_timing.grace = 0;
    open_bad(f, EPIPE, "the helper closed its socket");
    drop(f, "libexec/coschedd-likwid");
    open_bad(f, ENOTSUP, "libexec/coschedd-likwid is not installed");
}

/* ---- a helper that somebody else starts --------------------------------- */

/* As systemd does for a socket with Accept=yes: one helper, whose program is
 * "theirs", for each connection, which is its descriptor 3. */
static pid_t serve(const struct fixture *f, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char program[256];

    path_of(f, "theirs", program);
    strcpy(address.sun_path, path);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGCHLD, SIG_IGN);
        for (;;) {
            int one = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
            if (one < 0 || fork() != 0) {
                close(one);
                continue;
            }
            signal(SIGCHLD, SIG_DFL);
            if (one == 3)
                fcntl(one, F_SETFD, 0);
            else
                dup2(one, 3);
            execl(program, program, NULL);
            _exit(1);
        }
    }
    close(fd);
    assert_true(pid > 0);
    return pid;
}

static void others_start_it(void **state)
{
    struct fixture *f = *state;
    struct errtext err;
    char path[108], ours[256], theirs[256];

    snprintf(path, sizeof(path), "%s/likwid.sock", f->dir);
    path_of(f, "libexec/coschedd-likwid", ours);
    path_of(f, "theirs", theirs);
    assert_int_equal(rename(ours, theirs), 0);
    f->setup.likwid_socket = path;
    open_bad(f, ENOTSUP, "libexec/coschedd-likwid is not installed");
    pid_t server = serve(f, path);
    open_good(f);
    sample_good(f, 0, NULL);
    put(f, "perfmon_readCounters", "exit");
    sample_bad(f, &err);
    assert_non_null(strstr(err.text, "the helper closed its socket"));
    drop(f, "perfmon_readCounters");
    sample_good(f, 0, NULL);
    assert_false(called(f, "perfmon_finalize"));
    close_it(f); /* waits until the counters are put back */
    assert_true(called(f, "perfmon_finalize"));

    kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
    open_bad(f, ENOTSUP, "libexec/coschedd-likwid is not installed");
    assert_int_equal(rename(theirs, ours), 0);
    open_good(f); /* nobody is behind the socket */
    sample_good(f, 0, NULL);
}

UNIT(test_likwid_lost)
{
    const struct CMUnitTest tests[] = {
        STAGE_TEST(library_fails),
        STAGE_TEST(library_hangs),
        STAGE_TEST(library_talks),
        STAGE_TEST(counters_in_use),
        STAGE_TEST(comes_back),
        STAGE_TEST(dies),
        STAGE_TEST(hangs),
        STAGE_TEST(lock_is_honoured),
        STAGE_TEST(helper_is_strange),
        STAGE_TEST(others_start_it),
    };

    return cmocka_run_group_tests_name("test_likwid_lost", tests, NULL, NULL);
}
