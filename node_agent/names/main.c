/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedd-names: answers one question of the agent's, what regions are called. */

/* Concept
 *
 * Standard input has a line "PID UID REGION...", standard output then has a line "REGION NAME" for
 * each region that has a name.  What reads the user's files is a child that has become UID
 * (region_names.h); this program needs the right to do that, and no other.  It looks at nothing
 * of root's.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/names/region_names.h"

#define LINE_BYTES 512
#define ASKED_MOST 8

int main(void)
{
    char line[LINE_BYTES], *rest = NULL;
    const char *region[ASKED_MOST], *word;
    size_t count = 0;

    alarm(2 * NAMES_MS / 1000); /* whoever asks may say nothing */
    if (!fgets(line, sizeof(line), stdin) || !strchr(line, '\n'))
        return 1;
    const char *pid = strtok_r(line, " \n", &rest), *uid = strtok_r(NULL, " \n", &rest);
    while (count < ASKED_MOST && (word = strtok_r(NULL, " \n", &rest)))
        region[count++] = word;
    long who = uid ? atol(uid) : 0;
    struct region_names *names = who > 0 ? region_names_new() : NULL;
    if (!names)
        return 1;
    region_names_look(names, atoi(pid), (uid_t)who, region, count);
    for (size_t i = 0; i < count; i++) {
        const char *name = region_names_get(names, region[i]);
        if (name != region[i])
            printf("%s %s\n", region[i], name);
    }
    region_names_free(names);
    return fflush(stdout) ? 1 : 0;
}
