/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A job with a task, for tests of the enforcer. */

#ifndef COSCHED_ENFORCER_STAGE_H
#define COSCHED_ENFORCER_STAGE_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/core/enforcer.h"
#include "node_agent/core/job.h"
#include "protocol/cpulist.h"

#define NOW_NS UINT64_C(1000000000000)

/* A task that starts a program when it is told to. */
struct stage {
    pid_t task;
    int order[2], answer[2];
    struct job_table table;
    struct job *job;
    struct node_options options;
    struct enforcer *enforcer;
};

static inline void be_the_task(const struct stage *s)
{
    char c;

    if (read(s->order[0], &c, 1) == 1) {
        pid_t program = fork();
        if (program == 0 && c == 's')
            prctl(PR_SET_NAME, "slurmstepd");
        while (program == 0)
            if (c != 's')
                pause();
        if (write(s->answer[1], &program, sizeof(program)) < 0)
            _exit(1);
        (void)!read(s->order[0], &c, 1); /* until the end of the test */
        kill(program, SIGKILL);
    }
    _exit(0);
}

static inline int set_up(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));

    assert_int_equal(pipe(s->order), 0);
    assert_int_equal(pipe(s->answer), 0);
    s->task = fork();
    if (s->task == 0) {
        close(s->order[1]);
        be_the_task(s);
    }
    close(s->order[0]);
    s->enforcer = enforcer_new(NULL, &s->options);
    s->job = job_add(&s->table, 7);
    assert_non_null(job_add_task(s->job, 0, s->task));
    *state = s;
    return 0;
}

static inline int tear_down(void **state)
{
    struct stage *s = *state;

    close(s->order[1]);
    waitpid(s->task, NULL, 0);
    close(s->answer[0]);
    close(s->answer[1]);
    enforcer_release(s->enforcer, s->job);
    while (s->job->tasks)
        job_remove_task(s->job->tasks);
    job_remove(&s->table, s->job);
    enforcer_free(s->enforcer);
    free(s);
    return 0;
}

static inline void end_task(struct stage *s, pid_t pid)
{
    for (struct task *t = s->job->tasks; t; t = t->next)
        if (t->pid == pid) {
            job_remove_task(t);
            break;
        }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* All CPUs of this process, which are granted to the job, and one of them; false
 * when there are no others. */
static inline bool choose_cpus(const struct stage *s, struct cosched_cpuset *one)
{
    assert_int_equal(cpuset_get_affinity(0, &s->job->granted), 0);
    *one = s->job->granted;
    while (cpuset_count(one) > 1)
        cpuset_remove(one, cpuset_next(one, 0));
    return cpuset_count(&s->job->granted) > 1;
}

static inline void scan_later(struct stage *s, uint64_t *now_ns, uint64_t later_ns)
{
    *now_ns += later_ns;
    enforcer_scan(s->enforcer, &s->table, true, *now_ns);
}

#endif /* COSCHED_ENFORCER_STAGE_H */
