// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (C) 2026 The coschedule developers
// Taskloops, reductions by tasks, cancellation, regions in tasks.  Needs
// OMP_CANCELLATION.

#include "test_kmp.h"

namespace {

void loops()
{
    int hits[N] = {0}, sum = 0, last = -1;

    one([&] {
        Counted c(2);
#pragma omp taskloop firstprivate(c) lastprivate(last) shared(hits)
        for (int i = 0; i < N; i++) {
            add(&hits[i], c.value);
            last = i;
        }
    });
    for (int h : hits)
        sum += h;
    check("taskloop", sum * 1000 + last, 400199);

    // The task for iteration I says how many iterations it has.
    int sizes[30] = {0};
    one([&] {
#pragma omp taskloop grainsize(7) shared(sizes)
        for (int i = 0; i < 30; i++)
            sizes[i] = i;
    });
    sum = 0;
    for (int s : sizes)
        sum += s;
    check("grainsize", sum, 435);

    sum = 0;
    one([&] {
#pragma omp taskloop num_tasks(9) collapse(2) shared(sum) nogroup
        for (int i = 10; i > -10; i -= 3)
            for (unsigned long long j = ~0ull - 20; j < ~0ull - 3; j += 4)
                add(&sum, i + (int)(j % 5));
#pragma omp taskwait
    });
    check("collapsed", sum, 105);

    // Not by one(): clang 14 loses reductions of variables that a lambda
    // captures.
    long total = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop reduction(+ : total)
        for (long i = 0; i < 1000; i++)
            total += i;
#pragma omp taskloop reduction(+ : total) grainsize(10)
        for (long i = 0; i < 1000; i++)
            total += i;
    }
    check("taskloop reduction", total, 999000);

    sum = 0;
#pragma omp taskloop shared(sum)
    for (int i = 0; i < 50; i++)
        sum += i;
    check("taskloop in serial code", sum, 1225);
}

struct Vector {
    int x, y;
};
#pragma omp declare reduction(plus:Vector                                      \
                              : omp_out.x += omp_in.x, omp_out.y += omp_in.y)  \
    initializer(omp_priv = {0, omp_orig.y * 0})
#pragma omp declare reduction(plus:Counted : omp_out.value += omp_in.value)

void sum_tree(int depth, int &value)
{
    if (depth == 0) {
#pragma omp task in_reduction(+ : value)
        value += 2;
        return;
    }
#pragma omp task firstprivate(depth) in_reduction(+ : value)
    sum_tree(depth - 1, value);
    sum_tree(depth - 1, value);
#pragma omp taskwait
}

void reductions()
{
    long sum = 0;
    Vector v = {1, 2};
    Counted object(5);
    int tree = 0;

    one([&] {
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(plus : v, object)
        {
            for (int i = 0; i < N; i++) {
#pragma omp task in_reduction(+ : sum) in_reduction(plus : v, object) firstprivate(i)
                {
                    sum += i;
                    v.x += 1;
                    v.y += 2;
                    object.value += 1;
                }
            }
        }
    });
    check("task_reduction", sum + v.x * 10 + v.y + object.value, 22517, 1);

    one([&] {
#pragma omp taskgroup task_reduction(+ : tree)
        sum_tree(6, tree);
    });
    check("passed down", tree, 128, 1);

    // The inner group reduces what the outer one does, and more.
    int a = 0, b = 0;
    one([&] {
#pragma omp taskgroup task_reduction(+ : a)
        {
            for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : a) shared(b)
                {
                    int own = 0;
                    a++;
#pragma omp taskgroup task_reduction(+ : own)
                    {
                        for (int j = 0; j < 5; j++) {
#pragma omp task in_reduction(+ : a, own)
                            {
                                a++;
                                own++;
                            }
                        }
                    }
                    add(&b, own);
                }
            }
        }
    });
    check("nested", a * 1000 + b, 60050, 1);

    int x = 3;
#pragma omp parallel reduction(task, + : x) num_threads(4)
    {
#pragma omp task in_reduction(+ : x)
        x += 2;
        x++;
    }
    check("parallel, task", x, 15, 1);

    for (int round = 0; round < 5; round++) {
#pragma omp parallel num_threads(4)
        {
#pragma omp for reduction(task, + : x)
            for (int i = 0; i < 40; i++) {
#pragma omp task in_reduction(+ : x) firstprivate(i)
                x += i;
            }
#pragma omp sections reduction(task, + : x)
            {
#pragma omp section
                {
#pragma omp task in_reduction(+ : x)
                    x++;
                }
#pragma omp section
                x++;
            }
        }
    }
    check("for and sections, task", x, 3925, 1);

    sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
    {
#pragma omp task in_reduction(+ : sum)
        sum += 4;
    }
    check("reduction in serial code", sum, 4, 1);
}

// What is cancelled is discarded and destroyed; needs OMP_CANCELLATION.
void cancelled()
{
    int run = 0, after = 0;

    one([&] {
        Counted c(1);
#pragma omp taskgroup
        {
            for (int i = 0; i < N; i++) {
#pragma omp task firstprivate(c) shared(run)
                {
#pragma omp cancellation point taskgroup
                    add(&run, c.value);
#pragma omp cancel taskgroup
                }
            }
        }
        for (int i = 0; i < 3; i++) {
#pragma omp task firstprivate(c) shared(after)
            add(&after, 1);
        }
    });
    check("cancelled", (run > 0 && run < N) * 10 + after, 13);

    one([&] {
        int x = 0;
        Counted c(1);
#pragma omp taskgroup
        {
#pragma omp task shared(x)
            {
#pragma omp cancel taskgroup
            }
            for (int i = 0; i < N; i++) {
#pragma omp task depend(inout : x) firstprivate(c)
                x += c.value;
            }
        }
    });
    check("cancelled with dependences", 0, 0);
}

void nested()
{
    int sum = 0;

    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        for (int i = 0; i < 5; i++) {
#pragma omp task shared(sum)
            {
#pragma omp parallel num_threads(2) shared(sum)
                {
#pragma omp task shared(sum)
                    add(&sum, 1);
#pragma omp taskwait
                    add(&sum, 10);
                }
            }
        }
    }
    check("regions in tasks", sum, 220);
}

} // namespace

int main(int argc, char **argv)
{
    for (int n = rounds(argc, argv); n > 0; n--) {
        loops();
        reductions();
        cancelled();
        nested();
    }
    return verdict();
}
