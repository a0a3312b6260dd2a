/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the sources of the enforcer share. */

#ifndef COSCHED_ENFORCER_PRIVATE_H
#define COSCHED_ENFORCER_PRIVATE_H

#include "node_agent/core/enforcer.h"
#include "node_agent/enforce/supervisor.h"
#include "node_agent/enforce/proc_table.h"

struct enforcer {
    struct supervisor *supervisor;
    const struct node_options *options;
    struct cpuset_holder *holder; /* NULL: there are no cpuset cgroups */
    struct proc_table procs;
    uint64_t next_scan_ns;
    uint64_t change_ns; /* last time that a process came, went or was held */
    uint64_t scan_ns;   /* of the last scan */
    uint64_t owners; /* owners_key() of the scan that found them; 0: none */
};

/* A pidfd of T, which the caller closes; -1: it has ended, or is about to. */
int enforcer_open(const struct tracked *t);

#endif /* COSCHED_ENFORCER_PRIVATE_H */
