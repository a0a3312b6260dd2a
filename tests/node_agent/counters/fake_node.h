/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A node for a counter backend that reads files of the test's own. */

#ifndef COSCHED_FAKE_NODE_H
#define COSCHED_FAKE_NODE_H

#include "node_agent/counters/counters.h"
#include "tests/support/tree.h"

struct fake_node {
    struct tree *tree; /* its /sys */
    struct machine *machine;
    struct cosched_cpuset cpus; /* all of the machine */
    struct counters_setup setup;
    struct sample *sample;
    void *state; /* of the backend under test */
};

/* Make NODE of MACHINE, which is then the node's, with PACKAGES packages. */
static inline void fake_node_init(struct fake_node *node,
                                  struct machine *machine, size_t packages)
{
    *node = (struct fake_node){.tree = tree_new(), .machine = machine};
    for (size_t c = 0; c < machine->cpus; c++)
        node->cpus.word[c / 64] |= UINT64_C(1) << (c % 64);
    counters_setup_init(&node->setup, machine, &node->cpus);
    node->setup.packages = packages;
    node->setup.sysfs = node->tree->root;
    node->sample = sample_new(machine->cpus, machine->llc_domains,
                              machine->numa_nodes, packages);
    if (!node->sample) {
        perror("fake_node");
        exit(1);
    }
}

/* Write TEXT to FILE of CPU in sysfs. */
static inline void fake_node_cpu(const struct fake_node *node, int cpu,
                                 const char *file, const char *text)
{
    char path[160];

    snprintf(path, sizeof(path), "devices/system/cpu/cpu%d/%s", cpu, file);
    tree_write(node->tree, path, text);
}

/* Close BACKEND's state, and free what NODE has. */
static inline void fake_node_clear(struct fake_node *node,
                                   const struct counters_backend *backend)
{
    backend->close(node->state);
    sample_free(node->sample);
    machine_free(node->machine);
    tree_free(node->tree);
}

#endif /* COSCHED_FAKE_NODE_H */
