/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Placement of tasks by itself (placement.h): dealt out, as many on each worker,
 * back in their own LLC domain where there is room; which CPUs are near each other without an
 * agent (domain.h); when another may steal them;
 * when a region has other homes for them than the one before (hint.h). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#define CMOCKA_DISABLE_DEPRECATION_WARNINGS
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libgomp-coop/config/coop/domain.h"
#include "libgomp-coop/config/coop/hint.h"
#include "libgomp-coop/config/coop/placement.h"
#include "libgomp-coop/config/coop/runq.h"
#include "libgomp-coop/config/coop/stack.h"
#include "libgomp-coop/config/coop/stray.h"
#include "libgomp-coop/config/coop/worker.h"

enum { MAX_TASKS = 2048 };

struct coop_worker coop_workers[COOP_MAX_WORKERS];
unsigned coop_nworkers;

static struct coop_ult ult[MAX_TASKS], *task[MAX_TASKS];
static unsigned char scratch[MAX_TASKS];

/* Stacks of the tasks that have one. */
enum { STACK = 4096, STACKS = 3 };
static char stacks[STACKS][STACK];
static bool noted;

void coop_stray_note(void)
{
    noted = true;
}

void coop_stack_lock(void)
{
}

void coop_stack_unlock(void)
{
}

void coop_stack_visit(void (*see)(struct coop_ult *u, void *arg), void *arg)
{
    for (int i = 0; i < STACKS; i++) {
        ult[i].stack = stacks[i];
        ult[i].stack_size = STACK;
        see(&ult[i], arg);
    }
}

unsigned coop_worker_usable(void)
{
    unsigned usable = 0;

    for (unsigned i = 0; i < coop_nworkers; i++)
        usable += coop_may_run(&coop_workers[i]);
    return usable;
}

/* N workers, each STRIDE of them in one LLC domain; with STRIDE < 0 domains
 * alternate, -STRIDE in all. */
static void have_workers(unsigned n, int stride)
{
    memset(coop_workers, 0, sizeof coop_workers);
    coop_nworkers = n;
    for (unsigned i = 0; i < n; i++)
        coop_workers[i] = (struct coop_worker) {
            .index = i, .cpu = (int) i, .started = true,
            .node = stride > 0 ? i / (unsigned) stride : i % (unsigned) -stride,
        };
}

/* A team of SIZE; number 0 is the initial thread, which is not placed anew. */
static void have_team(unsigned size)
{
    memset(ult, 0, sizeof ult);
    memset(task, 0, sizeof task);
    for (unsigned i = 0; i < size; i++) {
        coop_placement_first(&ult[i], i, size);
        task[i] = i ? &ult[i] : NULL;
    }
}

static void scatter(unsigned size)
{
    for (unsigned i = 1; i < size; i++)
        ult[i].home = i * 7 % coop_nworkers;
}

/* Tasks of the worker that has the most; the initial thread is on worker 0. */
static unsigned most(unsigned size)
{
    unsigned count[COOP_MAX_CPUS] = { 1 }, result = 0;

    for (unsigned i = 1; i < size; i++) {
        unsigned n = ++count[ult[i].home];
        assert_true(coop_may_run(&coop_workers[ult[i].home]));
        result = n > result ? n : result;
    }
    return result;
}

static unsigned at_home(unsigned size)
{
    unsigned n = 0;

    for (unsigned i = 1; i < size; i++)
        n += coop_workers[ult[i].home].node == ult[i].node;
    return n;
}

/* How uneven tasks 0 to SIZE - 1 are between workers. */
static unsigned uneven(unsigned size)
{
    unsigned count[COOP_MAX_CPUS] = { 0 }, least = UINT32_MAX, most = 0;

    for (unsigned i = 0; i < size; i++)
        count[ult[i].home]++;
    for (unsigned i = 0; i < coop_nworkers; i++) {
        least = count[i] < least ? count[i] : least;
        most = count[i] > most ? count[i] : most;
    }
    return most - least;
}

/* The worker of task I of N. */
static unsigned there_and_back(unsigned i, unsigned n)
{
    return i / n % 2 ? n - 1 - i % n : i % n;
}

/* A loop of few iterations has them in its first tasks. */
static void the_first_tasks_are_on_all_workers(void **state)
{
    (void) state;
    have_workers(8, 4);
    have_team(40);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(ult[i].home, there_and_back(i, 8));
        assert_int_equal(ult[i].node, ult[i].home / 4);
    }
    scatter(40);
    coop_placement_again(task, 40, scratch);
    for (unsigned i = 1; i <= 40; i++)
        assert_in_range(uneven(i), 0, 1);
    coop_workers[0].cpu = COOP_CPU_NONE;
    coop_placement_first(&ult[0], 0, 4);
    assert_int_equal(ult[0].home, 1);
}

/* Else no task would have a neighbour in its domain. */
static void pairs_where_a_domain_has_one_worker(void **state)
{
    (void) state;
    have_workers(8, 2);
    for (unsigned i = 1; i < 8; i += 2)
        coop_workers[i].cpu = COOP_CPU_NONE;
    have_team(34);
    for (unsigned i = 0; i < 34; i++)
        assert_int_equal(ult[i].node, there_and_back(i / 2, 4));
    have_team(7); /* not two for each */
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(ult[i].node, there_and_back(i, 4));
    coop_workers[1].cpu = 1; /* two in one domain */
    have_team(34);
    static const unsigned home[] = { 0, 1, 2, 4, 6, 6, 4 };
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(ult[i].home, home[i]);
}

static void stolen_tasks_come_back(void **state)
{
    unsigned first[40];

    (void) state;
    have_workers(8, 4);
    have_team(40);
    for (unsigned i = 0; i < 40; i++)
        first[i] = ult[i].home;
    scatter(40);
    coop_placement_again(task, 40, scratch);
    for (unsigned i = 1; i < 40; i++)
        assert_int_equal(ult[i].home, first[i]);
}

/* Also where numbers of CPUs alternate between domains. */
static void domains_need_not_follow_numbers(void **state)
{
    (void) state;
    have_workers(8, -2);
    have_team(40);
    scatter(40);
    coop_placement_again(task, 40, scratch);
    assert_int_equal(at_home(40), 39);
    assert_int_equal(most(40), 5);
}

/* Worker number FIRST and all after it have no CPU. */
static void place_without(unsigned first, unsigned size)
{
    for (unsigned i = first; i < coop_nworkers; i++)
        coop_workers[i].cpu = COOP_CPU_NONE;
    coop_placement_again(task, size, scratch);
}

static void without_its_domain_a_task_goes_where_room_is(void **state)
{
    (void) state;
    have_workers(16, 4);
    have_team(64);
    place_without(8, 64);
    assert_int_equal(most(64), 8);
    assert_int_equal(at_home(64), 31);
    for (unsigned i = 8; i < 16; i++)
        coop_workers[i].cpu = (int) i;
    coop_placement_again(task, 64, scratch);
    assert_int_equal(most(64), 4);
    assert_int_equal(at_home(64), 63);
}

/* The first tasks have the work of a loop with few iterations. */
static void without_their_domain_tasks_are_dealt_out_evenly(void **state)
{
    unsigned count[16] = { 0 };

    (void) state;
    have_workers(16, 4);
    have_team(96);
    place_without(12, 96);
    assert_int_equal(most(96), 8);
    for (unsigned i = 0; i < 36; i++)
        count[ult[i].home]++;
    for (unsigned i = 0; i < 12; i++)
        assert_in_range(count[i], 2, 4);
}

/* All want to be in domain 0.  Number 0 is there; each of the others is on its worker. */
static void without_room_at_home_a_task_stays(void **state)
{
    static const unsigned expected[] = { 0, 0, 0, 1, 2, 2, 2, 1, 1 };

    (void) state;
    have_workers(3, 1);
    have_team(9);
    for (unsigned i = 0; i < 9; i++)
        ult[i].node = 0;
    coop_placement_again(task, 9, scratch);
    for (unsigned i = 1; i < 9; i++)
        assert_int_equal(ult[i].home, expected[i]);
    coop_placement_again(task, 9, scratch);
    for (unsigned i = 1; i < 9; i++)
        assert_int_equal(ult[i].home, expected[i]);
}

static void a_busy_cpu_gets_none(void **state)
{
    (void) state;
    have_workers(8, 4);
    have_team(40);
    coop_workers[5].lost = 1;
    coop_workers[6].shared = 1;
    coop_workers[7].started = false;
    coop_placement_again(task, 40, scratch);
    for (unsigned i = 1; i < 40; i++)
        assert_true(ult[i].home < 5);
    assert_int_equal(most(40), 8);
}

/* Else a worker of another domain takes tasks that are being handed out. */
static void what_was_queued_after_the_look_has_not_waited(void **state)
{
    (void) state;
    assert_false(coop_runq_has_waited(1000, 1001, 500));
    assert_false(coop_runq_has_waited(1000, 501, 500));
    assert_true(coop_runq_has_waited(1000, 500, 500));
    assert_true(coop_runq_has_waited(1000, 0, 500));
}

/* Node 0 has CPUs 0 and 1, node 2 has 2 and 3. */
static void have_nodes(char *directory)
{
    static const struct {
        const char *file, *text;
    } files[] = {
        {"has_cpu", "0,2\n"}, {"node0/cpulist", "0-1\n"},
        {"node1/cpulist", "\n"}, {"node2/cpulist", "2-3\n"},
    };
    char path[256];

    assert_non_null(mkdtemp(directory));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/node%zu", directory, i);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, files[i].file);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(files[i].text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
}

/* Numbers of an agent mean other domains than the kernel's: who has settled under these is at
 * home where it is. */
static void without_an_agent_the_kernel_says_what_is_near(void **state)
{
    char directory[] = "/tmp/coop-domains.XXXXXX", command[64];
    uint16_t domain[COSCHED_MAX_CPUS] = { [0] = 2, [1] = 2, [2] = 7, [3] = 7 };
    struct coop_ult u = { .settled = COOP_DOMAINS_KERNEL, .node = 2, .home = 3 };

    (void) state;
    have_nodes(directory);
    have_workers(4, 2);
    assert_true(coop_domain_ask_kernel(directory));
    assert_false(coop_domain_ask_kernel(directory));
    assert_int_equal(coop_domain_source, COOP_DOMAINS_UNKNOWN);
    coop_domain_in_effect();
    assert_int_equal(coop_domain_source, COOP_DOMAINS_KERNEL);
    assert_int_equal(coop_domains[1], 0);
    assert_int_equal(coop_domains[2], 2);
    assert_int_equal(coop_domain_of_task(&u), 2);
    coop_domain_take(domain);
    coop_workers[3].node = coop_domains[3];
    assert_int_equal(coop_domain_of_task(&u), 2);
    coop_domain_in_effect();
    assert_int_equal(coop_domain_of_task(&u), 7);
    u.settled = COOP_DOMAINS_AGENT;
    assert_int_equal(coop_domain_of_task(&u), 2);
    assert_false(coop_domain_ask_kernel(directory));
    assert_int_equal(coop_domains[0], 2);
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
    coop_domain_source = COOP_DOMAINS_UNKNOWN;
}

static void nobody_usable_changes_nothing(void **state)
{
    (void) state;
    have_workers(4, 2);
    have_team(8);
    for (unsigned i = 0; i < 4; i++)
        coop_workers[i].cpu = COOP_CPU_NONE;
    coop_placement_again(task, 8, scratch);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(ult[i].home, there_and_back(i, 4));
    coop_placement_first(&ult[0], 3, 8);
    assert_int_equal(ult[0].home, 0);
}

/* No worker has more than its share, whatever the numbers are. */
static void shares_are_even(void **state)
{
    (void) state;
    for (unsigned n = 1; n <= 70; n += 3)
        for (unsigned size = 1; size <= 300; size += 1 + size / 9)
            for (int stride = -9; stride <= 9; stride++) {
                if (stride == 0)
                    continue;
                have_workers(n, stride);
                have_team(size);
                scatter(size);
                for (unsigned i = 1; i < n; i += 5)
                    coop_workers[i].cpu = COOP_CPU_NONE;
                unsigned usable = coop_worker_usable();
                coop_placement_again(task, size, scratch);
                if (size > 1)
                    assert_in_range(most(size), 1, (size + usable - 1) / usable + 1);
            }
}

static void many_domains_and_tasks(void **state)
{
    (void) state;
    have_workers(COOP_MAX_CPUS, 4); /* 256 domains */
    have_team(MAX_TASKS);
    scatter(MAX_TASKS);
    coop_placement_again(task, MAX_TASKS, scratch);
    assert_int_equal(most(MAX_TASKS), 2);
    have_workers(256, 8);
    have_team(MAX_TASKS);
    scatter(MAX_TASKS);
    coop_placement_again(task, MAX_TASKS, scratch);
    assert_int_equal(at_home(MAX_TASKS), MAX_TASKS - 1);
}

static struct cosched_homes homes = {
    .magic = COSCHED_HOMES_MAGIC, .version = COSCHED_LAYOUT_VERSION, .size = sizeof homes,
};

/* Homes of all tasks in REGION, behind those that there are. */
static void put_homes(unsigned region, const unsigned *domain)
{
    for (int i = 0; i < STACKS; i++)
        homes.home[homes.count++] = (struct cosched_home) {
            .stack = (uintptr_t) &stacks[i][STACK / 2],
            .region = (uint16_t) region,
            .domain = (uint16_t) domain[i],
        };
}

static void take_homes(void)
{
    const uint32_t generation = 2;

    coop_hint_take(&homes, &generation, generation);
}

/* Are tasks to be placed anew when REGION begins? */
static bool moves(unsigned region)
{
    noted = false;
    coop_hint_choose(region);
    return noted;
}

/* Else kernel threads sleep before each region. */
static void regions_with_equal_homes_move_nobody(void **state)
{
    static const unsigned here[STACKS] = { 0, 1, 1 }, there[STACKS] = { 1, 1, 0 };

    (void) state;
    have_team(STACKS);
    homes.count = 0;
    put_homes(5, here);
    put_homes(6, here);
    put_homes(COSCHED_HOME_ANY, here);
    take_homes();
    assert_int_equal(coop_hint_known, 1);
    assert_true(moves(5));
    assert_false(moves(6));
    assert_false(moves(7));
    put_homes(7, there);
    take_homes();
    assert_int_equal(coop_hint_known, 2);
    assert_true(moves(6));
    assert_false(moves(8));
    assert_true(moves(7));
    coop_hint_apply((struct coop_ult *[]) { &ult[0], &ult[2] }, 2);
    assert_int_equal(ult[0].node, 1);
    assert_int_equal(ult[2].node, 0);
    coop_hint_reset();
}

static void a_region_without_homes_moves_nobody(void **state)
{
    static const unsigned here[STACKS] = { 0, 1, 1 };

    (void) state;
    have_team(STACKS);
    homes.count = 0;
    put_homes(5, here);
    take_homes();
    assert_true(moves(5));
    assert_false(moves(6));
    assert_false(moves(5));
    coop_hint_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_tasks_are_on_all_workers),
        cmocka_unit_test(pairs_where_a_domain_has_one_worker),
        cmocka_unit_test(stolen_tasks_come_back),
        cmocka_unit_test(domains_need_not_follow_numbers),
        cmocka_unit_test(without_its_domain_a_task_goes_where_room_is),
        cmocka_unit_test(without_their_domain_tasks_are_dealt_out_evenly),
        cmocka_unit_test(without_room_at_home_a_task_stays),
        cmocka_unit_test(a_busy_cpu_gets_none),
        cmocka_unit_test(what_was_queued_after_the_look_has_not_waited),
        cmocka_unit_test(without_an_agent_the_kernel_says_what_is_near),
        cmocka_unit_test(nobody_usable_changes_nothing),
        cmocka_unit_test(shares_are_even),
        cmocka_unit_test(many_domains_and_tasks),
        cmocka_unit_test(regions_with_equal_homes_move_nobody),
        cmocka_unit_test(a_region_without_homes_moves_nobody),
    };
    return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
