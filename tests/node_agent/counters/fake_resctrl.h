/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A node whose resctrl the test plays. */

#ifndef COSCHED_FAKE_RESCTRL_H
#define COSCHED_FAKE_RESCTRL_H

#include <errno.h>
#include <inttypes.h>

#include "node_agent/counters/resctrl.h"
#include "tests/node_agent/counters/fake_node.h"

#define ROOT "fs/resctrl/"

/* Two caches, kernel ids 0 and 4, with four CPUs each; the first cache has two
 * LLC domains. */
struct fake_resctrl {
    struct fake_node is;
    struct resctrl_source source;
    char procfs[80];
    size_t made, most; /* groups there are and may be */
};

/* Write TEXT to FILE below the node's root. */
static inline void fake_put(const struct fake_resctrl *n, const char *file,
                            const char *text)
{
    tree_write(n->is.tree, file, text);
}

static inline bool fake_has(const struct fake_resctrl *n, const char *file)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/%s", n->is.tree->root, file);
    return access(path, F_OK) == 0;
}

/* ---- the kernel ---------------------------------------------------------- */

static inline void fake_resctrl_files(const struct fake_resctrl *n,
                                      const char *group)
{
    static const char *const names[] = {"mbm_local_bytes", "mbm_total_bytes",
                                        "llc_occupancy"};
    char file[256];

    snprintf(file, sizeof(file), "%s/cpus_list", group);
    fake_put(n, file, "\n");
    for (int d = 0; d <= 4; d += 4)
        for (size_t i = 0; i < 3; i++) {
            snprintf(file, sizeof(file), "%s/mon_data/mon_L3_%02d/%s", group, d,
                     names[i]);
            fake_put(n, file, "0\n");
        }
}

static inline int fake_resctrl_make(void *arg, const char *path)
{
    struct fake_resctrl *n = arg;

    if (n->made == n->most) {
        errno = ENOSPC;
        return -1;
    }
    n->made++;
    if (mkdir(path, 0700) < 0)
        return -1;
    fake_resctrl_files(n, path + strlen(n->is.tree->root) + 1);
    return 0;
}

static inline int fake_resctrl_remove(void *arg, const char *path)
{
    struct fake_resctrl *n = arg;

    n->made--;
    return nftw(path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the node ------------------------------------------------------------ */

/* A node that monitors; this process has the start time 777. */
static inline struct fake_resctrl *fake_resctrl_new(void)
{
    static const int nodes[] = {0, 0, 1, 1, 2, 2, 2, 2};
    struct fake_resctrl *n = calloc(1, sizeof(*n));
    struct machine *machine = machine_new(8, 3, 2);
    char file[96];

    memcpy(machine->llc_domain, nodes, sizeof(nodes));
    fake_node_init(&n->is, machine, 1);
    n->most = 8;
    snprintf(n->procfs, sizeof(n->procfs), "%s/proc", n->is.tree->root);
    n->is.setup.procfs = n->procfs;
    n->source = (struct resctrl_source){fake_resctrl_make, fake_resctrl_remove,
                                        n};
    snprintf(file, sizeof(file), "proc/%d/stat", (int)getpid());
    fake_put(n, file, "1 (a) b) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 "
                      "21 777 23\n");
    for (int c = 0; c < 8; c++)
        fake_node_cpu(&n->is, c, "cache/index3/id", c < 4 ? "0\n" : "4\n");
    fake_put(n, ROOT "info/L3_MON/mon_features",
             "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n");
    fake_put(n, ROOT "info/L3_MON/num_rmids", "8\n");
    fake_put(n, ROOT "mon_groups/.keep", "");
    fake_put(n, ROOT "cpus_list", "0-7\n");
    fake_put(n, ROOT "mon_data/mon_L3_00/mbm_total_bytes", "0\n");
    fake_put(n, ROOT "mon_data/mon_L3_04/mbm_total_bytes", "0\n");
    return n;
}

/* Free N, whose backend is closed. */
static inline void fake_resctrl_free(struct fake_resctrl *n)
{
    sample_free(n->is.sample);
    machine_free(n->is.machine);
    tree_free(n->is.tree);
    free(n);
}

#endif /* COSCHED_FAKE_RESCTRL_H */
