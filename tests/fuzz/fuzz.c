/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What fuzz targets share. */

#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>

/* Below the directory FD, which is closed; links are not followed. */
static void empty(int fd)
{
    DIR *directory = fdopendir(fd);
    struct dirent *entry;

    while (directory && (entry = readdir(directory))) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (unlinkat(fd, name, 0) == 0)
            continue;
        int below = openat(fd, name,
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0)
            empty(below);
        unlinkat(fd, name, AT_REMOVEDIR);
    }
    if (directory)
        closedir(directory);
}

void fuzz_empty(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0)
        empty(fd);
}
