/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Capabilities that the agent keeps as root. */

#ifndef COSCHED_PRIVILEGE_H
#define COSCHED_PRIVILEGE_H

#include "common/errtext.h"

/* Drop all capabilities of root but those that the agent needs, for good:
 * CAP_SYS_NICE (affinity), CAP_KILL (turns), CAP_SYS_PTRACE (/proc of others
 * where it is hidden) and CAP_PERFMON (perf); and, not in effect but for helpers
 * to have, CAP_DAC_READ_SEARCH.  Nothing happens for other users.  -1 with errno
 * and ERR. */
int privilege_drop(struct errtext *err);

/* For a child that only reads: read files of others, too, if the helpers may.  Without effect
 * where not. */
void privilege_read_files(void);

#endif /* COSCHED_PRIVILEGE_H */
