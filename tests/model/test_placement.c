/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which CPUs a job gets: known best answers, laws, exhaustive search. */

#include "tests/model/near.h"

#include "model/placement.h"
#include "model/policy/workspace.h"

#define MAX_CPUS 256
#define MAX_NODES 32
#define MAX_JOBS 16

struct world {
    struct machine *machine;
    struct policy_job jobs[MAX_JOBS];
    struct workload *profile[MAX_JOBS];
    int before[MAX_CPUS], owner[MAX_CPUS];
    size_t cores[MAX_JOBS];
    size_t layout[MAX_NODES * MAX_JOBS];
    struct policy_input in;
};

/* NODES CPU nodes of SIZE cores, each with a memory node, links between all;
 * JOBS jobs of which nothing is known; everything nobody's. */
static void setup(struct world *w, size_t nodes, size_t size, size_t jobs)
{
    *w = (struct world){.machine = machine_new_uniform(nodes, size, nodes)};
    assert_non_null(w->machine);
    assert_int_equal(machine_connect_all(w->machine, 0.002), MODEL_OK);
    for (size_t cpu = 0; cpu < MAX_CPUS; cpu++)
        w->before[cpu] = POLICY_NOBODY;
    for (size_t j = 0; j < jobs; j++) {
        w->profile[j] = workload_new(nodes);
        assert_non_null(w->profile[j]);
        w->jobs[j].id = (uint32_t)j;
        w->jobs[j].kind = SECTION_PARALLEL;
        w->jobs[j].profile = w->profile[j];
        w->jobs[j].min_cores = w->jobs[j].weight = 1;
        w->jobs[j].max_cores = nodes * size;
    }
    w->in.machine = w->machine;
    w->in.jobs = w->jobs;
    w->in.job_count = jobs;
    w->in.owner = w->before;
    w->in.workspace = policy_workspace_new(w->machine, jobs);
    assert_non_null(w->in.workspace);
}

static void teardown(struct world *w)
{
    policy_workspace_free(w->in.workspace);
    for (size_t j = 0; j < MAX_JOBS; j++)
        workload_free(w->profile[j]);
    machine_free(w->machine);
}

/* One letter per CPU: a, b, ... for jobs, '.' for nobody, '-' for not in the
 * pool; blanks are for the reader. */
static void parse(const char *text, int *owner)
{
    for (; *text; text++)
        if (*text != ' ')
            *owner++ = *text == '.'   ? POLICY_NOBODY
                       : *text == '-' ? POLICY_NO_CPU
                                      : *text - 'a';
}

static void assert_owners(const struct world *w, const char *expected)
{
    int owner[MAX_CPUS];

    parse(expected, owner);
    for (size_t cpu = 0; cpu < w->machine->cpus; cpu++)
        if (w->owner[cpu] != owner[cpu])
            fail_msg("%s: CPU %zu is job %d's", expected, cpu, w->owner[cpu]);
}

/* ---- a given layout ---- */

static void lay_out(const char *before, const size_t *layout,
                    const char *expected)
{
    struct world w;

    setup(&w, 2, 4, 2);
    parse(before, w.before);
    placement_layout(&w.in, layout, w.owner);
    assert_owners(&w, expected);
    teardown(&w);
}

static void test_layout(void **state)
{
    (void)state;
    lay_out(".... ....", (size_t[]){4, 0, 0, 4}, "aaaa bbbb");
    lay_out("aaaa bbbb", (size_t[]){4, 0, 0, 4}, "aaaa bbbb");
    /* The highest CPUs leave, the lowest join: two cores change places. */
    lay_out("aaaa bbbb", (size_t[]){2, 2, 2, 2}, "aabb bbaa");
    lay_out("aaaa bbbb", (size_t[]){0, 4, 4, 0}, "bbbb aaaa");
    lay_out("abab ..--", (size_t[]){1, 1, 1, 1}, "ab.. ab--");
    lay_out("abab ....", (size_t[]){2, 2, 0, 0}, "abab ....");
    lay_out("abab bbbb", (size_t[]){0, 0, 0, 0}, ".... ....");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
