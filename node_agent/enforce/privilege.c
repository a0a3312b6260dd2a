/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Capabilities that the agent keeps as root. */

#include "node_agent/enforce/privilege.h"

#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Older headers do not know it (Linux 5.8). */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

static const int kept[] = {CAP_SYS_NICE, CAP_KILL, CAP_SYS_PTRACE,
                           CAP_PERFMON};

/* Not in effect here.  The helper that speaks with Slurm must be able to read
 * what root can (Slurm's keys), and under NoNewPrivileges a program of root's
 * gets no more than its caller might have. */
static const int kept_for_helpers[] = {CAP_DAC_READ_SEARCH};

int privilege_drop(struct errtext *err)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct has[2] = {{0}}, data[2] = {{0}};

    if (geteuid() != 0)
        return 0;
    if (syscall(SYS_capget, &header, has) < 0)
        return errtext_set(err, errno, "capabilities: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        /* A container may not have given us all of them. */
        data[kept[i] / 32].permitted |=
            has[kept[i] / 32].permitted & 1u << (kept[i] % 32);
        data[kept[i] / 32].effective = data[kept[i] / 32].permitted;
    }
    for (size_t i = 0;
         i < sizeof(kept_for_helpers) / sizeof(kept_for_helpers[0]); i++) {
        int c = kept_for_helpers[i];
        data[c / 32].permitted |= has[c / 32].permitted & 1u << (c % 32);
    }
    /* The bounding set is left, for programs run without NoNewPrivileges. */
    if (syscall(SYS_capset, &header, data) < 0)
        return errtext_set(err, errno, "capabilities: %s", strerror(errno));
    return 0;
}

void privilege_read_files(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};

    if (syscall(SYS_capget, &header, data) < 0)
        return;
    for (int i = 0; i < 2; i++) {
        uint32_t wanted = 0;
        if (CAP_DAC_READ_SEARCH / 32 == i)
            wanted |= 1u << (CAP_DAC_READ_SEARCH % 32);
        if (CAP_SYS_PTRACE / 32 == i)
            wanted |= 1u << (CAP_SYS_PTRACE % 32);
        data[i].permitted &= wanted;
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    syscall(SYS_capset, &header, data);
}
