/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Final records that the helper has not taken over so far. */

#include "node_agent/daemon/pending.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_run(const struct pending *p, uint32_t job, uint64_t end_s)
{
    return p->job == job && (!end_s || p->end_s == end_s);
}

/* Take out what *LINK points to, whose predecessor is BEFORE. */
static void unlink_one(struct pending_list *list, struct pending **link,
                       struct pending *before)
{
    struct pending *gone = *link;

    *link = gone->next;
    if (list->last == gone)
        list->last = before;
    list->count--;
    free(gone);
}

struct pending *pending_add(struct pending_list *list, uint32_t job, uint64_t end_s,
                            const char *text, uint32_t *dropped)
{
    struct pending *p = calloc(1, sizeof(*p));

    if (dropped)
        *dropped = 0;
    if (!p)
        return NULL;
    pending_remove(list, job, end_s);
    if (list->count >= PENDING_LIMIT) {
        if (dropped)
            *dropped = list->first->job;
        unlink_one(list, &list->first, NULL);
    }
    p->job = job;
    p->end_s = end_s;
    snprintf(p->text, sizeof(p->text), "%s", text);
    *(list->last ? &list->last->next : &list->first) = p;
    list->last = p;
    list->count++;
    return p;
}

bool pending_remove(struct pending_list *list, uint32_t job, uint64_t end_s)
{
    struct pending *before = NULL;
    size_t count = list->count;

    for (struct pending **p = &list->first; *p;) {
        if (is_run(*p, job, end_s)) {
            unlink_one(list, p, before);
        } else {
            before = *p;
            p = &before->next;
        }
    }
    return list->count < count;
}

void pending_clear(struct pending_list *list)
{
    while (list->first)
        unlink_one(list, &list->first, NULL);
}
