/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Who may run, and for how long. */

#include "tests/support/unit.h"

#include "emulator/plugin/quantum.h"

#define LENGTH 1000

static int64_t counters[EMULATED_CPUS];

/* CPUs that are there and stand at their first block. */
static struct quantum *machine(unsigned cpus, unsigned parallel)
{
    static struct quantum q;

    memset(counters, 0, sizeof(counters));
    q = (struct quantum){.parallel = parallel, .length = LENGTH};
    for (unsigned i = 0; i < cpus; i++) {
        quantum_add(&q, i, &counters[i]);
        quantum_stop(&q, i);
    }
    return &q;
}

static struct quantum_go turns(struct quantum *q)
{
    struct quantum_go go = {0};

    quantum_turns(q, &go);
    return go;
}

static void uses(unsigned cpu, uint64_t cycles)
{
    counters[cpu] += (int64_t)cycles;
}

/* QEMU's memory of counters moves while CPUs are added. */
static void a_counter_may_move(void **state)
{
    struct quantum *q = machine(1, 1);
    int64_t elsewhere = 0;

    (void)state;
    uses(0, 5);
    quantum_bind(q, 0, &elsewhere);
    quantum_open(q);
    turns(q);
    assert_int_equal(elsewhere, 5 - LENGTH);
    assert_int_equal(counters[0], 5);
}

static void quanta_are_of_equal_length(void **state)
{
    struct quantum *q = machine(2, 2);

    (void)state;
    assert_true(quantum_over(q));
    quantum_open(q);
    assert_int_equal(turns(q).count, 2);
    assert_int_equal(quantum_clock(q, 0), 0);
    uses(0, 1000);
    quantum_stop(q, 0);
    assert_int_equal(turns(q).count, 0);
    assert_false(quantum_over(q));
    uses(1, 1000);
    quantum_stop(q, 1);
    assert_true(quantum_over(q));
    quantum_close(q);
    assert_int_equal(q->end, 1000);
    assert_int_equal(q->cpu[0].cycles, 1000);
    assert_int_equal(quantum_clock(q, 1), 1000);
}

static void who_is_charged_for_more_starts_later(void **state)
{
    struct quantum *q = machine(1, 1);

    (void)state;
    quantum_open(q);
    turns(q);
    uses(0, 2500);
    quantum_stop(q, 0);
    quantum_close(q);
    quantum_open(q);
    assert_int_equal(turns(q).count, 0);
    assert_true(quantum_over(q));
    quantum_close(q);
    quantum_open(q);
    assert_int_equal(turns(q).count, 1);
    assert_int_equal(quantum_clock(q, 0), 2500);
    assert_int_equal(q->cpu[0].cycles, 2500);
}

static void one_at_a_time_the_last_first(void **state)
{
    struct quantum *q = machine(3, 1);

    (void)state;
    uses(0, 20), uses(1, 10), uses(2, 10);
    quantum_open(q);
    for (int i = 0; i < 3; i++) {
        struct quantum_go go = turns(q);
        assert_int_equal(go.count, 1);
        assert_int_equal(go.cpu[0], ((int[]){1, 2, 0})[i]);
        uses(go.cpu[0], LENGTH);
        quantum_stop(q, go.cpu[0]);
    }
    assert_true(quantum_over(q));
}

static void the_woken_go_on_where_the_waker_is(void **state)
{
    struct quantum *q = machine(2, 1);

    (void)state;
    quantum_open(q);
    turns(q);
    uses(0, 100);
    quantum_halt(q, 0);
    turns(q);
    uses(1, 700);
    quantum_kick(q, 0, 1);
    assert_int_equal(q->cpu[0].state, CPU_WOKEN);
    assert_int_equal(turns(q).count, 0); /* one at a time */
    assert_int_equal(quantum_clock(q, 0), 700);
    assert_int_equal(q->cpu[0].idle_cycles, 600);
    uses(1, 300);
    quantum_stop(q, 1);
    assert_int_equal(turns(q).cpu[0], 0);
    uses(0, 300);
    quantum_stop(q, 0);
    assert_true(quantum_over(q));
    quantum_close(q);
    assert_int_equal(q->cpu[0].cycles, 400);
}

/* One that is behind wakes one that halted later: nobody goes back. */
static void no_clock_goes_back(void **state)
{
    struct quantum *q = machine(2, 1);

    (void)state;
    quantum_open(q);
    turns(q);
    uses(0, 900);
    quantum_halt(q, 0);
    turns(q);
    uses(1, 100);
    quantum_kick(q, 0, 1);
    assert_int_equal(quantum_clock(q, 0), 900);
}

static void devices_wake_between_quanta(void **state)
{
    struct quantum *q = machine(1, 1);

    (void)state;
    quantum_open(q);
    turns(q);
    uses(0, 300);
    quantum_halt(q, 0);
    assert_true(quantum_over(q));
    quantum_close(q);
    assert_true(quantum_idle(q));
    quantum_jump(q, 5300);
    quantum_jump(q, 4000); /* not back */
    quantum_kick(q, 0, -1);
    assert_false(quantum_idle(q));
    assert_int_equal(turns(q).count, 0);
    quantum_open(q);
    assert_int_equal(turns(q).count, 1);
    assert_int_equal(quantum_clock(q, 0), 5300);
    assert_int_equal(q->cpu[0].idle_cycles, 5000);
}

/* QEMU wants all out of their code while CPU 0 waits for that: those who were
 * asked run on, with no budget, and nobody else; their clocks do not know of it
 * but for what they used. */
static void excursions_end_a_deadlock(void **state)
{
    struct quantum *q = machine(3, 1);

    (void)state;
    quantum_open(q);
    turns(q);
    quantum_kick(q, 1, 0);
    quantum_block(q);
    struct quantum_go go = turns(q);
    assert_int_equal(go.count, 1);
    assert_int_equal(go.cpu[0], 1);
    assert_true(counters[1] >= 0);
    assert_int_equal(quantum_clock(q, 1), 0);
    uses(1, 7);
    assert_int_equal(quantum_clock(q, 1), 7);
    quantum_stop(q, 1);
    assert_int_equal(turns(q).count, 0); /* not asked again */
    quantum_unblock(q);
    uses(0, LENGTH);
    quantum_stop(q, 0);
    assert_int_equal(turns(q).cpu[0], 2);
    uses(2, LENGTH);
    quantum_stop(q, 2);
    assert_int_equal(turns(q).cpu[0], 1);
    assert_int_equal(quantum_clock(q, 1), 7);
    assert_int_equal(-counters[1], LENGTH - 7);
    uses(1, LENGTH - 7);
    quantum_stop(q, 1);
    quantum_close(q);
    assert_int_equal(q->cpu[1].cycles, LENGTH);
}

/* Between quanta, the main loop pauses the machine: halted ones come out, too,
 * and halt again. */
static void excursions_of_the_halted(void **state)
{
    struct quantum *q = machine(2, 1);

    (void)state;
    quantum_open(q);
    turns(q);
    uses(0, 10);
    quantum_halt(q, 0);
    turns(q);
    uses(1, LENGTH);
    quantum_stop(q, 1);
    quantum_close(q);
    quantum_kick(q, 0, -1);
    quantum_kick(q, 1, -1);
    quantum_block(q);
    assert_int_equal(turns(q).count, 2);
    quantum_halt(q, 0);
    quantum_halt(q, 1);
    quantum_unblock(q);
    assert_true(quantum_idle(q));
    assert_int_equal(q->cpu[0].halted_since, LENGTH);
    assert_int_equal(q->cpu[1].halted_since, LENGTH);
    assert_int_equal(q->cpu[1].cycles, LENGTH);
}

/* Any host: PARALLEL of 8 CPUs at a time, any of them next to stop, halt or
 * wake another. */
static void random_machine(unsigned parallel, unsigned seed, uint64_t log[])
{
    struct quantum *q = machine(8, parallel);
    uint64_t last[8] = {0};
    struct quantum_go running = {0};

    srand(seed);
    for (int quantum = 0; quantum < 50; quantum++) {
        quantum_open(q);
        running = turns(q);
        while (running.count) {
            unsigned at = (unsigned)rand() % running.count, cpu = running.cpu[at];
            uint64_t before = quantum_clock(q, cpu);
            assert_true(before >= last[cpu]);
            assert_in_range(before, q->end - LENGTH, q->end);
            uses(cpu, (cpu + 3) * (before % 31 + 1) * 3);
            last[cpu] = quantum_clock(q, cpu);
            if (before % 5 == 0)
                quantum_kick(q, (cpu + 1) % 8, (int)cpu);
            if (counters[cpu] >= 0)
                quantum_stop(q, cpu);
            else if (cpu && before % 7 == 0)
                quantum_halt(q, cpu);
            if (q->cpu[cpu].state != CPU_RUNS)
                running.cpu[at] = running.cpu[--running.count];
            quantum_turns(q, &running);
            assert_true(running.count <= parallel);
            assert_int_equal(running.count, q->running);
        }
        assert_true(quantum_over(q));
        quantum_close(q);
    }
    for (unsigned i = 0; i < 8; i++)
        log[i] = q->cpu[i].cycles;
}

static void one_at_a_time_is_exact(void **state)
{
    uint64_t once[8], again[8];

    (void)state;
    random_machine(1, 1, once);
    random_machine(1, 2, again);
    assert_memory_equal(once, again, sizeof(once));
    for (unsigned seed = 1; seed < 20; seed++)
        random_machine(1 + seed % 8, seed, again);
}

UNIT(test_quantum)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_may_move),
        cmocka_unit_test(quanta_are_of_equal_length),
        cmocka_unit_test(who_is_charged_for_more_starts_later),
        cmocka_unit_test(one_at_a_time_the_last_first),
        cmocka_unit_test(the_woken_go_on_where_the_waker_is),
        cmocka_unit_test(no_clock_goes_back),
        cmocka_unit_test(devices_wake_between_quanta),
        cmocka_unit_test(excursions_end_a_deadlock),
        cmocka_unit_test(excursions_of_the_halted),
        cmocka_unit_test(one_at_a_time_is_exact),
    };

    return cmocka_run_group_tests_name("test_quantum", tests, NULL, NULL);
}
