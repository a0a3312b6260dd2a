/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A region ends when a thread outside of its team fulfils the event that its
 * last task waits for.  GCC's own library hangs. */

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static omp_event_handle_t last;

static void *fulfill(void *unused)
{
    omp_event_handle_t event;

    (void)unused;
    do
        usleep(1000);
    while (!(event = __atomic_load_n(&last, __ATOMIC_ACQUIRE)));
    usleep(5000);
    omp_fulfill_event(event);
    return NULL;
}

int main(void)
{
    pthread_t thread;

    for (int i = 0; i < 10; i++) {
        last = (omp_event_handle_t)0;
        pthread_create(&thread, NULL, fulfill, NULL);
#pragma omp parallel
#pragma omp single
        {
            omp_event_handle_t event;
#pragma omp task detach(event)
            __atomic_store_n(&last, event, __ATOMIC_RELEASE);
        }
        pthread_join(thread, NULL);
    }
    puts("PASS");
    return 0;
}
