/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A directory of files of a test's own, such as a fake /sys. */

#ifndef COSCHED_TREE_H
#define COSCHED_TREE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
    char root[64];
};

/* Ends the test program when the directory cannot be made. */
static inline struct tree *tree_new(void)
{
    struct tree *t = calloc(1, sizeof(*t));

    if (t)
        strcpy(t->root, "/tmp/coschedtest.XXXXXX");
    if (!t || !mkdtemp(t->root)) {
        perror("mkdtemp");
        exit(1);
    }
    return t;
}

/* Write TEXT to FILE below the root; directories are made as needed. */
static inline void tree_write(const struct tree *t, const char *file,
                              const char *text)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", t->root, file);
    for (char *p = path + strlen(t->root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static inline int tree_remove_one(const char *path, const struct stat *st,
                                  int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void tree_free(struct tree *t)
{
    nftw(t->root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(t);
}

#endif /* COSCHED_TREE_H */
