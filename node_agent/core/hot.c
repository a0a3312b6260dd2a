/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The regions of a job in which it spends most of its time, as its record names them. */

#include "node_agent/core/hot.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(RECORD_HOT_MAX > HOT_MOST * (HOT_NAME_MAX + sizeof("*0.62,")),
               "a record has room for the longest names");
_Static_assert(HOT_NAME_MAX >= REGION_NAME_MAX, "build id and offset are names, too");

size_t hot_regions(const struct region_list *list, struct region *hot[HOT_MOST])
{
    size_t count = 0;

    for (struct region *s = list->first; s; s = s->next) {
        size_t at = count;
        if (!s->run_ns || (count == HOT_MOST && hot[--at]->run_ns >= s->run_ns))
            continue;
        for (; at && hot[at - 1]->run_ns < s->run_ns; at--)
            hot[at] = hot[at - 1];
        hot[at] = s;
        if (count < HOT_MOST)
            count++;
    }
    return count;
}

void hot_name(struct region *s, const char *label)
{
    char name[HOT_NAME_MAX];
    size_t n = 0;

    s->asked = true;
    for (const char *p = label; *p && n < sizeof(name) - 1; p++)
        if (p[0] == ',' && p[1] == ' ') {
            name[n++] = '@';
            p++;
        } else {
            name[n++] = (char)(isalnum((unsigned char)*p) || strchr("._+-:~", *p) ? *p : '_');
        }
    name[n] = '\0';
    if (n && !s->label)
        s->label = strdup(name);
}

void hot_note(struct record *r, const struct region_list *list)
{
    struct region *hot[HOT_MOST];
    size_t count = hot_regions(list, hot), used = 0;
    double all = (double)region_list_run_ns(list);
    char id[REGION_NAME_MAX];

    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(r->hot + used, sizeof(r->hot) - used, "%s%s*%.2g", i ? "," : "",
                                 hot[i]->label ? hot[i]->label : region_name(hot[i], id),
                                 (double)hot[i]->run_ns / all);
}
