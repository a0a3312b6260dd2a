/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which CPUs a job gets: known best answers, laws, exhaustive search. */

#include "tests/model/near.h"
#include "tests/model/parts.h"

#include "model/policy/search/placement.h"
#include "model/policy/search/workspace.h"
#include "tests/support/uniform_machine.h"

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

/* NODES LLC domains of SIZE cores, each with a NUMA node, links between all;
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
        w->jobs[j].kind = REGION_PARALLEL;
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

static void place_cores(struct world *w, const size_t *cores)
{
    placement_begin(&w->in);
    placement(&w->in, cores, w->owner);
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

/* ---- known best answers ---- */

/* All memory of job J on NUMA node HOME. */
static void set_home(struct world *w, size_t j, size_t home)
{
    for (size_t m = 0; m < w->machine->numa_nodes; m++)
        w->profile[j]->rate[m] = (struct workload_rate){0, 0};
    w->profile[j]->rate[home] = (struct workload_rate){10, 5};
}

/* The text's owners; a letter for each job's NUMA node ('0'.., '-': none). */
static void place(struct world *w, const char *before, const char *homes,
                  const size_t *cores, const char *expected)
{
    parse(before, w->before);
    for (size_t j = 0; j < w->in.job_count; j++)
        if (homes[j] != '-')
            set_home(w, j, (size_t)(homes[j] - '0'));
    place_cores(w, cores);
    assert_owners(w, expected);
}

struct example {
    const char *what, *before, *homes;
    size_t cores[4];
    const char *expected;
};

/* Four LLC domains of four cores, each with its NUMA node. */
static void test_examples(void **state)
{
    static const struct example examples[] = {
        {"from nothing, in order", ".... .... .... ....", "----",
         {4, 4, 4, 4}, "aaaa bbbb cccc dddd"},
        {"crossed homes", ".... .... .... ....", "1032",
         {4, 4, 4, 4}, "bbbb aaaa dddd cccc"},
        {"everybody's home is elsewhere in a ring", ".... .... .... ....",
         "1230", {4, 4, 4, 4}, "dddd aaaa bbbb cccc"},
        {"two want the same home: one gets it", ".... .... .... ....", "22--",
         {4, 4, 4, 4}, "bbbb cccc aaaa dddd"},
        {"crossed already: nobody moves for that", "aaaa bbbb cccc dddd",
         "1032", {4, 4, 4, 4}, "aaaa bbbb cccc dddd"},
        {"grows towards home", "aaaa bbbb .... ....", "32--", {8, 8},
         "aaaa bbbb bbbb aaaa"},
        {"home is full: grows elsewhere", "aaaa bbbb .... ....", "10--",
         {8, 8}, "aaaa bbbb aaaa bbbb"},
        {"shrinks away from what is far", "aaaa aaaa aaaa ....", "1---", {4},
         ".... aaaa .... ...."},
        {"leaves where it has least, although that is home",
         "aa.. aaaa .... ....", "0---", {4}, ".... aaaa .... ...."},
        {"leaves what another one's home is", "aaaa aaaa bbbb ....", "-0--",
         {4, 8, 0, 0}, "bbbb aaaa bbbb ...."},
        {"stays together although home is elsewhere", "aa.. .... .... ....",
         "3---", {4}, "aaaa .... .... ...."},
        {"whole LLC domains before home", "bbb. .... .... ....", "-0--",
         {4, 3}, "bbb. aaaa .... ...."},
        {"an only core goes where most are free", "aaa. .... .... ....",
         "----", {3, 1, 1, 1}, "aaa. b... c... d..."},
        {"where one is free", "aaaa bbb. cccc ----", "----", {4, 3, 4, 1},
         "aaaa bbbd cccc ----"},
        {"a large one before a small one", ".... --.. .... ....", "----",
         {2, 4, 4, 4}, "bbbb --aa cccc dddd"},
        {"outside the pool stays so", "---- ---- .... ....", "0---",
         {4, 4}, "---- ---- aaaa bbbb"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(examples) / sizeof(examples[0]); k++) {
        const struct example *e = &examples[k];
        struct world w;
        print_message("           %s\n", e->what);
        size_t jobs = 4;
        while (jobs > 1 && !e->cores[jobs - 1])
            jobs--;
        setup(&w, 4, 4, jobs);
        for (size_t cpu = 0; cpu < MAX_CPUS; cpu++)
            w.before[cpu] = POLICY_NO_CPU;
        place(&w, e->before, e->homes, e->cores, e->expected);
        teardown(&w);
    }
}

/* A ring of four: the opposite LLC domain is two links away. */
static void test_distance(void **state)
{
    struct world w;
    struct machine *m;

    (void)state;
    setup(&w, 4, 2, 2);
    policy_workspace_free(w.in.workspace);
    m = w.machine;
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            struct machine_route *route = &m->route[i * 4 + k];
            if ((i + 2) % 4 != k)
                continue;
            free(route->link);
            route->links = 2;
            route->link = calloc(2, sizeof(*route->link));
            assert_non_null(route->link);
            route->link[0] = m->route[i * 4 + (i + 1) % 4].link[0];
            route->link[1] = m->route[(i + 1) % 4 * 4 + k].link[0];
        }
    w.in.workspace = policy_workspace_new(m, 2);
    assert_non_null(w.in.workspace);
    /* Two more cores: next to its memory, not opposite. */
    place(&w, "aa bb .. ..", "02", (size_t[]){4, 2}, "aa bb .. aa");
    place(&w, "aa .. .. bb", "02", (size_t[]){4, 2}, "aa aa .. bb");
    place(&w, ".. aa bb ..", "22", (size_t[]){2, 4}, ".. aa bb bb");
    teardown(&w);
}

/* More of its requests go there: that one gets the better place. */
static void test_who_asks_more(void **state)
{
    struct world w;

    (void)state;
    setup(&w, 2, 4, 2);
    set_home(&w, 0, 0);
    set_home(&w, 1, 0);
    for (size_t k = 0; k < 2; k++) {
        w.profile[k]->rate[0].mrr_per_us = 100;
        w.profile[1 - k]->rate[0].mrr_per_us = 10;
        place_cores(&w, (size_t[]){4, 4});
        assert_int_equal(w.owner[0], k);
        assert_int_equal(w.owner[4], 1 - k);
    }
    teardown(&w);
}

/* Where nothing else decides, away from the cache that is used most. */
static void test_noise(void **state)
{
    double access[4] = {5, 9, NAN, 2};
    struct policy_facts facts;
    struct world w;

    (void)state;
    setup(&w, 4, 4, 3);
    policy_facts_init(&facts);
    facts.llc_access = access;
    w.jobs[0].facts = &facts;
    place(&w, "aa.. aa.. bbbb aa..", "---", (size_t[]){6, 4, 2},
          "aa.. aa.. bbbb aacc");
    access[3] = 7;
    place(&w, "aa.. aa.. bbbb aa..", "---", (size_t[]){6, 4, 2},
          "aacc aa.. bbbb aa..");
    /* Leaving, from there. */
    place(&w, "aa.. aa.. bbbb aa..", "---", (size_t[]){4, 4, 0},
          "aa.. .... bbbb aa..");
    teardown(&w);
}

/* That nobody has a core is the same as not to ask, whether LLC domains differ or not. */
static void test_fresh(void **state)
{
    static size_t fresh[MAX_NODES * MAX_JOBS];
    double access[8] = {5, 9, NAN, 2, 2, 0, 1, 3};
    struct policy_facts facts;
    struct world w;

    (void)state;
    setup(&w, 8, 4, 5);
    policy_facts_init(&facts);
    for (size_t n = 0; n < 4; n++) {
        w.jobs[1].facts = n & 1 ? &facts : NULL;
        facts.llc_access = access;
        w.profile[2]->rate[5].mrr_per_us = n & 2 ? 7 : 0;
        placement_begin(&w.in);
        for (size_t some = 1; some < 7; some++) {
            const size_t cores[5] = {some, 3 * some % 8, 7, 9 - some, some % 3};
            placement_counts(&w.in, cores, w.layout);
            placement_fresh(&w.in, cores, fresh);
            assert_memory_equal(fresh, w.layout, 8 * 5 * sizeof(*fresh));
        }
    }
    teardown(&w);
}

/* A serial job stays on its LLC domain, where its data are. */
static void test_fresh_keeps_serial(void **state)
{
    static size_t fresh[4 * 3];
    struct world w;

    (void)state;
    setup(&w, 4, 4, 3);
    parse("aa.. abbb b... ..c.", w.before);
    w.jobs[2].kind = REGION_SERIAL;
    placement_begin(&w.in);
    placement_fresh(&w.in, (const size_t[]){8, 4, 1}, fresh);
    placement_layout(&w.in, fresh, w.owner);
    assert_owners(&w, "aaaa aaaa bbbb ..c.");
    teardown(&w);
}

/* ---- scattered cores ---- */

static void regroup(size_t nodes, size_t size, const char *before,
                    const size_t *cores, const char *expected)
{
    struct world w;

    setup(&w, nodes, size, 2);
    parse(before, w.before);
    place_cores(&w, cores);
    assert_owners(&w, expected);
    teardown(&w);
}

/* What is left when two of four jobs have ended. */
static void test_regroup(void **state)
{
    (void)state;
    regroup(4, 2, "ba ba aa bb", (size_t[]){4, 4}, "aa aa bb bb");
    regroup(4, 2, "aa ab ba bb", (size_t[]){4, 4}, "aa aa bb bb");
    regroup(4, 2, "ba b. a. ..", (size_t[]){4, 4}, "aa aa bb bb");
    regroup(2, 4, "aaab bbba", (size_t[]){4, 4}, "aaaa bbbb");
    /* One part fewer is not worth it. */
    regroup(2, 4, "aab. bbb.", (size_t[]){2, 4}, "aab. bbb.");
    regroup(3, 4, "aaa. bbba bb..", (size_t[]){4, 5}, "aaa. bbba bb..");
}

/* ---- laws ---- */

static void shuffle(struct world *w, struct dice *dice)
{
    size_t jobs = w->in.job_count, pool = 0, sum = 0;

    for (size_t cpu = 0; cpu < w->machine->cpus; cpu++) {
        size_t k = dice_range(dice, 0, jobs + 3);
        bool run = cpu && dice_range(dice, 0, 2); /* as its neighbour */
        w->before[cpu] = run         ? w->before[cpu - 1]
                         : k < jobs  ? (int)k
                         : k == jobs ? POLICY_NO_CPU
                                     : POLICY_NOBODY;
        pool += w->before[cpu] != POLICY_NO_CPU;
    }
    for (size_t j = 0; j < jobs; j++) {
        w->cores[j] = dice_range(dice, 0, pool - sum);
        sum += w->cores[j];
        for (size_t m = 0; m < w->machine->numa_nodes; m++) {
            double rate = (double)dice_range(dice, 0, 3);
            w->profile[j]->rate[m] = (struct workload_rate){rate, rate};
        }
    }
}

static size_t count_of(const int *owner, size_t cpus, int job)
{
    size_t n = 0;

    for (size_t cpu = 0; cpu < cpus; cpu++)
        n += owner[cpu] == job;
    return n;
}

/* Each has what it wants, the pool is the pool, and only as many CPUs join as
 * jobs grow by, unless that would leave them scattered. */
static void test_laws(void **state)
{
    struct dice dice = {23};
    size_t regrouped = 0;

    (void)state;
    for (size_t round = 0; round < 3000; round++) {
        struct world w;
        size_t joined = 0, growth = 0;
        setup(&w, dice_range(&dice, 1, 6), dice_range(&dice, 1, 8),
              dice_range(&dice, 1, 5));
        size_t cpus = w.machine->cpus;
        shuffle(&w, &dice);
        place_cores(&w, w.cores);
        for (size_t j = 0; j < w.in.job_count; j++) {
            size_t had = count_of(w.before, cpus, (int)j);
            assert_int_equal(count_of(w.owner, cpus, (int)j), w.cores[j]);
            growth += w.cores[j] > had ? w.cores[j] - had : 0;
        }
        for (size_t cpu = 0; cpu < cpus; cpu++) {
            assert_int_equal(w.owner[cpu] == POLICY_NO_CPU,
                             w.before[cpu] == POLICY_NO_CPU);
            joined += w.owner[cpu] >= 0 && w.owner[cpu] != w.before[cpu];
        }
        if (joined != growth) {
            int kept[MAX_CPUS];
            placement_counts(&w.in, w.cores, w.layout);
            placement_layout(&w.in, w.layout, kept);
            assert_true(joined > growth);
            size_t jobs = w.in.job_count;
            assert_true(parts_of(w.machine, jobs, w.owner) + PLACEMENT_REGROUP <=
                        parts_of(w.machine, jobs, kept));
            regrouped++;
        }
        /* Placing what is placed changes nothing. */
        memcpy(w.before, w.owner, sizeof(w.before));
        place_cores(&w, w.cores);
        assert_memory_equal(w.owner, w.before, cpus * sizeof(w.owner[0]));
        teardown(&w);
    }
    assert_in_range(regrouped, 1, 1500);
}

/* ---- all layouts ---- */

struct worth {
    size_t moves, parts;
    double distance;
};

static struct worth worth_of(const struct world *w, const size_t *have,
                             const size_t *layout)
{
    const struct policy_workspace *ws = w->in.workspace;
    struct worth worth = {0};

    for (size_t c = 0; c < w->machine->llc_domains * w->in.job_count; c++) {
        worth.moves += layout[c] > have[c] ? layout[c] - have[c] : 0;
        worth.parts += layout[c] > 0;
        worth.distance += (double)layout[c] * ws->distance[c];
    }
    return worth;
}

static bool better(const struct worth *a, const struct worth *b)
{
    if (a->moves != b->moves)
        return a->moves < b->moves;
    if (a->parts != b->parts)
        return a->parts < b->parts;
    return a->distance < b->distance - 1e-12;
}

struct search {
    const struct world *w;
    size_t have[MAX_NODES * MAX_JOBS], layout[MAX_NODES * MAX_JOBS];
    size_t free[MAX_NODES];
    struct worth best;
};

/* Fill CELL and those after it in all ways; REST cores of its job are left. */
static void search(struct search *s, size_t job, size_t node, size_t rest)
{
    size_t nodes = s->w->machine->llc_domains, jobs = s->w->in.job_count;

    if (job == jobs) {
        struct worth worth = worth_of(s->w, s->have, s->layout);
        if (better(&worth, &s->best))
            s->best = worth;
        return;
    }
    if (node == nodes) {
        if (!rest)
            search(s, job + 1, 0, job + 1 < jobs ? s->w->cores[job + 1] : 0);
        return;
    }
    for (size_t k = 0; k <= rest && k <= s->free[node]; k++) {
        s->layout[node * jobs + job] = k;
        s->free[node] -= k;
        search(s, job, node + 1, rest - k);
        s->free[node] += k;
    }
    s->layout[node * jobs + job] = 0;
}

/* Tiny machines: never more moves than the best of all layouts, nearly always
 * as few parts and as near. */
static void test_exhaustive(void **state)
{
    struct dice dice = {29};
    size_t rounds = 4000, parts = 0, best_parts = 0, missed = 0, far = 0;

    (void)state;
    for (size_t round = 0; round < rounds; round++) {
        struct world w;
        struct search s = {.w = &w, .best = {SIZE_MAX, 0, 0}};
        setup(&w, dice_range(&dice, 2, 3), dice_range(&dice, 1, 4),
              dice_range(&dice, 2, 3));
        shuffle(&w, &dice);
        placement_begin(&w.in);
        placement_counts(&w.in, w.cores, w.layout);
        for (size_t cpu = 0; cpu < w.machine->cpus; cpu++) {
            size_t node = (size_t)w.machine->llc_domain[cpu];
            s.free[node] += w.before[cpu] != POLICY_NO_CPU;
            if (w.before[cpu] >= 0)
                s.have[node * w.in.job_count + (size_t)w.before[cpu]]++;
        }
        struct worth mine = worth_of(&w, s.have, w.layout);
        search(&s, 0, 0, w.cores[0]);
        assert_int_equal(mine.moves, s.best.moves);
        assert_false(better(&mine, &s.best));
        parts += mine.parts;
        best_parts += s.best.parts;
        missed += mine.parts != s.best.parts;
        far += mine.parts == s.best.parts &&
               mine.distance > s.best.distance + 1e-12;
        teardown(&w);
    }
    assert_true(parts < best_parts + best_parts / 500);
    assert_true(missed < rounds / 200);
    assert_true(far < rounds / 50);
}

UNIT(test_placement)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_who_asks_more),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_fresh),
        cmocka_unit_test(test_fresh_keeps_serial),
        cmocka_unit_test(test_regroup),
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_exhaustive),
    };

    return cmocka_run_group_tests_name("test_placement", tests, NULL, NULL);
}
