/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What one job may have of the agent: tasks, attached processes, pages left behind. */

#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "model/machine.h"
#include "node_agent/core/job.h"
#include "node_agent/core/process.h"
#include "node_agent/topology/topology.h"
#include "tests/support/uniform_machine.h"

static int set_up(void **state)
{
    struct rlimit files;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    *state = calloc(1, sizeof(struct job_table));
    assert_non_null(job_add(*state, 7));
    return 0;
}

static int tear_down(void **state)
{
    struct job_table *table = *state;

    while (table->first->processes)
        process_detach(table->first->processes);
    job_remove(table, table->first);
    free(table);
    return 0;
}

static pid_t start(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* One more task than a job may have is refused, and an old one is not; when one has ended there is
 * room again. */
static void test_tasks(void **state)
{
    struct job *job = ((struct job_table *)*state)->first;
    struct rlimit files;
    pid_t pid[JOB_TASKS + 1];

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_cur < JOB_TASKS + 100)
        skip();
    for (size_t i = 0; i <= JOB_TASKS; i++)
        pid[i] = start();
    for (size_t i = 0; i < JOB_TASKS; i++)
        assert_non_null(job_add_task(job, 0, pid[i]));
    errno = 0;
    assert_null(job_add_task(job, 0, pid[JOB_TASKS]));
    assert_int_equal(errno, EDQUOT);
    struct task *old = job_add_task(job, 0, pid[0]);
    assert_non_null(old);
    job_remove_task(old);
    assert_non_null(job_add_task(job, 0, pid[JOB_TASKS]));
    assert_int_equal(job->task_count, JOB_TASKS);
    for (size_t i = 0; i <= JOB_TASKS; i++)
        end(pid[i]);
}

static void test_attached(void **state)
{
    struct job *job = ((struct job_table *)*state)->first;
    struct machine *machine = machine_new_uniform(1, 4, 1);
    struct errtext err = {""};
    struct topology *topology = topology_of_machine(machine, &err);

    for (size_t i = 0; i < JOB_ATTACHED; i++)
        assert_non_null(process_attach(job, getpid(), topology, NS_PER_S, &err));
    assert_null(process_attach(job, getpid(), topology, NS_PER_S, &err));
    assert_int_equal(errno, EDQUOT);
    assert_non_null(strstr(err.text, "job 7: 1024 of its processes"));
    assert_non_null(strstr(err.text, "JOB_ATTACHED"));
    process_detach(job->processes);
    assert_non_null(process_attach(job, getpid(), topology, NS_PER_S, &err));
    topology_free(topology);
    machine_free(machine);
}

static blkcnt_t blocks(int fd)
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    return status.st_blocks;
}

/* Of the pages that were left behind the newest ones stay as they are, the others keep no memory,
 * whoever has them still. */
static void test_pages(void **state)
{
    struct job *job = ((struct job_table *)*state)->first;
    int fd[JOB_PAGES + 3];

    for (size_t i = 0; i < JOB_PAGES + 3; i++) {
        struct report *r = report_new(NULL);
        assert_non_null(r);
        fd[i] = dup(report_fd(r));
        assert_true(blocks(fd[i]) > 0);
        job_leave_page(job, r);
    }
    for (size_t i = 0; i < JOB_PAGES + 3; i++) {
        assert_int_equal(blocks(fd[i]) > 0, i >= 3);
        close(fd[i]);
    }
}

UNIT(test_caps)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tasks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_attached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pages, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("test_caps", tests, NULL, NULL);
}
