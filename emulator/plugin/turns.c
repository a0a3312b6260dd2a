/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* QEMU's threads stop and go as the quantum has it. */

#include "emulator/plugin/turns.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emulator/plugin/clock.h"
#include "emulator/plugin/qemu.h"

struct cpu_thread {
    _Atomic uint32_t turn;  /* a futex: 1 has come, 0 has been taken */
    pthread_cond_t *halted; /* its condition, once known */
    bool halts;             /* the next condition is that */
    int64_t early;          /* its counter, until all are there */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct quantum q; /* under the lock */
static struct cpu_thread threads[EMULATED_CPUS];
static _Atomic uint32_t all_stop;    /* a futex: counts what may interest the main loop */
static unsigned machine_cpus, bound; /* CPUs whose counters are known */
static turns_between_f *between_quanta;
static pthread_t main_thread;
static int host_event = -1; /* a CPU is woken while the main loop sleeps on the host's clock */
static bool main_sleeps;    /* so */
static atomic_bool started;
static __thread int self = -1;

static int (*real_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*real_broadcast)(pthread_cond_t *);
static int (*real_signal)(pthread_cond_t *);
static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Unlocks, and tells those whose turn has come; or the main loop, if it is its. */
static void unlock_and_go(void)
{
    struct quantum_go go = {0};

    quantum_turns(&q, &go);
    bool over = quantum_over(&q);
    if (over && main_sleeps && !quantum_idle(&q)) {
        main_sleeps = false;
        (void)!write(host_event, &(uint64_t){1}, sizeof(uint64_t));
    }
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < go.count; i++) {
        atomic_store(&threads[go.cpu[i]].turn, 1);
        if (go.cpu[i] != self)
            futex_wake(&threads[go.cpu[i]].turn);
    }
    if (over) {
        atomic_fetch_add(&all_stop, 1);
        futex_wake(&all_stop);
    }
}

/* Sleeps until the own turn has come.  It comes once for each time that the CPU stopped. */
static void take_turn(struct cpu_thread *t)
{
    while (!atomic_exchange(&t->turn, 0))
        futex_wait(&t->turn, 0);
}

void turns_block(unsigned cpu)
{
    pthread_mutex_lock(&lock);
    quantum_stop(&q, cpu);
    unlock_and_go();
    take_turn(&threads[cpu]);
}

static void halt(struct cpu_thread *t, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    pthread_mutex_lock(&lock);
    t->halts = false;
    t->halted = cond;
    quantum_halt(&q, (unsigned)self);
    unlock_and_go();
    pthread_mutex_unlock(mutex);
    take_turn(t);
    pthread_mutex_lock(mutex);
}

/* Whoever waits for anything else may wait for CPUs that stop. */
static int wait_for_others(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    pthread_mutex_lock(&lock);
    quantum_block(&q);
    unlock_and_go();
    int result = real_wait(cond, mutex);
    pthread_mutex_lock(&lock);
    quantum_unblock(&q);
    unlock_and_go();
    return result;
}

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (atomic_load(&started) && self >= 0) {
        struct cpu_thread *t = &threads[self];
        if (t->halts || t->halted == cond) {
            halt(t, cond, mutex);
            return 0;
        }
    }
    if (atomic_load(&started) && (self >= 0 || pthread_equal(pthread_self(), main_thread)))
        return wait_for_others(cond, mutex);
    return real_wait(cond, mutex);
}

static void look_up(const pthread_cond_t *cond)
{
    if (!atomic_load(&started))
        return;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < q.cpus; i++)
        if (threads[i].halted == cond) {
            quantum_kick(&q, i, self);
            break;
        }
    unlock_and_go();
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
    look_up(cond);
    return real_broadcast(cond);
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
    look_up(cond);
    return real_signal(cond);
}

/* Until no CPU runs any more.  Returns with the lock. */
static void wait_for_end(void)
{
    for (;;) {
        uint32_t seen = atomic_load(&all_stop);
        pthread_mutex_lock(&lock);
        if (bound == machine_cpus && quantum_over(&q))
            return;
        pthread_mutex_unlock(&lock);
        futex_wait(&all_stop, seen);
    }
}

/* All CPUs are halted and no timer runs: only the host can bring something.
 * Called with the lock, returns without.  FILES has room for one more. */
static int wait_for_host(struct pollfd *files, nfds_t count, const sigset_t *mask)
{
    uint64_t events;

    files[count] = (struct pollfd){.fd = host_event, .events = POLLIN};
    main_sleeps = true;
    pthread_mutex_unlock(&lock);
    int ready = real_ppoll(files, count + 1, NULL, mask);
    pthread_mutex_lock(&lock);
    main_sleeps = false;
    pthread_mutex_unlock(&lock);
    if (ready > 0 && files[count].revents) {
        (void)!read(host_event, &events, sizeof(events));
        ready--;
    }
    return ready;
}

/* Lets CPUs run until a file is ready (their number) or the time is DEADLINE (0). */
static int conduct(struct pollfd *files, nfds_t count, uint64_t deadline, const sigset_t *mask)
{
    for (;;) {
        wait_for_end();
        if (q.open) {
            quantum_close(&q);
            between_quanta(q.end);
        }
        int ready = real_ppoll(files, count, &(struct timespec){0}, mask);
        if (ready || q.end >= deadline) {
            pthread_mutex_unlock(&lock);
            return ready;
        }
        if (!quantum_idle(&q)) {
            quantum_open(&q);
            unlock_and_go();
        } else if (deadline != UINT64_MAX) {
            quantum_jump(&q, deadline);
            between_quanta(q.end);
            pthread_mutex_unlock(&lock);
            return 0;
        } else if ((ready = wait_for_host(files, count, mask)) != 0) {
            return ready;
        }
    }
}

EXPORT int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask)
{
    uint64_t deadline = UINT64_MAX;

    if (!atomic_load(&started) || !pthread_equal(pthread_self(), main_thread) ||
        (timeout && !timeout->tv_sec && !timeout->tv_nsec))
        return real_ppoll(files, count, timeout, mask);
    if (timeout)
        deadline = turns_clock() + clock_cycles((uint64_t)timeout->tv_sec * 1000000000 +
                                                (uint64_t)timeout->tv_nsec);
    struct pollfd *own = malloc((count + 1) * sizeof(*own));
    if (!own) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(own, files, count * sizeof(*own));
    int ready = conduct(own, count, deadline, mask), saved = errno;
    memcpy(files, own, count * sizeof(*own));
    free(own);
    errno = saved;
    return ready;
}

const char *turns_find(void)
{
    union {
        void *symbol;
        int (*call)(pthread_cond_t *, pthread_mutex_t *);
    } first = {dlsym(RTLD_DEFAULT, "pthread_cond_wait")};

    /* The old condition variables of this name have another layout. */
    real_wait = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
    real_broadcast = dlvsym(RTLD_NEXT, "pthread_cond_broadcast", "GLIBC_2.3.2");
    real_signal = dlvsym(RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.3.2");
    real_ppoll = dlsym(RTLD_NEXT, "ppoll");
    if (first.call != pthread_cond_wait)
        return "the plugin has to be in LD_PRELOAD, too";
    return real_wait && real_broadcast && real_signal && real_ppoll
               ? NULL
               : "this C library lacks a function that is interposed";
}

void turns_start(unsigned cpus, unsigned parallel, uint64_t quantum, turns_between_f *between)
{
    host_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    main_thread = pthread_self();
    machine_cpus = cpus;
    between_quanta = between;
    q.parallel = parallel;
    q.length = quantum;
    atomic_store(&started, true);
}

bool turns_add(unsigned cpu)
{
    pthread_mutex_lock(&lock);
    self = (int)cpu;
    quantum_add(&q, cpu, &threads[cpu].early);
    bool last = q.present == machine_cpus;
    unlock_and_go();
    return last;
}

void turns_bind(unsigned cpu, int64_t *counter)
{
    pthread_mutex_lock(&lock);
    quantum_bind(&q, cpu, counter);
    bound += cpu + 1 > bound;
    unlock_and_go();
}

void turns_halts(void)
{
    if (self >= 0)
        threads[self].halts = true;
}

uint64_t turns_clock(void)
{
    return self >= 0 ? quantum_clock(&q, (unsigned)self) : q.end;
}

uint64_t turns_cycles(unsigned cpu)
{
    return q.cpu[cpu].cycles;
}

uint64_t turns_idle_cycles(unsigned cpu)
{
    const struct quantum_cpu *c = &q.cpu[cpu];

    return c->idle_cycles +
           (c->state == CPU_HALTED && q.end > c->halted_since ? q.end - c->halted_since : 0);
}
