/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What is noted is undone, by the supervisor, by another one, or by the next
 * agent. */

#include "tests/support/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "node_agent/enforce/ledger.h"
#include "node_agent/enforce/stopper.h"
#include "node_agent/enforce/supervisor.h"
#include "node_agent/enforce/usage.h"
#include "protocol/cpulist.h"
#include "tests/node_agent/enforce/victims.h"

struct stage {
    char directory[64], path[80];
    pid_t pid;
    uint64_t start;
    size_t note;
};

static int set_up(void **state)
{
    struct stage *s = calloc(1, sizeof(*s));
    struct proc_stat stat;

    strcpy(s->directory, "/tmp/cosched-test.XXXXXX");
    assert_non_null(mkdtemp(s->directory));
    snprintf(s->path, sizeof(s->path), "%s/ledger", s->directory);
    s->pid = victim_start(getuid());
    assert_int_equal(proc_read(s->pid, &stat), 0);
    s->start = stat.start;
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *s = *state;

    victim_end(s->pid);
    unlink(s->path);
    rmdir(s->directory);
    free(s);
    return 0;
}

static struct supervisor *start(const struct stage *s)
{
    struct supervisor *supervisor = supervisor_new();
    struct errtext err;

    assert_int_equal(supervisor_start(supervisor, s->path, &err), 0);
    return supervisor;
}

static int interruptions; /* of the next calls that do not wait */

/* For all of this program. */
pid_t waitpid(pid_t pid, int *status, int options)
{
    if (options & WNOHANG && interruptions) {
        interruptions--;
        errno = EINTR;
        return -1;
    }
    return wait4(pid, status, options, NULL);
}

/* The one child of this process that is called as supervisors are. */
static pid_t find_supervisor(void)
{
    struct proc_stat stat;
    char path[64];
    pid_t pid, found = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    for (int tries = 0; !found && tries < 10000;
         tries++) { /* it has to name itself */
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        while (fscanf(file, "%d", &pid) == 1)
            if (proc_read(pid, &stat) == 0 &&
                !strcmp(stat.comm, "coschedd-superv"))
                found = pid;
        fclose(file);
        usleep(found ? 0 : 1000);
    }
    assert_true(found);
    return found;
}

static void end(struct stage *s, struct supervisor *supervisor)
{
    assert_int_equal(
        supervisor_will_stop(supervisor, s->pid, s->start, false, &s->note), 0);
    kill(s->pid, SIGSTOP);
    victim_await(s->pid, true);
}

/* What is noted is undone at the end of the agent, what is done is not. */
static void test_undo(void **state)
{
    struct stage *s = *state;
    struct supervisor *supervisor = start(s);
    struct cosched_cpuset all, one;
    size_t note = 0;

    assert_int_equal(cpuset_get_affinity(0, &all), 0);
    one = all;
    while (cpuset_count(&one) > 1)
        cpuset_remove(&one, cpuset_next(&one, 0));
    end(s, supervisor);
    assert_int_equal(
        supervisor_will_hold(supervisor, 7, s->pid, s->start, &all, &note), 0);
    assert_int_equal(cpuset_set_affinity(s->pid, &one), 0);
    supervisor_free(supervisor);
    victim_await(s->pid, false);
    struct cosched_cpuset mask;
    assert_int_equal(cpuset_get_affinity(s->pid, &mask), 0);
    assert_true(cpuset_equal(&mask, &all));

    supervisor = start(s);
    end(s, supervisor);
    supervisor_done(supervisor, &s->note);
    assert_int_equal(s->note, 0);
    supervisor_free(supervisor);
    assert_true(victim_stopped(s->pid));
    kill(s->pid, SIGCONT);
}

/* Make a child that lives as long as this process, and tell PIPE of it. */
static void give_birth(int pipe)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    if (write(pipe, &pid, sizeof(pid)) != sizeof(pid))
        _exit(1);
}

/* A process on CPU that makes a child at once, and one for each byte of ORDERS. */
static pid_t parent_start(const struct cosched_cpuset *cpu, const int orders[2],
                          const int children[2])
{
    pid_t pid = fork();
    char c;

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(orders[1]);
    cpuset_set_affinity(0, cpu);
    do
        give_birth(children[1]);
    while (read(orders[0], &c, 1) == 1);
    _exit(0);
}

static uint64_t start_of(pid_t pid)
{
    struct proc_stat stat;

    assert_int_equal(proc_read(pid, &stat), 0);
    return stat.start;
}

static bool is_on(pid_t pid, const struct cosched_cpuset *cpus)
{
    struct cosched_cpuset mask;

    assert_int_equal(cpuset_get_affinity(pid, &mask), 0);
    return cpuset_equal(&mask, cpus);
}

/* A child that was made after the agent's last look has the affinity of its parent, and nobody
 * could note it.  One that the agent has seen, and did not note, has its own. */
static void test_heirs(void **state)
{
    struct stage *s = *state;
    struct cosched_cpuset all, one;
    int orders[2], children[2];
    pid_t old, new;
    size_t note = 0;

    assert_int_equal(cpuset_get_affinity(0, &all), 0);
    one = all;
    while (cpuset_count(&one) > 1)
        cpuset_remove(&one, cpuset_next(&one, 0));
    assert_int_equal(pipe(orders), 0);
    assert_int_equal(pipe(children), 0);
    pid_t parent = parent_start(&one, orders, children);
    struct supervisor *supervisor = start(s);
    assert_int_equal(read(children[0], &old, sizeof(old)), sizeof(old));
    uint64_t seen = start_of(old) + 1;
    while (usage_boot_ticks() < seen)
        usleep(1000);
    assert_int_equal(supervisor_will_hold(supervisor, 7, parent, start_of(parent), &all, &note), 0);
    supervisor_saw(supervisor, seen);
    assert_int_equal(write(orders[1], "x", 1), 1);
    assert_int_equal(read(children[0], &new, sizeof(new)), sizeof(new));
    assert_true(is_on(new, &one));
    supervisor_free(supervisor);
    assert_true(is_on(parent, &all));
    assert_true(is_on(new, &all));
    assert_true(is_on(old, &one));
    victim_end(parent);
    for (int i = 0; i < 2; i++) {
        close(orders[i]);
        close(children[i]);
    }
}

/* What somebody else has stopped, too, is left to him. */
static void test_foreign_stop(void **state)
{
    struct stage *s = *state;
    struct supervisor *supervisor = start(s);

    end(s, supervisor);
    kill(s->pid, SIGSTOP);
    supervisor_free(supervisor);
    assert_true(victim_stopped(s->pid));
    kill(s->pid, SIGCONT);
    victim_await(s->pid, false);
}

/* One that was killed is no zombie, and the one in its place knows all. */
static void test_replaced(void **state)
{
    struct stage *s = *state;
    struct supervisor *supervisor = start(s);
    siginfo_t info;

    end(s, supervisor);
    for (int i = 0; i < 3; i++) {
        pid_t killed = find_supervisor();
        kill(killed, SIGKILL);
        assert_int_equal(waitid(P_PID, (id_t)killed, &info, WEXITED | WNOWAIT),
                         0);
        assert_true(supervisor_ready(supervisor));
        assert_string_equal(supervisor_problem(supervisor), "");
        assert_int_equal(waitid(P_PID, (id_t)killed, &info, WEXITED | WNOHANG),
                         -1);
        assert_int_not_equal(find_supervisor(), killed);
    }
    supervisor_free(supervisor);
    victim_await(s->pid, false);
}

/* A question that was interrupted says nothing: the one that lives is not replaced, which would
 * undo what the agent does from then on, too. */
static void test_interrupted(void **state)
{
    struct stage *s = *state;
    struct supervisor *supervisor = start(s);
    pid_t pid = find_supervisor();

    end(s, supervisor);
    interruptions = 3;
    assert_true(supervisor_ready(supervisor));
    assert_int_equal(interruptions, 0);
    assert_int_equal(find_supervisor(), pid);
    assert_true(victim_stopped(s->pid));
    supervisor_free(supervisor);
    victim_await(s->pid, false);
}

/* Before it runs, nothing can be noted; where there is none at all, nothing is.
 */
static void test_not_ready(void **state)
{
    struct stage *s = *state;
    struct supervisor *supervisor = supervisor_new();

    assert_false(supervisor_ready(supervisor));
    assert_string_not_equal(supervisor_problem(supervisor), "");
    assert_int_equal(
        supervisor_will_stop(supervisor, s->pid, s->start, false, &s->note),
        -1);
    assert_int_equal(s->note, 0);
    supervisor_free(supervisor);
    assert_true(supervisor_ready(NULL));
    assert_int_equal(
        supervisor_will_stop(NULL, s->pid, s->start, false, &s->note), 0);
    supervisor_done(NULL, &s->note);
}

/* ---- the ledger ------------------------------------------------------------
 */

static size_t undone;

static void count(const struct ledger_entry *entry)
{
    undone += entry->what == LEDGER_STOPPED;
}

static size_t count_all(struct ledger *ledger)
{
    return ledger_undo(ledger, count);
}

static bool odd(const struct ledger_entry *entry)
{
    return entry->pid % 2;
}

/* The ledger at PATH as the next agent takes it. */
static size_t reopen(const char *path, struct ledger **ledger)
{
    struct errtext err;
    size_t entries;

    undone = 0;
    *ledger = ledger_new(path, 0, count_all, &entries, &err);
    assert_non_null(*ledger);
    assert_int_equal(undone, entries);
    return entries;
}

/* More entries than fit at first outlive their owner; those that were cleared
 * do not. */
static void test_ledger(void **state)
{
    struct stage *s = *state;
    struct ledger *ledger;
    size_t numbers[1000];

    assert_int_equal(reopen(s->path, &ledger), 0);
    assert_string_equal(ledger_problem(ledger), "");
    for (int i = 0; i < 1000; i++) {
        numbers[i] = ledger_add(
            ledger, &(struct ledger_entry){.what = LEDGER_STOPPED, .pid = i});
        assert_int_not_equal(numbers[i], 0);
    }
    for (int i = 0; i < 500; i++)
        ledger_clear(ledger, &numbers[i]);
    size_t before = ledger_count(ledger);
    ledger_tidy(ledger, 2000, odd);
    assert_true(ledger_count(ledger) < before);
    ledger_free(ledger);
    assert_int_equal(reopen(s->path, &ledger), 250);
    ledger_free(ledger);
    assert_int_equal(reopen(s->path, &ledger), 0);
    /* It is full one day. */
    struct ledger_entry entry = {.what = LEDGER_STOPPED, .pid = 1};
    size_t most = 0;
    while (ledger_add(ledger, &entry))
        most++;
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(most, LEDGER_MOST - 1);
    ledger_free(ledger);
}

static bool held(const struct ledger_entry *entry)
{
    return entry->what == LEDGER_HELD;
}

/* Who clears an entry late, which was tidied away, clears no other that is in
 * its place. */
static void test_late_clear(void **state)
{
    struct stage *s = *state;
    struct ledger *ledger;
    const struct ledger_entry hold = {.what = LEDGER_HELD, .pid = 1},
                              stop = {.what = LEDGER_STOPPED, .pid = 2};

    assert_int_equal(reopen(s->path, &ledger), 0);
    size_t late = ledger_add(ledger, &hold), again = late;
    ledger_tidy(ledger, 300, held);
    assert_int_equal(ledger_count(ledger), 0);
    size_t first = ledger_add(ledger, &stop);
    ledger_clear(ledger, &late);
    assert_int_equal(late, 0);
    size_t second = ledger_add(ledger, &stop);
    ledger_clear(ledger, &again);
    assert_int_equal(ledger_count(ledger), 2);
    ledger_clear(ledger, &first);
    assert_int_equal(ledger_count(ledger), 1);
    assert_true(second);
    ledger_free(ledger);
    assert_int_equal(reopen(s->path, &ledger), 1);
    ledger_free(ledger);
}

/* What is no ledger of this boot is not believed, and what is no file is not
 * used. */
static void test_foreign_file(void **state)
{
    struct stage *s = *state;
    struct ledger *ledger;

    assert_int_equal(reopen(s->path, &ledger), 0);
    ledger_add(ledger,
               &(struct ledger_entry){.what = LEDGER_STOPPED, .pid = 1});
    ledger_free(ledger);
    int fd = open(s->path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 20), 1); /* in the name of the boot */
    close(fd);
    assert_int_equal(reopen(s->path, &ledger), 0);
    ledger_free(ledger);
    fd = open(s->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "cosched", 7), 7);
    close(fd);
    assert_int_equal(reopen(s->path, &ledger), 0);
    ledger_free(ledger);

    unlink(s->path);
    assert_int_equal(mkfifo(s->path, 0600), 0);
    assert_int_equal(reopen(s->path, &ledger), 0);
    assert_string_not_equal(ledger_problem(ledger), "");
    assert_int_not_equal(
        ledger_add(ledger, &(struct ledger_entry){.what = LEDGER_HELD}), 0);
    ledger_free(ledger);
    unlink(s->path);
    assert_int_equal(symlink("/dev/null", s->path), 0);
    assert_int_equal(reopen(s->path, &ledger), 0);
    assert_string_not_equal(ledger_problem(ledger), "");
    ledger_free(ledger);
}

/* While one lives who answers for a ledger, another agent leaves its entries
 * alone. */
static void test_lock(void **state)
{
    struct stage *s = *state;
    struct ledger *first, *second;

    assert_int_equal(reopen(s->path, &first), 0);
    ledger_add(first, &(struct ledger_entry){.what = LEDGER_STOPPED, .pid = 1});
    assert_int_equal(reopen(s->path, &second), 0);
    assert_int_equal(ledger_count(first), 1);
    ledger_free(first);
    ledger_free(second);
}

UNIT(test_supervisor)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_undo),      TEST(test_foreign_stop), TEST(test_replaced),
        TEST(test_interrupted), TEST(test_heirs),
        TEST(test_not_ready), TEST(test_ledger),       TEST(test_foreign_file),
        TEST(test_lock),      TEST(test_late_clear),
    };
#undef TEST

    return cmocka_run_group_tests_name("test_supervisor", tests, NULL, NULL);
}
