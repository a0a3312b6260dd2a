/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Notes of ended jobs: left, found once, refused in a stranger's directory. */

#include "tests/support/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "node_agent/client/end_note.h"

struct place {
    char directory[32];
    char socket[48];
    char notes[64];
};

struct found {
    size_t count;
    uint32_t jobs[4];
    uint64_t end_ns[4];
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    if (!p)
        return -1;
    *state = p;
    strcpy(p->directory, "/tmp/cosched-test.XXXXXX");
    if (!mkdtemp(p->directory))
        return -1;
    snprintf(p->socket, sizeof(p->socket), "%s/sock", p->directory);
    snprintf(p->notes, sizeof(p->notes), "%s.ended", p->socket);
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;

    rmdir(p->notes);
    unlink(p->notes);
    int rc = rmdir(p->directory); /* fails if anything was left there */
    free(p);
    return rc;
}

static void on_found(void *arg, uint32_t job, uint64_t end_ns)
{
    struct found *f = arg;

    assert_true(f->count < 4);
    f->jobs[f->count] = job;
    f->end_ns[f->count++] = end_ns;
}

static struct found take(const struct place *p)
{
    struct found found = {0};
    struct errtext err = {""};

    if (end_note_take(p->socket, on_found, &found, &err) < 0)
        fail_msg("%s", err.text);
    return found;
}

static void leave(const struct place *p, uint32_t job)
{
    struct errtext err = {""};

    if (end_note_leave(p->socket, job, &err) < 0)
        fail_msg("%s", err.text);
}

static void end_note__is_found_once(void **state)
{
    const struct place *p = *state;
    struct stat st;

    assert_int_equal(take(p).count, 0); /* makes the directory */
    assert_int_equal(stat(p->notes, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);

    uint64_t before_ns = clock_ns();
    leave(p, UINT32_MAX);
    leave(p, 7);
    uint64_t middle_ns = clock_ns();
    leave(p, 7); /* a later run */

    struct found found = take(p);
    assert_int_equal(found.count, 2);
    size_t late = found.jobs[1] == 7;
    assert_int_equal(found.jobs[late], 7);
    assert_in_range(found.end_ns[late], middle_ns, clock_ns());
    assert_int_equal(found.jobs[!late], UINT32_MAX);
    assert_in_range(found.end_ns[!late], before_ns, middle_ns);
    assert_int_equal(take(p).count, 0);
}

/* What epilogs do not leave is none of the agent's business. */
static void end_note__other_files_stay(void **state)
{
    static const char *const names[] = {"0", "07", "-7", "7x", ".7",
                                        "4294967296", "99999999999999999999"};
    const struct place *p = *state;

    take(p);
    int directory = open(p->notes, O_DIRECTORY | O_CLOEXEC);
    assert_return_code(directory, errno);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        int fd = openat(directory, names[i], O_CREAT | O_CLOEXEC, 0600);
        assert_return_code(fd, errno);
        close(fd);
    }
    assert_int_equal(take(p).count, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_return_code(unlinkat(directory, names[i], 0), errno);
    close(directory);
}

static void end_note__without_agent(void **state)
{
    const struct place *p = *state;
    struct errtext err = {""};

    assert_int_equal(end_note_leave(p->socket, 7, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(err.text, p->notes));
    assert_int_equal(access(p->notes, F_OK), -1);
}

static void refused(const struct place *p, int errnum)
{
    struct errtext err = {""};

    assert_int_equal(end_note_leave(p->socket, 7, &err), -1);
    assert_int_equal(errno, errnum);
    assert_non_null(strstr(err.text, p->notes));
    assert_int_equal(end_note_take(p->socket, on_found, NULL, &err), -1);
    assert_int_equal(errno, errnum);
    assert_non_null(strstr(err.text, p->notes));
}

static void end_note__directory_of_others(void **state)
{
    const struct place *p = *state;

    take(p);
    assert_return_code(chmod(p->notes, 0770), errno);
    refused(p, EPERM);
    assert_return_code(chmod(p->notes, 0777), errno);
    refused(p, EPERM);
    assert_return_code(chmod(p->notes, 0700), errno);
    leave(p, 7);
    if (geteuid() == 0) {
        assert_return_code(chown(p->notes, 65534, (gid_t)-1), errno);
        refused(p, EPERM);
        assert_return_code(chown(p->notes, 0, (gid_t)-1), errno);
    }
    assert_int_equal(take(p).count, 1);

    assert_return_code(rmdir(p->notes), errno);
    assert_return_code(symlink("/tmp", p->notes), errno);
    refused(p, ENOTDIR);
}

UNIT(test_end_note)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(end_note__is_found_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(end_note__other_files_stay, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(end_note__without_agent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(end_note__directory_of_others, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests_name("test_end_note", tests, NULL, NULL);
}
