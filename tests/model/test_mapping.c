/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Thread mapping: the papers' tables, and random ones against all maps. */

#include "tests/model/near.h"

#include "model/mapping.h"

#define MOST_THREADS 16
#define MOST_NODES 4

/* Table 1 of the critical path paper: MG, 8 threads, 4 nodes. */
static const double mg[] = {
    1770108, 1765296, 1766348, 1765584, /**/ 1631249, 1530389, 1529758, 1532284,
    1554151, 1554991, 1552323, 1552409, /**/ 331659,  330097,  330903,  329727,
    984706,  985755,  987233,  987138,  /**/ 985833,  986215,  985754,  988217,
    988661,  986670,  989070,  988749,  /**/ 984706,  985755,  987233,  987138,
};

/* Table II of DyNUMA. */
static const double dynuma[] = {
    100, 1000, 0,   2000, /**/ 1300, 200,  3500, 1300,
    220, 5000, 500, 500,  /**/ 4500, 3800, 2000, 1000,
};

struct fixture {
    struct mapping_input input;
    struct mapping_scratch *scratch;
    struct mapping_result result;
    size_t cores[MOST_NODES], node[MOST_THREADS];
    double factor[MOST_NODES * MOST_NODES], critical[MOST_NODES];
    /* as told by rounds */
    size_t rounds;
    struct mapping_candidate round[MOST_THREADS][MOST_NODES];
    size_t candidates[MOST_THREADS], chosen[MOST_THREADS];
};

static void note_round(void *arg, const struct mapping_candidate *candidates, size_t count,
                       size_t chosen)
{
    struct fixture *f = arg;

    assert_in_range(count, 1, MOST_NODES);
    assert_in_range(chosen, 0, count - 1);
    memcpy(f->round[f->rounds], candidates, count * sizeof(*candidates));
    f->candidates[f->rounds] = count;
    f->chosen[f->rounds++] = chosen;
}

static void begin(struct fixture *f, const double *requests, size_t threads, size_t nodes,
                  size_t cores, double closeness)
{
    memset(f, 0, sizeof(*f));
    for (size_t j = 0; j < nodes; j++)
        f->cores[j] = cores;
    mapping_factor_uniform(nodes, 1.5, f->factor);
    f->input = (struct mapping_input){
        .threads = threads, .nodes = nodes, .requests = requests, .cores = f->cores,
        .factor = f->factor, .closeness = closeness};
    f->result = (struct mapping_result){.node = f->node, .critical = f->critical,
                                        .round = note_round, .arg = f};
    f->scratch = mapping_scratch_new(threads, nodes);
    assert_non_null(f->scratch);
}

static void end(struct fixture *f)
{
    mapping_scratch_free(f->scratch);
}

static void make(struct fixture *f, enum mapping_rule rule)
{
    f->rounds = 0;
    assert_int_equal(mapping_make(rule, &f->input, f->scratch, &f->result), MODEL_OK);
    assert_int_equal(f->rounds, f->input.threads);
}

/* MAP counts nodes from 1. */
static void assert_map(const struct fixture *f, const char *map)
{
    char text[MOST_THREADS + 1] = "";

    for (size_t i = 0; i < f->input.threads; i++)
        text[i] = (char)('1' + f->node[i]);
    assert_string_equal(text, map);
}

static void assert_candidate(const struct fixture *f, size_t round, size_t n, size_t thread,
                             size_t node, double cost)
{
    const struct mapping_candidate *c = &f->round[round - 1][n];

    assert_int_equal(c->thread, thread - 1);
    assert_int_equal(c->node, node - 1);
    assert_near(c->cost, cost, 1e-12);
}

static void test_locality_of_mg(void **state)
{
    struct fixture f;

    (void)state;
    for (size_t cores = 2; cores <= 4; cores += 2) {
        begin(&f, mg, 8, 4, cores, 1 / 1.5);
        make(&f, MAPPING_LOCALITY);
        assert_map(&f, "14213432");
        assert_near(f.result.local, 9139317, 1e-12);
        /* The threshold of round 2 is 1087499.3: all nodes have a candidate. */
        assert_int_equal(f.candidates[1], 4);
        assert_int_equal(f.round[1][f.chosen[1]].thread, 2);
        assert_int_equal(f.round[1][f.chosen[1]].node, 1);
        end(&f);
    }
}

static void test_critical_path_of_mg(void **state)
{
    static const double path[] = {11533699.5, 13969236.5, 10858821.5, 13993057.0};
    struct fixture f;

    (void)state;
    for (size_t cores = 2; cores <= 4; cores += 2) {
        begin(&f, mg, 8, 4, cores, 1 / 1.5);
        make(&f, MAPPING_CRITICAL);
        assert_map(&f, "14213234");
        assert_near(f.round[0][f.chosen[0]].cost, 9715950, 1e-12); /* IF(1, 1) */
        assert_int_equal(f.candidates[1], 4);
        assert_candidate(&f, 2, 0, 2, 1, 18235845.5);
        assert_candidate(&f, 2, 1, 3, 2, 8543315.5);
        assert_candidate(&f, 2, 2, 3, 3, 8544649.5);
        assert_candidate(&f, 2, 3, 3, 4, 8544606.5);
        assert_int_equal(f.chosen[1], 1);
        for (size_t j = 0; j < 4; j++)
            assert_near(f.critical[j], path[j], 1e-12);
        assert_near(f.result.critical_path, path[3], 1e-12);
        end(&f);
    }
}

static void test_optimum_of_mg(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, mg, 8, 4, 2, 1 / 1.5);
    assert_int_equal(mapping_optimum(MAPPING_LOCALITY, &f.input, f.scratch, &f.result), MODEL_OK);
    assert_near(f.result.local, 9238103, 1e-12);
    assert_map(&f, "11223434");
    end(&f);
    begin(&f, mg, 8, 4, 4, 1 / 1.5);
    assert_int_equal(mapping_optimum(MAPPING_LOCALITY, &f.input, f.scratch, &f.result), MODEL_OK);
    assert_near(f.result.local, 9239760, 1e-12);
    assert_map(&f, "11213433");
    end(&f);
}

static void test_arbiter_of_dynuma(void **state)
{
    static const double path[] = {14700, 6830, 7700, 3650};
    struct fixture f;

    (void)state;
    begin(&f, dynuma, 4, 4, 2, MAPPING_CLOSENESS);
    make(&f, MAPPING_CRITICAL);
    assert_int_equal(f.round[0][f.chosen[0]].thread, 2);
    assert_near(f.round[0][f.chosen[0]].cost, 6830, 1e-12);
    assert_int_equal(f.candidates[1], 3);
    assert_candidate(&f, 2, 0, 4, 1, 14700);
    assert_candidate(&f, 2, 1, 4, 2, 21880);
    assert_candidate(&f, 2, 2, 2, 3, 7700);
    assert_int_equal(f.chosen[1], 2);
    assert_int_equal(f.round[2][f.chosen[2]].thread, 3); /* e(4, 1) */
    assert_map(&f, "4321");
    for (size_t j = 0; j < 4; j++)
        assert_near(f.critical[j], path[j], 1e-12);
    end(&f);
}

static void test_count(void **state)
{
    static const double none[MOST_THREADS * 4] = {0};
    struct fixture f;

    (void)state;
    begin(&f, none, 16, 4, 4, 1);
    assert_near(mapping_count(&f.input), 63063000, 0);
    f.cores[0] = 16;
    f.cores[1] = f.cores[2] = f.cores[3] = 0;
    assert_near(mapping_count(&f.input), 1, 0);
    f.cores[1] = 16;
    assert_near(mapping_count(&f.input), 65536, 0);
    for (size_t j = 0; j < 4; j++)
        f.cores[j] = 16;
    assert_int_equal(mapping_optimum(MAPPING_LOCALITY, &f.input, f.scratch, &f.result),
                     MODEL_EINVAL); /* 4^16 */
    f.input.threads = MAPPING_MOST_THREADS + 1;
    assert_true(isinf(mapping_count(&f.input)));
    end(&f);
}

static void fill_random(struct dice *dice, double *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        requests[i] = dice_range(dice, 0, 3) ? 1000 * dice_unit(dice) : 0;
}

/* No map has more on a node than it has cores; no map is better than the best; rules are near. */
static void test_random_against_all_maps(void **state)
{
    struct dice dice = {2011};
    double requests[8 * 3], local = 0, path = 0;

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct fixture f;
        size_t threads = dice_range(&dice, 2, 8), nodes = dice_range(&dice, 2, 3);
        size_t on[3] = {0};
        fill_random(&dice, requests, threads * nodes);
        begin(&f, requests, threads, nodes, (threads + nodes - 1) / nodes, MAPPING_CLOSENESS);
        make(&f, MAPPING_LOCALITY);
        for (size_t i = 0; i < threads; i++)
            assert_true(++on[f.node[i]] <= f.cores[f.node[i]]);
        double made = f.result.local;
        assert_int_equal(mapping_optimum(MAPPING_LOCALITY, &f.input, f.scratch, &f.result),
                         MODEL_OK);
        assert_true(made <= f.result.local * (1 + 1e-12));
        local += f.result.local > 0 ? made / f.result.local / 300 : 1.0 / 300;
        make(&f, MAPPING_CRITICAL);
        made = f.result.critical_path;
        assert_int_equal(mapping_optimum(MAPPING_CRITICAL, &f.input, f.scratch, &f.result),
                         MODEL_OK);
        assert_true(made >= f.result.critical_path * (1 - 1e-12));
        path += f.result.critical_path > 0 ? made / f.result.critical_path / 300 : 1.0 / 300;
        end(&f);
    }
    print_message("local accesses %.3f of the optimum, critical path %.3f of the shortest\n",
                  local, path);
    assert_true(local > 0.9 && path < 1.2);
}

/* The round's candidates by searching the whole table, as the papers do. */
static void check_round(const struct fixture *f, size_t round, const bool *placed,
                        const size_t *left)
{
    const struct mapping_input *in = &f->input;
    double most = -1, top[MOST_NODES];
    size_t thread[MOST_NODES], n = 0;

    for (size_t j = 0; j < in->nodes; j++) {
        top[j] = -1;
        for (size_t i = 0; left[j] && i < in->threads; i++)
            if (!placed[i] && in->requests[i * in->nodes + j] > top[j])
                top[j] = in->requests[(thread[j] = i) * in->nodes + j];
        most = fmax(most, top[j]);
    }
    for (size_t j = 0; j < in->nodes; j++) {
        if (top[j] < 0 || top[j] < in->closeness * most)
            continue;
        assert_true(n < f->candidates[round]);
        assert_int_equal(f->round[round][n].node, j);
        assert_int_equal(f->round[round][n++].thread, thread[j]);
    }
    assert_int_equal(n, f->candidates[round]);
}

static void test_rounds_by_search(void **state)
{
    struct dice dice = {77};
    double requests[MOST_THREADS * MOST_NODES];

    (void)state;
    for (int n = 0; n < 200; n++) {
        struct fixture f;
        size_t threads = dice_range(&dice, 1, MOST_THREADS);
        size_t nodes = dice_range(&dice, 1, MOST_NODES), left[MOST_NODES];
        bool placed[MOST_THREADS] = {false};
        fill_random(&dice, requests, threads * nodes);
        begin(&f, requests, threads, nodes, (threads + nodes - 1) / nodes,
              0.5 + dice_unit(&dice) / 2);
        make(&f, n % 2 ? MAPPING_CRITICAL : MAPPING_LOCALITY);
        memcpy(left, f.cores, sizeof(left));
        for (size_t r = 0; r < threads; r++) {
            check_round(&f, r, placed, left);
            const struct mapping_candidate *c = &f.round[r][f.chosen[r]];
            for (size_t k = 0; k < f.candidates[r]; k++)
                assert_true(c->cost <= f.round[r][k].cost);
            placed[c->thread] = true;
            left[c->node]--;
        }
        end(&f);
    }
}

static void test_bad(void **state)
{
    double requests[4] = {1, 2, 3, 4};
    struct fixture f;

    (void)state;
    begin(&f, requests, 2, 2, 1, MAPPING_CLOSENESS);
    make(&f, MAPPING_LOCALITY);
#define BAD(statement, undo)                                                                       \
    do {                                                                                           \
        statement;                                                                                 \
        assert_int_equal(mapping_make(MAPPING_CRITICAL, &f.input, f.scratch, &f.result),           \
                         MODEL_EINVAL);                                                            \
        undo;                                                                                      \
    } while (0)
    BAD(requests[3] = NAN, requests[3] = 4);
    BAD(requests[3] = INFINITY, requests[3] = 4);
    BAD(requests[0] = -1, requests[0] = 1);
    BAD(f.cores[1] = 0, f.cores[1] = 1);
    BAD(f.factor[0] = 2, f.factor[0] = 1);
    BAD(f.factor[1] = 0, f.factor[1] = 1.5);
    BAD(f.factor[1] = NAN, f.factor[1] = 1.5);
    BAD(f.input.closeness = 0, f.input.closeness = 1);
    BAD(f.input.closeness = 1.01, f.input.closeness = 1);
    BAD(f.input.closeness = NAN, f.input.closeness = 1);
    BAD(f.input.threads = 0, f.input.threads = 2);
    make(&f, MAPPING_CRITICAL);
    end(&f);
}

/* Two sockets of two nodes each: the own one, the neighbour, the other socket's. */
static void test_factor_of_machine(void **state)
{
    struct machine *m = machine_new(4, 4, 4);
    double factor[16];

    (void)state;
    assert_non_null(m);
    m->links = 1;
    m->link_service_us = calloc(1, sizeof(*m->link_service_us));
    assert_non_null(m->link_service_us);
    m->link_service_us[0] = 0.5 * m->controller_service_us[0];
    for (size_t i = 0; i < 2; i++) {
        struct machine_route *route = &m->route[i * 4 + 2];
        route->link = calloc(1, sizeof(*route->link));
        assert_non_null(route->link);
        route->links = 1;
    }
    mapping_factor_machine(m, factor);
    assert_near(factor[0], 1, 0);
    assert_near(factor[1], 1, 0);
    assert_near(factor[2], 1.5, 1e-12);
    assert_near(factor[4 + 2], 1.5, 1e-12);
    assert_near(factor[2 * 4 + 0], 1, 0);
    machine_free(m);
}

UNIT(test_mapping)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locality_of_mg),
        cmocka_unit_test(test_critical_path_of_mg),
        cmocka_unit_test(test_optimum_of_mg),
        cmocka_unit_test(test_arbiter_of_dynuma),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_random_against_all_maps),
        cmocka_unit_test(test_rounds_by_search),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_factor_of_machine),
    };

    return cmocka_run_group_tests_name("test_mapping", tests, NULL, NULL);
}
