/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Shows a program another time of day: put in front of libc by LD_PRELOAD.
 * The first 8 bytes of the file SHIFTED_CLOCK are seconds to add, at any time,
 * the next 8 those of the monotonic clock. */

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t none[2];
static const int64_t *shift_s = none;

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("SHIFTED_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED
                       : mmap(NULL, sizeof(none), PROT_READ, MAP_SHARED, fd,
                              0);

    if (fd >= 0)
        close(fd);
    if (map != MAP_FAILED)
        shift_s = map;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    long rc = syscall(SYS_clock_gettime, clock, ts);

    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ts->tv_sec += __atomic_load_n(shift_s, __ATOMIC_RELAXED);
    else if (rc == 0 && clock == CLOCK_MONOTONIC)
        ts->tv_sec += __atomic_load_n(shift_s + 1, __ATOMIC_RELAXED);
    return (int)rc;
}

time_t time(time_t *to)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    if (to)
        *to = ts.tv_sec;
    return ts.tv_sec;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec ts;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &ts);
    *tv = (struct timeval){ts.tv_sec, ts.tv_nsec / 1000};
    return 0;
}
