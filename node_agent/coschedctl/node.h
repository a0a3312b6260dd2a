/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl: the node as its commands see it for themselves. */

#ifndef COSCHED_CTL_NODE_H
#define COSCHED_CTL_NODE_H

#include "node_agent/counters/counters.h"
#include "node_agent/counters/probe.h"
#include "node_agent/coschedctl/ctl.h"
#include "node_agent/topology/topology.h"

struct ctl_node {
    struct topology *topology;
    struct counters_setup setup;
    char cpu_model[32];
    json_t *agent; /* its reply to "counters"; NULL: there is none */
    bool silent;   /* there is one, but it does not answer */
};

/* Look at this node, and ask its agent what that counts with.  The exit status,
 * its reason printed.  NODE must stay where it is until closed. */
int ctl_node_open(struct ctl_node *node, const struct arguments *a);
void ctl_node_close(struct ctl_node *node);

/* Look at BACKEND (probe.h) under one load of the node's setup, unless that
 * would disturb the agent.  A new object, with whether `auto` may choose it as
 * "auto". */
json_t *ctl_node_probe(const struct ctl_node *node,
                       const struct counters_backend *backend);

/* Why it does not open, without its name in front; "" if nothing is wrong. */
const char *ctl_probe_error(const json_t *probe);

#endif /* COSCHED_CTL_NODE_H */
