/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Lists of the environment that lead to the cooperative libgomp. */

#include "protocol/job_library.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *const job_library_variables[] = {
    "LD_AUDIT", "LD_LIBRARY_PATH", "VALGRIND_OPTS", "GLIBC_TUNABLES", NULL};

const char *const job_library_files[] = {"libgomp.so.1", "coschedule-audit.so",
                                         NULL};

/* How our entry stands in the list. */
static const struct {
    const char *name;
    char separator;
    bool file;  /* of the library's directory */
    bool first; /* before the user's own entries, which it is to precede */
} entries[] = {
    {"coschedule-audit.so", ':', true, false},
    {"before-2.35", ':', true, true},
    /* What the loader allocates where there are audit libraries, glibc cannot
     * free; it tries to for valgrind only. */
    {"--run-libc-freeres=no", ' ', false, true},
    /* The reserve for libraries that are opened later, 512 bytes, and as much
     * as those of the start may take from it where there are audit libraries.
     */
    {"glibc.rtld.optional_static_tls=2048", ':', false, true},
};

/* Where ENTRY is in LIST, NULL if it is not. */
static const char *find(const char *list, const char *entry, char separator)
{
    const char separators[] = {separator, '\0'};

    while (*list) {
        size_t end = strcspn(list, separators);
        if (end == strlen(entry) && strncmp(list, entry, end) == 0)
            return list;
        list += end + (list[end] != '\0');
    }
    return NULL;
}

int job_library_value(size_t i, const char *directory, const char *old,
                      bool add, char *result, size_t size)
{
    const char *list = old ? old : "";
    char entry[PATH_MAX], between[2] = {entries[i].separator, '\0'};
    size_t used;

    used = (size_t)snprintf(entry, sizeof(entry), "%s%s%s",
                            entries[i].file ? directory : "",
                            entries[i].file ? "/" : "", entries[i].name);
    if (used >= sizeof(entry)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const char *here = find(list, entry, entries[i].separator);
    if (add == (here != NULL))
        return 1;
    if (!*list)
        between[0] = '\0';
    if (add) {
        bool first = entries[i].first;
        used = (size_t)snprintf(result, size, "%s%s%s", first ? entry : list,
                                between, first ? list : entry);
    } else {
        const char *rest = here + strlen(entry);
        int before = (int)(here - list);
        if (*rest)
            rest++;
        else if (before)
            before--; /* the separator before the last */
        used = (size_t)snprintf(result, size, "%.*s%s", before, list, rest);
    }
    if (used < size)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}
