/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Whether the files of Slurm's configuration on this host have changed. */

#include "node_agent/helpers/conf_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hash.h"

/* Where packages of Slurm have slurm.conf, and where slurmd keeps its copy of slurmctld's. */
static const char *const directories[] = {
    "/etc/slurm", "/etc/slurm-llnl", COSCHED_SLURM_SYSCONFDIR, "/run/slurm/conf",
};
#define DIRECTORIES (sizeof(directories) / sizeof(*directories))

static bool is_conf(const char *name)
{
    size_t length = strlen(name);

    return length > 5 && strcmp(name + length - 5, ".conf") == 0;
}

/* The sum over the files of PATH: their order in the directory does not matter. */
static uint64_t signature_of(const char *path)
{
    uint64_t sum = 0;
    struct dirent *entry;
    struct stat st;
    DIR *directory = opendir(path);

    if (!directory)
        return 0;
    while ((entry = readdir(directory)))
        if (is_conf(entry->d_name) && fstatat(dirfd(directory), entry->d_name, &st, 0) == 0) {
            const uint64_t facts[] = {st.st_ino, (uint64_t)st.st_size,
                                      (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec,
                                      (uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec};
            uint64_t h = HASH_START;
            hash_bytes(&h, facts, sizeof(facts));
            sum += h;
        }
    closedir(directory);
    return sum;
}

uint64_t conf_files_signature(void)
{
    const char *path = getenv("SLURM_CONF");
    uint64_t sum = 0;

    if (path && *path == '/') {
        char *folder = strdup(path);
        if (folder) {
            *strrchr(folder, '/') = '\0';
            sum = signature_of(*folder ? folder : "/");
            free(folder);
        }
        return sum;
    }
    for (size_t i = 0; i < DIRECTORIES; i++)
        sum += signature_of(directories[i]);
    return sum;
}
