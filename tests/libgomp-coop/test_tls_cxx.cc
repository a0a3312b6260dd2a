// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (C) 2026 The coschedule developers
// Exceptions and thread_local objects stay with the OpenMP thread.
//
// usage: test_tls_cxx exceptions|objects
//
// "exceptions" runs until a line comes on stdin; both print PASS or FAIL.

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <thread>

static std::atomic<bool> stopping;

static void mix()
{
#pragma omp barrier
#pragma omp barrier
}

// True if the exception that is being handled says WHAT.
static bool current_is(const std::string &what)
{
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const std::exception &e) {
        return e.what() == what;
    }
}

// Changes kernel threads inside handlers, nested, and while rethrowing.
static bool throw_and_mix(int me, int round)
{
    const std::string outer = "outer " + std::to_string(me) + "/" + std::to_string(round);
    const std::string inner = "inner " + std::to_string(me);
    bool good = true;

    try {
        try {
            throw std::runtime_error(outer);
        } catch (const std::runtime_error &e) {
            mix();
            good &= e.what() == outer && current_is(outer);
            try {
                throw std::logic_error(inner);
            } catch (const std::logic_error &f) {
                mix();
                good &= f.what() == inner && current_is(inner);
            }
            mix();
            good &= current_is(outer) && std::uncaught_exceptions() == 0;
            throw;
        }
    } catch (const std::exception &e) {
        good &= e.what() == outer;
        mix();
        good &= current_is(outer);
    }
    return good && !std::current_exception();
}

static bool exceptions()
{
    std::thread reader([] {
        std::getchar();
        stopping = true;
    });
    int bad = 0;
    bool go = true;

#pragma omp parallel reduction(+ : bad)
    {
#pragma omp single nowait
        {
            std::puts("ready");
            std::fflush(stdout);
        }
        for (int round = 0;; round++) {
#pragma omp single
            go = !stopping;
            if (!go)
                break;
            bad += !throw_and_mix(omp_get_thread_num(), round);
#pragma omp barrier
        }
    }
    reader.join();
    return bad == 0;
}

static std::atomic<int> made, gone;

struct Object {
    int number = 0;
    Object() { made++; }
    ~Object() { gone++; }
};

static thread_local Object object;

// A nested team's threads have objects of their own, fresh each time, which
// are destroyed with the thread; those of the outer team keep theirs.
static bool objects()
{
    const int outer = 3, inner = 4, times = 20;
    int bad = 0;

    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(outer) reduction(+ : bad)
    {
        int me = omp_get_thread_num() + 1;

        object.number = me;
        for (int i = 0; i < times; i++) {
#pragma omp parallel num_threads(inner) reduction(+ : bad)
            {
                bool mine = omp_get_thread_num() == 0;

                bad += object.number != (mine ? me : 0);
                if (!mine)
                    object.number = -1;
            }
        }
        bad += object.number != me;
    }
    // Nested threads end on their own: outer * (inner - 1) each time.
    const int nested = outer * (inner - 1) * times;
    while (gone < nested)
        std::this_thread::yield();
    return bad == 0 && made == nested + outer;
}

int main(int argc, char **argv)
{
    bool good;

    if (argc == 2 && std::strcmp(argv[1], "exceptions") == 0)
        good = exceptions();
    else if (argc == 2 && std::strcmp(argv[1], "objects") == 0)
        good = objects();
    else
        return 2;
    std::puts(good ? "PASS" : "FAIL");
    return !good;
}
