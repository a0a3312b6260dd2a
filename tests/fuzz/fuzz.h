/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What fuzz targets share: an oracle that names itself, and ways to hand bytes
 * to readers. */

#ifndef COSCHED_FUZZ_H
#define COSCHED_FUZZ_H

/* Concept
 *
 * A target, fuzz_NAME.c, hands what libFuzzer makes up to one reader in the way
 * in which the reader gets it from others, and holds the reader to what its
 * header says of what it accepts. It runs in one process, and touches files
 * only where the reader takes a path: a memfd by its path, or a directory below
 * $TMPDIR, which the driver (fuzz.py) makes and removes.
 *
 * An input that is several files is one text, a bundle:
 *
 *     == proc/self/mountinfo
 *     24 1 0:22 / cg rw - cgroup2 cgroup2 rw
 *     == cg/cgroup.controllers
 *     cpuset cpu
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errtext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a reader promises. */
#define REQUIRE(condition)                                                     \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,         \
                    #condition);                                               \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* An oracle that looks at much: libFuzzer is not to count its ways. */
#if __has_attribute(no_sanitize)
#define QUIET __attribute__((no_sanitize("coverage")))
#else
#define QUIET
#endif

/* A refusal is complete: errno, and one line that says why. */
static inline void fuzz_refused(const struct errtext *err)
{
    REQUIRE(errno > 0 && err->text[0]);
    for (const char *c = err->text; *c; c++)
        REQUIRE((unsigned char)*c >= ' ');
}

/* A copy with a zero behind it, which the caller frees: what is read beyond
 * shows. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    REQUIRE(text != NULL);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* The next SIZE bytes of an input, zeros behind its end. */
struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
};

static inline void fuzz_take(struct fuzz_bytes *from, void *to, size_t size)
{
    size_t n = size < from->size ? size : from->size;

    memset(to, 0, size);
    if (n)
        memcpy(to, from->data, n);
    from->data += n;
    from->size -= n;
}

static inline uint8_t fuzz_take_byte(struct fuzz_bytes *from)
{
    uint8_t byte;

    fuzz_take(from, &byte, 1);
    return byte;
}

/* ---- files ----------------------------------------------------------------
 */

/* A descriptor of a file with these bytes; the same one each time. */
static inline int fuzz_fd(const uint8_t *data, size_t size)
{
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 &&
            pwrite(fd, data, size, 0) == (ssize_t)size &&
            lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

/* The path of such a file. */
static inline const char *fuzz_path(const uint8_t *data, size_t size)
{
    static char path[40];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fuzz_fd(data, size));
    return path;
}

/* A directory of the target's own. */
static inline const char *fuzz_directory(void)
{
    static char path[200];
    const char *base = getenv("TMPDIR");

    if (!*path) {
        snprintf(path, sizeof(path), "%s/fuzz.XXXXXX", base ? base : "/tmp");
        REQUIRE(mkdtemp(path) != NULL);
    }
    return path;
}

/* Write SIZE bytes to FILE below ROOT, directories made as needed.  Nothing
 * where it would lie elsewhere, or has no good name. */
static inline void fuzz_write(const char *root, const char *file,
                              const char *text, size_t size)
{
    char path[512];

    if (!*file || *file == '/' || strstr(file, "..") || strlen(file) > 200)
        return;
    snprintf(path, sizeof(path), "%s/%s", root, file);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    FILE *f = fopen(path, "we");
    if (f) {
        fwrite(text, 1, size, f);
        fclose(f);
    }
}

/* Do WORK(PATH, CONTENT, SIZE) with each file of the bundle TEXT, which it may
 * change. */
static inline void fuzz_bundle(char *text,
                               void (*work)(const char *, const char *, size_t))
{
    char *next = strncmp(text, "== ", 3) ? NULL : text;

    while (next) {
        char *path = next + 3, *body = strchr(path, '\n');
        if (!body)
            return;
        *body++ = '\0';
        if (strncmp(body, "== ", 3)) {
            next = strstr(body, "\n== ");
            next = next ? next + 1 : NULL;
        } else {
            next = body;
        }
        work(path, body, next ? (size_t)(next - body) : strlen(body));
    }
}

static inline void fuzz_bundle_write(const char *path, const char *text,
                                     size_t size)
{
    fuzz_write(fuzz_directory(), path, text, size);
}

/* Remove what is below the directory at PATH. */
void fuzz_empty(const char *path);

/* The files of the bundle, and nothing else, below the directory that is
 * returned. */
static inline const char *fuzz_files(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    fuzz_empty(fuzz_directory());
    fuzz_bundle(text, fuzz_bundle_write);
    free(text);
    return fuzz_directory();
}

#endif /* COSCHED_FUZZ_H */
