/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* QEMU's clocks show virtual time. */

#include "emulator/plugin/clock.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emulator/plugin/qemu.h"
#include "emulator/plugin/turns.h"

#define NS_PER_S UINT64_C(1000000000)

/* Later than the host has been up when time becomes virtual: it never goes
 * back.  The same in each run. */
#define POWER_ON_NS (UINT64_C(100000000) * NS_PER_S)

static _Atomic uint64_t cycles_per_us; /* 0: time is the host's */

uint64_t clock_ns(uint64_t cycles)
{
    return (uint64_t)((unsigned __int128)cycles * 1000 / cycles_per_us);
}

uint64_t clock_cycles(uint64_t ns)
{
    return (uint64_t)(((unsigned __int128)ns * cycles_per_us + 999) / 1000);
}

static int host_clock(clockid_t id, struct timespec *to)
{
    return (int)syscall(SYS_clock_gettime, id, to);
}

uint64_t clock_host_ns(void)
{
    struct timespec t = {0};

    host_clock(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

EXPORT int clock_gettime(clockid_t id, struct timespec *to)
{
    if (!cycles_per_us || (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_RAW &&
                           id != CLOCK_MONOTONIC_COARSE && id != CLOCK_BOOTTIME))
        return host_clock(id, to);
    uint64_t ns = POWER_ON_NS + clock_ns(turns_clock());
    to->tv_sec = (time_t)(ns / NS_PER_S);
    to->tv_nsec = (long)(ns % NS_PER_S);
    return 0;
}

static int64_t virtual_ticks(void)
{
    return cycles_per_us ? (int64_t)clock_ns(turns_clock()) : -1;
}

/* movabs $virtual_ticks, %rax; jmp *%rax */
static int patch(unsigned char *function)
{
    unsigned char code[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    int64_t (*target)(void) = virtual_ticks;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *at = (void *)((uintptr_t)function & ~(page - 1));

    memcpy(code + 2, &target, sizeof(target));
    if (mprotect(at, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
        return -1;
    memcpy(function, code, sizeof(code));
    return mprotect(at, 2 * page, PROT_READ | PROT_EXEC);
}

const char *clock_find(void)
{
    static char sentence[256];
    const char *wrong = NULL;
    union {
        void *symbol;
        int64_t (*call)(void);
    } ticks = {dlsym(RTLD_DEFAULT, "cpu_get_ticks")};

    if (!ticks.symbol)
        wrong = "does not export cpu_get_ticks, the guest's TSC";
    else if (patch(ticks.symbol) < 0)
        wrong = "does not let cpu_get_ticks, the guest's TSC, be replaced";
    else if (ticks.call() != -1)
        wrong = "has another cpu_get_ticks than it exports";
    if (!wrong)
        return NULL;
    snprintf(sentence, sizeof(sentence), "%s %s: 10.0 of Debian's backports is known to work",
             qemu_name(), wrong);
    return sentence;
}

void clock_start(uint64_t mhz)
{
    cycles_per_us = mhz;
}
