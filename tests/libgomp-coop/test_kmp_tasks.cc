// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (C) 2026 The coschedule developers
// Explicit tasks as clang compiles them: what they compute, in which order.

#include "test_kmp.h"

#include <unistd.h>

namespace {

long fib(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) firstprivate(n)
    a = fib(n - 1);
#pragma omp task shared(b) firstprivate(n)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

void plain()
{
    long result = 0;
    int sum = 0;

    one([&] { result = fib(17); });
    check("fib", result, 1597);
    check("fib in serial code", fib(12), 144);

    one([&] {
        Counted c(3);
        for (int i = 0; i < N; i++) {
#pragma omp task firstprivate(c, i) shared(sum)
            {
                Counted copy(c);
                add(&sum, copy.value + i);
            }
        }
    });
    check("firstprivate objects", sum, 20500);

    // The block of a task is aligned as libomp aligns it.
    int aligned = 0;
    one([&] {
        struct alignas(64) Wide {
            double d[8];
        } w = {{1, 2, 3}};
        for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(w) shared(aligned)
            add(&aligned,
                (reinterpret_cast<size_t>(&w) % 64 == 0) + (int)w.d[2]);
        }
    });
    check("aligned", aligned, 32);
}

void groups()
{
    int inner = 0, seen = 0;

    one([&] {
#pragma omp taskgroup
        {
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(inner)
                {
                    for (int j = 0; j < 5; j++) {
#pragma omp task shared(inner)
                        add(&inner, 1);
                    }
                }
            }
        }
        seen = get(&inner);
    });
    check("taskgroup", seen, 100);

    // Taskwait in an undeferred task waits for that task's children only.
    int order = 0;
    one([&] {
        int child = 0, threads = omp_get_max_threads();
#pragma omp task if (0) shared(child, order)
        {
#pragma omp task shared(child)
            {
                usleep(1000);
                add(&child, 1);
            }
#pragma omp taskwait
            order = get(&child) * 10 + omp_in_final();
            omp_set_num_threads(omp_get_max_threads() + 1);
        }
        order = order * 10 + (omp_get_max_threads() != threads);
    });
    check("undeferred", order, 100);

    int final_tasks = 0;
    one([&] {
#pragma omp task final(1) shared(final_tasks)
        {
            final_tasks = omp_in_final();
#pragma omp task shared(final_tasks)
            {
                final_tasks += omp_in_final();
#pragma omp task mergeable shared(final_tasks)
                final_tasks += omp_in_final();
            }
            final_tasks *= 10;
        }
    });
    check("final", final_tasks, 30);

    int high = 0;
    one([&] {
        for (int i = 0; i < 50; i++) {
#pragma omp task priority(i) shared(high) firstprivate(i)
            add(&high, i);
        }
    });
    check("priority", high, 1225);
}

void untied()
{
    int sum = 0;

    one([&] {
        for (int i = 0; i < 40; i++) {
#pragma omp task untied shared(sum) firstprivate(i)
            {
                int part = 0;
                Counted c(i);
                for (int j = 0; j < 3; j++) {
#pragma omp task untied shared(part)
                    add(&part, 1);
#pragma omp taskyield
                }
#pragma omp taskwait
                add(&sum, part + c.value);
            }
        }
    });
    check("untied", sum, 900);
}

// Kinds of dependences that clang 14 does not know yet.
struct Depend {
    void *address;
    size_t length;
    unsigned char flags;
};
struct Task {
    void *shareds;
    int (*routine)(int, Task *);
    int part;
    void *data[2];
    int *to, *from, add;
};
extern "C" Task *__kmpc_omp_task_alloc(void *, int, int, size_t, size_t,
                                       int (*)(int, Task *));
extern "C" int __kmpc_omp_task_with_deps(void *, int, Task *, int, Depend *,
                                         int, Depend *);
extern "C" int __kmpc_global_thread_num(void *);

void depend(int flags, void *address, int *to, int *from, int n)
{
    Depend d = {address, 4, (unsigned char)flags};
    int gtid = __kmpc_global_thread_num(nullptr);
    Task *t = __kmpc_omp_task_alloc(
        nullptr, gtid, 1, sizeof *t, 0, [](int, Task *task) {
            add(task->to, (task->from ? get(task->from) : 0) + task->add);
            return 0;
        });

    t->to = to;
    t->from = from;
    t->add = n;
    __kmpc_omp_task_with_deps(nullptr, gtid, t, 1, &d, 0, nullptr);
}

void new_dependences()
{
    enum { IN = 1, OUT = 2, SET = 8, ALL = 0x80 };
    int n = 0, after = 0, all = 0, last = 0, other = 0;

    one([&] {
        depend(OUT, &n, &n, nullptr, 1000);
        for (int i = 0; i < 10; i++)
            depend(SET, &n, &n, nullptr, 1);
        depend(IN, &n, &after, &n, 0);
        depend(OUT, &other, &other, nullptr, 7);
        depend(ALL, nullptr, &all, &after, 0);
        depend(ALL, nullptr, &all, &other, 0);
        depend(IN, &other, &last, &all, 1);
    });
    check("inoutset", after, 1010);
    check("omp_all_memory", last, 1018);
}

// One thread must run the tasks that a loop with taskyield waits for.
void yield()
{
    int flag = 0, turns = 0;

#pragma omp parallel num_threads(1)
    {
        for (int i = 0; i < 3; i++) {
#pragma omp task shared(flag)
            add(&flag, 1);
        }
        while (get(&flag) < 3 && turns++ < 100) {
#pragma omp taskyield
        }
    }
    check("taskyield", flag, 3);
}

void dependences()
{
    int x = 0, y = 0, errors = 0, sum = 0;
    int cell[16] = {0};

    one([&] {
        for (int i = 0; i < N; i++) {
#pragma omp task depend(inout : x) shared(x, errors) firstprivate(i)
            {
                if (x != i)
                    add(&errors, 1);
                x = i + 1;
            }
        }
#pragma omp task depend(in : x) depend(out : y) shared(x, y)
        y = 2 * x;
#pragma omp task if (0) depend(in : y) shared(y, sum)
        sum = y;
#pragma omp taskwait
    });
    check("chain", sum + errors, 400);

    one([&] {
        int v = 1;
        for (int i = 0; i < 30; i++) {
#pragma omp task depend(mutexinoutset : sum) shared(sum)
            sum += 2;
        }
#pragma omp task depend(in : sum) depend(out : v) shared(sum, v)
        v = sum;
#pragma omp taskwait depend(in : v)
        x = v;
    });
    check("mutexinoutset", x, 460);

    one([&] {
        omp_depend_t d;
#pragma omp depobj(d) depend(inout : cell[3])
        for (int i = 0; i < 10; i++) {
#pragma omp task depend(depobj : d) shared(cell)
            cell[3] = cell[3] * 2 % 1000 + 1;
        }
#pragma omp depobj(d) update(in)
#pragma omp task depend(depobj : d) shared(cell, x)
        x = cell[3];
#pragma omp taskwait
#pragma omp depobj(d) destroy
    });
    check("depobj", x, 23);

    // More dependences than an array on the stack has room for.
    one([&] {
        static int many[100];
        for (int i = 0; i < 100; i++) {
#pragma omp task depend(out : many[i]) shared(many) firstprivate(i)
            many[i] = i;
        }
#pragma omp task depend(iterator(i = 0 : 100), in : many[i]) shared(many, x)
        {
            x = 0;
            for (int i = 0; i < 100; i++)
                x += many[i];
        }
    });
    check("iterator", x, 4950);
}

} // namespace

int main(int argc, char **argv)
{
    for (int n = rounds(argc, argv); n > 0; n--) {
        plain();
        groups();
        untied();
        yield();
        dependences();
        new_dependences();
    }
    return verdict();
}
