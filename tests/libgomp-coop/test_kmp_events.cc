// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (C) 2026 The coschedule developers
// Tasks with events, and undeferred untied tasks.  Libomp 14 hangs in the
// former now and then, and aborts in the latter.

#include "test_kmp.h"

#include <pthread.h>
#include <unistd.h>

namespace {

void *fulfill(void *event)
{
    usleep(2000);
    omp_fulfill_event(*static_cast<omp_event_handle_t *>(event));
    return nullptr;
}

void detach()
{
    int done = 0;
    omp_event_handle_t event;
    static omp_event_handle_t late[1000];

    one([&] {
#pragma omp task detach(event) shared(done)
        {
            add(&done, 1);
            omp_fulfill_event(event);
        }
#pragma omp taskwait
        add(&done, 10);
    });
    check("event fulfilled inside", done, 11);

    // By a thread of the program, while the team waits in the barrier.
    int dependent = 0;
    pthread_t thread;
    one([&] {
        omp_event_handle_t e = omp_event_handle_t();
        int x = 0;
#pragma omp task detach(e) depend(out : x) shared(late)
        late[0] = e;
#pragma omp task depend(in : x) shared(dependent, done)
        dependent = get(&done);
        late[1] = e;
        pthread_create(
            &thread, nullptr,
            [](void *d) -> void * {
                usleep(2000);
                add(static_cast<int *>(d), 100);
                omp_fulfill_event(late[1]);
                return nullptr;
            },
            &done);
    });
    pthread_join(thread, nullptr);
    check("event fulfilled by a thread", dependent, 111);

    one([&] {
        omp_event_handle_t e = omp_event_handle_t();
#pragma omp task detach(e)
        {
        }
        late[0] = e;
        pthread_create(&thread, nullptr, fulfill, &late[0]);
    });
    pthread_join(thread, nullptr);
    check("nothing left but an event", 0, 0);

    // More than a library may keep waiting, all fulfilled by who creates them.
    done = 0;
    one([&] {
        for (int i = 0; i < 1000; i++) {
            omp_event_handle_t e = omp_event_handle_t();
#pragma omp task detach(e) shared(done)
            add(&done, 1);
            late[i] = e;
        }
        for (int i = 0; i < 1000; i++)
            omp_fulfill_event(late[i]);
#pragma omp taskwait
        done *= 2;
    });
    check("events fulfilled after all", done, 2000);

    done = 0;
    one([&] {
        omp_event_handle_t e = omp_event_handle_t();
        int x = 0;
        for (int i = 0; i < 500; i++) {
#pragma omp task depend(inout : x) shared(done)
            add(&done, 1);
        }
#pragma omp task detach(e) depend(inout : x) shared(done)
        add(&done, 1);
        for (int i = 0; i < 500; i++) {
#pragma omp task depend(in : x) shared(done)
            add(&done, 1);
        }
        omp_fulfill_event(e);
    });
    check("dependences on an event", done, 1001);

    done = 0;
    one([&] {
        omp_event_handle_t e = omp_event_handle_t();
#pragma omp task if (0) detach(e) shared(done)
        done = 1;
        done += 1;
        omp_fulfill_event(e);
#pragma omp taskwait
    });
    check("undeferred with event", done, 2);

    one([&] {
#pragma omp task final(1) shared(done)
        {
            omp_event_handle_t e = omp_event_handle_t();
#pragma omp task detach(e) shared(done)
            done = 5;
            done += 1;
            omp_fulfill_event(e);
        }
    });
    check("included with event", done, 6);
}

// Without a team.
void serial_detach()
{
    int done = 0;
    omp_event_handle_t e = omp_event_handle_t();

#pragma omp task detach(e) shared(done)
    done++;
    omp_fulfill_event(e);
#pragma omp taskwait
    check("event in serial code", done, 1);
#pragma omp parallel shared(done)
    {
#pragma omp task shared(done)
        add(&done, 0);
    }
    check("level after it", omp_get_level() + omp_get_num_threads(), 1);
}

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
    int *to;
};
extern "C" Task *__kmpc_omp_task_alloc(void *, int, int, size_t, size_t,
                                       int (*)(int, Task *));
extern "C" int __kmpc_omp_task_with_deps(void *, int, Task *, int, Depend *,
                                         int, Depend *);
extern "C" int __kmpc_global_thread_num(void *);
extern "C" void __kmpc_proxy_task_completed(int, Task *);
extern "C" void __kmpc_proxy_task_completed_ooo(Task *);

// Tasks of a library for accelerators, which says when they are complete.
void proxies()
{
    enum { TIED = 1, PROXY = 0x10, OUT = 3 };
    static Task *tasks[2];
    int done = 0, after = 0;
    pthread_t thread;

    one([&] {
        int gtid = __kmpc_global_thread_num(nullptr);
        Depend d[] = {{&done, 4, OUT}, {&after, 4, OUT}, {&gtid, 4, OUT}};
        for (int i = 0; i < 2; i++) {
            // With few and with many dependences.
            Task *t = __kmpc_omp_task_alloc(nullptr, gtid, TIED | PROXY,
                                            sizeof(Task), 0,
                                            [](int, Task *task) {
                                                add(task->to, 1);
                                                return 0;
                                            });
            t->to = &done;
            tasks[i] = t;
            __kmpc_omp_task_with_deps(nullptr, gtid, t, 1 + 2 * i, d, 0,
                                      nullptr);
        }
#pragma omp task depend(in : done) shared(done, after)
        after = get(&done);
        pthread_create(
            &thread, nullptr,
            [](void *) -> void * {
                usleep(2000);
                __kmpc_proxy_task_completed_ooo(tasks[1]);
                return nullptr;
            },
            nullptr);
        __kmpc_proxy_task_completed(gtid, tasks[0]);
    });
    pthread_join(thread, nullptr);
    check("proxy tasks", after, 2);
}

void untied_undeferred()
{
    int sum = 0;

    one([&] {
#pragma omp task untied if (0) shared(sum)
        {
            sum = 3;
#pragma omp taskyield
            sum *= 7;
        }
#pragma omp taskwait
    });
    check("untied, undeferred", sum, 21);
}

} // namespace

int main(int argc, char **argv)
{
    for (int n = rounds(argc, argv); n > 0; n--) {
        detach();
        serial_detach();
        proxies();
        untied_undeferred();
    }
    return verdict();
}
