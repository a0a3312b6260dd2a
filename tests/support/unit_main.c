/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* main() of unit test programs: run the groups named, or all of them. */

#include "tests/support/unit.h"

static struct unit_group *groups; /* by name */

void unit_add(struct unit_group *group)
{
    struct unit_group **at = &groups;

    while (*at && strcmp((*at)->name, group->name) < 0)
        at = &(*at)->next;
    group->next = *at;
    *at = group;
}

static const struct unit_group *find(const char *name)
{
    for (const struct unit_group *g = groups; g; g = g->next)
        if (strcmp(g->name, name) == 0)
            return g;
    return NULL;
}

static int usage(const char *program, const char *name)
{
    fprintf(stderr, "%s: no group \"%s\"; there are:", program, name);
    for (const struct unit_group *g = groups; g; g = g->next)
        fprintf(stderr, " %s", g->name);
    fputc('\n', stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int failed = 0;

    setenv("abs_top_srcdir", UNIT_SOURCE, 0);
    setenv("abs_top_builddir", UNIT_BUILD, 0);
    for (int i = 1; i < argc; i++)
        if (!find(argv[i]))
            return usage(argv[0], argv[i]);
    for (int i = 1; i < argc; i++)
        failed += find(argv[i])->run();
    for (const struct unit_group *g = groups; g && argc < 2; g = g->next)
        failed += g->run();
    return failed != 0;
}
