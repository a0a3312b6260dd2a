/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which partitions a node is in; needs libslurm (coschedd-slurm only). */

#include "node_agent/helpers/slurm_partitions.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* True when NODES ("n[1-4,7]") has NODE. */
static bool has_node(const char *nodes, const char *node)
{
    /* A pointer by name up to Slurm 23.02, by type since. */
    __auto_type list = slurm_hostlist_create(nodes ? nodes : "");

    if (!list)
        return false;
    bool found = slurm_hostlist_find(list, node) >= 0;
    slurm_hostlist_destroy(list);
    return found;
}

int slurm_partitions_load(struct slurm_partitions *p, const char *node)
{
    partition_info_msg_t *message = NULL;
    char *text[2] = {NULL, NULL};
    size_t size[2];

    /* As with the configuration, times are in seconds: what is new is seen for
     * certain only because the same second is asked for again. */
    if (slurm_load_partitions(p->last_update, &message, SHOW_ALL) != 0)
        return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : -1;
    FILE *mine = open_memstream(&text[0], &size[0]);
    FILE *others = open_memstream(&text[1], &size[1]);
    for (uint32_t i = 0; mine && others && i < message->record_count; i++) {
        const partition_info_t *part = &message->partition_array[i];
        if (!part->name)
            continue;
        FILE *out = has_node(part->nodes, node) ? mine : others;
        fprintf(out, "%s%s", ftell(out) ? "," : "", part->name);
    }
    bool good = mine && others;
    good &= mine && fclose(mine) == 0;
    good &= others && fclose(others) == 0;
    if (good) {
        slurm_partitions_clear(p);
        p->mine = text[0];
        p->others = text[1];
        p->last_update = message->last_update;
    } else {
        free(text[0]);
        free(text[1]);
        errno = ENOMEM;
    }
    slurm_free_partition_info_msg(message);
    return good ? 0 : -1;
}

void slurm_partitions_clear(struct slurm_partitions *p)
{
    free(p->mine);
    free(p->others);
    p->mine = p->others = NULL;
    p->last_update = 0;
}
