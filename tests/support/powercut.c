/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Cuts the power of a directory at each call that changes or syncs it. */

#include "tests/support/powercut.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 64
#define NAMES_MAX 16

ssize_t __real_write(int fd, const void *data, size_t size);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);

struct text {
    char *at;
    size_t size;
};

struct file {
    struct stat st;
    int fd; /* keeps its number from being used again */
    struct text synced;
    bool lost; /* what is not synced will never be */
};

struct names {
    size_t count;
    struct {
        char name[64];
        struct file *file;
    } name[NAMES_MAX];
};

enum data { AS_SYNCED, AS_IT_IS, HALF, ZEROS, DATA_KINDS };

static struct {
    char directory[PATH_MAX];
    struct stat st; /* of it */
    powercut_look *look;
    void *arg;
    bool on, each;
    unsigned calls, failing;
    int error;
    struct file files[FILES_MAX];
    size_t count;
    struct names synced;
} disk;

static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

/* ---- what there is ------------------------------------------------------------- */

static struct file *file_of(const struct stat *st)
{
    for (size_t i = 0; i < disk.count; i++)
        if (disk.files[i].st.st_ino == st->st_ino && disk.files[i].st.st_dev == st->st_dev)
            return &disk.files[i];
    return NULL;
}

static struct file *file_at(int directory, const char *name)
{
    struct stat st;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);

    must(fd >= 0 && fstat(fd, &st) == 0, name);
    struct file *f = file_of(&st);
    if (f) {
        close(fd);
        return f;
    }
    must(disk.count < FILES_MAX, "too many files");
    f = &disk.files[disk.count++];
    *f = (struct file){.st = st, .fd = fd};
    return f;
}

static void names_as_they_are(struct names *names)
{
    DIR *dir = opendir(disk.directory);
    const struct dirent *entry;

    must(dir != NULL, disk.directory);
    names->count = 0;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        must(names->count < NAMES_MAX, "too many names");
        snprintf(names->name[names->count].name, sizeof(names->name[0].name), "%.63s",
                 entry->d_name);
        names->name[names->count++].file = file_at(dirfd(dir), entry->d_name);
    }
    closedir(dir);
}

static struct text text_as_it_is(const struct file *f)
{
    struct stat st;
    struct text text;

    must(fstat(f->fd, &st) == 0, "fstat");
    text.at = malloc((size_t)st.st_size + 1);
    must(text.at != NULL, "malloc");
    ssize_t got = pread(f->fd, text.at, (size_t)st.st_size, 0);
    must(got == st.st_size, "pread");
    text.size = (size_t)got;
    return text;
}

/* ---- what may be left ------------------------------------------------------------ */

static void put(const char *path, const char *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    must(fd >= 0 && __real_write(fd, data, size) == (ssize_t)size, path);
    close(fd);
}

static void make_file(const char *path, const struct file *f, enum data data)
{
    struct text now = text_as_it_is(f);
    size_t old = f->synced.size < now.size ? f->synced.size : now.size;
    size_t size = data == AS_SYNCED ? old : data == HALF ? old + (now.size - old) / 2 : now.size;

    if (f->synced.size)
        memcpy(now.at, f->synced.at, old);
    if (data == ZEROS)
        memset(now.at + old, 0, now.size - old);
    put(path, now.at, size);
    free(now.at);
}

static bool is_synced(const struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        struct text now = text_as_it_is(names->name[i].file);
        free(now.at);
        if (now.size != names->name[i].file->synced.size)
            return false;
    }
    return true;
}

static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    must(dir != NULL, folder);
    while ((entry = readdir(dir)))
        unlinkat(dirfd(dir), entry->d_name, 0); /* but . and .. */
    closedir(dir);
    must(rmdir(folder) == 0, folder);
}

static void look_at(const struct names *names, enum data data)
{
    char folder[] = "/tmp/cosched-test.XXXXXX", path[PATH_MAX];

    must(mkdtemp(folder) != NULL, "mkdtemp");
    for (size_t i = 0; i < names->count; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names->name[i].name);
        make_file(path, names->name[i].file, data);
    }
    disk.look(folder, disk.arg);
    remove_folder(folder);
}

static bool same_names(const struct names *a, const struct names *b)
{
    size_t same = 0;

    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            same += a->name[i].file == b->name[k].file &&
                    strcmp(a->name[i].name, b->name[k].name) == 0;
    return same == a->count && same == b->count;
}

void powercut_now(void)
{
    struct names now;

    disk.on = false;
    names_as_they_are(&now);
    for (int data = AS_SYNCED; data < (is_synced(&now) ? AS_IT_IS : DATA_KINDS); data++)
        look_at(&now, data);
    if (!same_names(&now, &disk.synced))
        for (int data = AS_SYNCED; data < (is_synced(&disk.synced) ? AS_IT_IS : DATA_KINDS);
             data++)
            look_at(&disk.synced, data);
    disk.on = true;
}

/* ---- the calls ---------------------------------------------------------------------- */

/* A call is about to be made.  True: it fails. */
static bool call(void)
{
    if (!disk.on)
        return false;
    disk.calls++;
    if (disk.each)
        powercut_now();
    return disk.calls == disk.failing;
}

static int fail(void)
{
    errno = disk.error;
    return -1;
}

static void was_synced(struct file *f)
{
    if (f->lost)
        return;
    free(f->synced.at);
    f->synced = text_as_it_is(f);
}

/* FD was synced, or should have been. */
static int sync_file(int fd, bool fails)
{
    struct stat st;
    bool known = disk.on && fstat(fd, &st) == 0;
    struct file *f = known ? file_of(&st) : NULL;

    if (known && S_ISREG(st.st_mode) && !f) {
        struct names now; /* a new file */
        names_as_they_are(&now);
        f = file_of(&st);
    }
    if (f && fails)
        f->lost = true;
    else if (f)
        was_synced(f);
    else if (known && st.st_ino == disk.st.st_ino && !fails)
        names_as_they_are(&disk.synced);
    return fails ? fail() : 0;
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    if (!call())
        return __real_write(fd, data, size);
    __real_write(fd, data, size / 2);
    return fail();
}

/* Nothing needs to come to the real disk. */
int __wrap_fsync(int fd)
{
    return sync_file(fd, call());
}

int __wrap_fdatasync(int fd)
{
    return sync_file(fd, call());
}

int __wrap_rename(const char *from, const char *to)
{
    return call() ? fail() : __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
    return call() ? fail() : __real_unlink(path);
}

void powercut_begin(const char *directory, powercut_look *look, void *arg, int each,
                    unsigned failing, int error)
{
    snprintf(disk.directory, sizeof(disk.directory), "%s", directory);
    must(stat(directory, &disk.st) == 0, directory);
    disk.look = look;
    disk.arg = arg;
    disk.each = each;
    disk.calls = 0;
    disk.failing = failing;
    disk.error = error;
    names_as_they_are(&disk.synced);
    for (size_t i = 0; i < disk.count; i++)
        was_synced(&disk.files[i]);
    disk.on = true;
}

unsigned powercut_end(void)
{
    disk.on = false;
    for (size_t i = 0; i < disk.count; i++) {
        close(disk.files[i].fd);
        free(disk.files[i].synced.at);
    }
    disk.count = 0;
    return disk.calls;
}
