/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent is killed at each system call of what it keeps: the state that is
 * read is the one before or after the change under way, and the next agent goes
 * on with it. */

#include "tests/support/unit.h"

#include "node_agent/daemon/state.h"
#include "tests/support/callpoints.h"
#include "tests/support/tree.h"

#define JOBS 3

struct model {
    struct job_table jobs;
    struct pending_list pending;
    struct node_state node;
};

struct world {
    char path[80];
    pid_t self;     /* a process that lives */
    unsigned *done; /* changes that were kept; shared with the lives */
};

/* ---- what an agent does with its state
 * ------------------------------------------ */

/* Each changes the model and, unless FILE is NULL, keeps that; -1: it is not
 * kept. */
typedef int change(const struct world *w, struct model *m,
                   struct state_file *file);

static int write_whole(const struct world *w, struct model *m,
                       struct state_file *file)
{
    (void)w;
    return file ? state_write(file, &m->jobs, &m->pending, &m->node, NULL) : 0;
}

static int announce(struct model *m, struct state_file *file, uint32_t id,
                    const char *name)
{
    struct job *job = job_find(&m->jobs, id);

    if (!job)
        job = job_add(&m->jobs, id);
    snprintf(job->name, sizeof(job->name), "%s", name);
    return file ? state_note_job(file, job, NULL) : 0;
}

static int announce_1(const struct world *w, struct model *m,
                      struct state_file *file)
{
    (void)w;
    return announce(m, file, 1, "one");
}

static int announce_2(const struct world *w, struct model *m,
                      struct state_file *file)
{
    (void)w;
    return announce(m, file, 2, "two");
}

static int rename_1(const struct world *w, struct model *m,
                    struct state_file *file)
{
    (void)w;
    return announce(m, file, 1, "another \"name\"\n");
}

static int start_task(const struct world *w, struct model *m,
                      struct state_file *file)
{
    struct job *job = job_find(&m->jobs, 1);
    struct task *task = job_add_task(job, 0, w->self);

    job->started = true;
    return file ? state_note_task(file, task, NULL) : 0;
}

static int end(struct model *m, struct state_file *file, uint32_t id,
               const char *text)
{
    struct pending *record = text ? pending_add(&m->pending, id,
                                                1700000000 + id, text, NULL)
                                  : NULL;
    int rc = file ? state_note_end(file, id, record, NULL) : 0;

    job_remove(&m->jobs, job_find(&m->jobs, id));
    return rc;
}

static int end_1(const struct world *w, struct model *m,
                 struct state_file *file)
{
    (void)w;
    return end(m, file, 1, "the record of job 1");
}

static int end_2(const struct world *w, struct model *m,
                 struct state_file *file)
{
    (void)w;
    return end(m, file, 2, NULL);
}

static int keep_1(const struct world *w, struct model *m,
                  struct state_file *file)
{
    (void)w;
    pending_remove(&m->pending, 1, 1700000001);
    return file ? state_note_kept(file, 1, 1700000001, NULL) : 0;
}

static int drain(const struct world *w, struct model *m,
                 struct state_file *file)
{
    free(m->node.drained);
    m->node.drained = strdup("why");
    return write_whole(w, m, file);
}

/* The first one finds no log.  Files are written between and after lines of the
 * log. */
static change *const life_of_changes[] = {
    announce_1, announce_2,  start_task,  write_whole, rename_1,
    end_1,      write_whole, end_2,       keep_1,      drain,
    announce_2, write_whole, write_whole,
};
#define CHANGES (sizeof(life_of_changes) / sizeof(life_of_changes[0]))

static void live(void *arg)
{
    struct world *w = arg;
    struct model m = {0};
    struct state_file file;

    state_file_init(&file, w->path);
    callpoints_begin();
    for (*w->done = 0; *w->done < CHANGES; ++*w->done)
        if (life_of_changes[*w->done](w, &m, &file) < 0 &&
            write_whole(w, &m, &file) < 0)
            _exit(1);
    callpoints_end();
}

/* ---- what must be after each
 * ------------------------------------------------------ */

static void clear(struct model *m)
{
    while (m->jobs.first)
        job_remove(&m->jobs, m->jobs.first);
    pending_clear(&m->pending);
    node_state_clear(&m->node);
}

static void describe(const struct model *m, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%zu jobs", m->jobs.count);

    for (uint32_t id = 1; id <= JOBS; id++) {
        const struct job *job = job_find(&m->jobs, id);
        if (job)
            used += (size_t)snprintf(text + used, size - used,
                                     "; %u \"%s\" %d %d", id, job->name,
                                     job->started, job->tasks != NULL);
    }
    for (const struct pending *p = m->pending.first; p; p = p->next)
        used += (size_t)snprintf(text + used, size - used,
                                 "; record of %u at %llu: %s", p->job,
                                 (unsigned long long)p->end_s, p->text);
    snprintf(text + used, size - used, "; drained: %s",
             m->node.drained ? m->node.drained : "-");
}

/* What is kept after so many changes. */
static void expect(const struct world *w, unsigned changes, char *text,
                   size_t size)
{
    struct model m = {0};

    for (unsigned i = 0; i < changes; i++)
        life_of_changes[i](w, &m, NULL);
    describe(&m, text, size);
    clear(&m);
}

/* Read the state into M. */
static void read_state(const struct world *w, struct model *m,
                       struct state_file *file, char *text, size_t size)
{
    struct errtext err = {""};

    state_file_init(file, w->path);
    if (state_read(file, &m->jobs, &m->pending, &m->node, &err) < 0)
        fail_msg("%s", err.text);
    describe(m, text, size);
}

/* The next agent finds all that was kept, and keeps it. */
static void assert_kept(const struct world *w, unsigned number)
{
    char before[1024], after[1024], found[1024], again[1024];
    struct model m = {0};
    struct state_file file;
    unsigned done = *w->done;

    expect(w, done, before, sizeof(before));
    expect(w, done < CHANGES ? done + 1 : done, after, sizeof(after));
    read_state(w, &m, &file, found, sizeof(found));
    if (strcmp(found, before) != 0 && strcmp(found, after) != 0)
        fail_msg("killed at call %u, change %u: %s\nneither %s\nnor %s", number,
                 done, found, before, after);
    assert_int_equal(state_write(&file, &m.jobs, &m.pending, &m.node, NULL), 0);
    assert_int_equal(announce(&m, &file, 3, "three"), 0);
    describe(&m, found, sizeof(found));
    state_file_close(&file);
    clear(&m);
    read_state(w, &m, &file, again, sizeof(again));
    assert_string_equal(again, found);
    state_file_close(&file);
    clear(&m);
}

static void test_save(void **state)
{
    struct world w = {.self = getpid()};
    struct callpoint at = {.call = CALLPOINT_ANY};
    struct callpoints_result result;

    (void)state;
    if (!callpoints_supported())
        skip();
    w.done = mmap(NULL, sizeof(*w.done), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(w.done, MAP_FAILED);
    do {
        struct tree *tree = tree_new();
        snprintf(w.path, sizeof(w.path), "%s/state.json", tree->root);
        at.number++;
        *w.done = 0;
        assert_int_equal(callpoints_run(live, &w, &at, &result), 0);
        assert_true(result.struck ? WIFSIGNALED(result.status)
                                  : result.status == 0);
        assert_kept(&w, at.number);
        tree_free(tree);
    } while (result.struck);
    assert_int_equal(*w.done, CHANGES);
    assert_in_range(at.number, 5 * 9 + 8, 4000);
    print_message("killed at %u calls\n", at.number - 1);
    munmap(w.done, sizeof(*w.done));
}

UNIT(test_kill_save)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_save)};

    return cmocka_run_group_tests_name("test_kill_save", tests, NULL, NULL);
}
