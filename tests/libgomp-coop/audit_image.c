/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The audit library's reader of shared objects, with files damaged everywhere.
 *
 * usage: audit_image LIBRARY SCRATCH-FILE */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libgomp-coop/audit/image.h"

#define HURT   24
#define TABLES 45056 /* what the reader looks at lies in the first bytes */

static bool same(const void *data, const char *version)
{
    return strcmp(data, version) == 0;
}

/* Ask all there is to ask of the file at PATH. */
static int ask(const char *path)
{
    struct image image;

    if (image_open(&image, path))
        return 0;
    int answers = image_defines(&image, "OMP_1.0") +
                  image_exports(&image, "GOMP_parallel", "GOMP_4.0") +
                  image_exports(&image, "omp_get_thread_num", NULL) +
                  (image_wants(&image, NULL, same, "GLIBC_2.17") != NULL) +
                  (image_lacks(&image, "libc.so.6", &image) != NULL) +
                  image_depends(&image, "libc.so.6");
    image_close(&image);
    return answers;
}

int main(int count, char **arguments)
{
    static char data[1 << 23];
    char hurt[HURT];
    FILE *file = count == 3 ? fopen(arguments[1], "rb") : NULL;

    if (!file)
        return 2;
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    if (ask(arguments[1]) != 6)
        return puts("a good file is not understood"), 1;
    int fd = open(arguments[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 2;
    for (off_t i = 0; i < TABLES && i + HURT < (off_t)size; i += 53)
        for (int byte = 0; byte < 256; byte += 127) {
            memset(hurt, byte, HURT);
            if (pwrite(fd, hurt, HURT, i) != HURT)
                return 2;
            ask(arguments[2]);
            if (pwrite(fd, data + i, HURT, i) != HURT)
                return 2;
        }
    return 0;
}
