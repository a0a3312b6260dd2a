/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the agent has done to processes and cgroups, and somebody has to undo
 * should it die. */

#include "node_agent/enforce/ledger.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "cosched ledger 1"

/* The file grows by so many entries. */
#define STEP 256

/* In the place of entry 0. */
struct head {
    char magic[sizeof(MAGIC)];
    char boot[40];
    uint64_t seen;
};

_Static_assert(sizeof(struct head) <= sizeof(struct ledger_entry),
               "a head is an entry");

struct ledger {
    int fd;
    struct ledger_entry
        *entry;  /* mapped; what is beyond the file's end must not be touched */
    size_t room; /* in the file, the head included */
    size_t *number; /* [room] of the entry that is there, or of the next one */
    uint32_t *free; /* places [free_count], the next one last */
    size_t free_count;
    size_t tidied; /* the entry where the last round ended */
    struct errtext problem;
};

/* ---- the file ------------------------------------------------------------ */

/* Which boot of the machine this is. */
static void read_boot(char boot[40])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, boot, 39);

    boot[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Wait until nobody else has locked FD. */
static bool lock(int fd, unsigned wait_ms)
{
    const struct timespec pause = {.tv_nsec = 2000000};

    for (unsigned waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += 2) {
        if (waited >= wait_ms)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* A descriptor of the regular file PATH, locked.  -1 with errno. */
static int open_locked(const char *path, unsigned wait_ms)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    struct stat status;
    int fd = open(path, flags, 0600);

    if (fd >= 0 && !lock(fd, wait_ms)) {
        /* Left to whoever hangs with it. */
        close(fd);
        fd = unlink(path) < 0 ? -1 : open(path, flags, 0600);
        if (fd >= 0 && !lock(fd, 0)) {
            close(fd);
            errno = EWOULDBLOCK;
            return -1;
        }
    }
    if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

static size_t length_of(int fd)
{
    struct stat status;

    return fstat(fd, &status) < 0
               ? 0
               : (size_t)status.st_size / sizeof(struct ledger_entry);
}

static bool is_current(const struct ledger *l)
{
    const struct head *head = (const struct head *)l->entry;
    char boot[sizeof(head->boot)];

    read_boot(boot);
    return l->room && !memcmp(head->magic, MAGIC, sizeof(MAGIC)) &&
           !memcmp(head->boot, boot, strlen(boot) + 1);
}

/* ---- entries ------------------------------------------------------------- */

static bool grow(struct ledger *l)
{
    size_t room = l->room + STEP < LEDGER_MOST ? l->room + STEP : LEDGER_MOST;
    size_t begin = l->room ? l->room : 1; /* the head is no entry */

    if (room == l->room) {
        errno = ENOSPC;
        return false;
    }
    uint32_t *bigger = realloc(l->free, room * sizeof(*bigger));
    if (!bigger)
        return false;
    l->free = bigger;
    size_t *number = realloc(l->number, room * sizeof(*number));
    if (!number)
        return false;
    l->number = number;
    /* Memory that is not there would end the agent later (SIGBUS). */
    int rc = posix_fallocate(l->fd, 0, (off_t)(room * sizeof(*l->entry)));
    if (rc) {
        errno = rc;
        return false;
    }
    for (size_t i = room; i-- > begin;) {
        l->free[l->free_count++] = (uint32_t)i;
        l->number[i] = i;
    }
    l->room = room;
    return true;
}

size_t ledger_add(struct ledger *l, const struct ledger_entry *entry)
{
    if (!l->free_count && !grow(l))
        return 0;
    size_t place = l->free[--l->free_count];
    struct ledger_entry *e = &l->entry[place];

    *e = *entry;
    e->what = LEDGER_NOTHING;
    /* A reader sees all of it or nothing, whenever this process is killed. */
    __atomic_store_n(&e->what, entry->what, __ATOMIC_RELEASE);
    return l->number[place];
}

void ledger_clear(struct ledger *l, size_t *number)
{
    size_t place = *number % LEDGER_MOST;

    if (*number && l->number[place] == *number) {
        __atomic_store_n(&l->entry[place].what, LEDGER_NOTHING,
                         __ATOMIC_RELEASE);
        l->number[place] += LEDGER_MOST;
        l->free[l->free_count++] = (uint32_t)place;
    }
    *number = 0;
}

/* So many there are, whoever made them. */
static size_t room_of(const struct ledger *l)
{
    size_t room = length_of(l->fd);

    return room < LEDGER_MOST ? room : LEDGER_MOST;
}

static bool is_kind(const struct ledger_entry *e, uint32_t what)
{
    return __atomic_load_n(&e->what, __ATOMIC_ACQUIRE) == what;
}

void ledger_each(const struct ledger *l, enum ledger_what what,
                 void (*work)(const struct ledger_entry *entry, void *arg), void *arg)
{
    size_t room = room_of(l);

    for (size_t i = 1; i < room; i++)
        if (is_kind(&l->entry[i], what))
            work(&l->entry[i], arg);
}

void ledger_see(struct ledger *l, uint64_t ticks)
{
    struct head *head = (struct head *)l->entry;

    __atomic_store_n(&head->seen, ticks, __ATOMIC_RELEASE);
}

uint64_t ledger_seen(const struct ledger *l)
{
    const struct head *head = (const struct head *)l->entry;

    return room_of(l) ? __atomic_load_n(&head->seen, __ATOMIC_ACQUIRE) : 0;
}

size_t ledger_undo(struct ledger *l,
                   void (*undo)(const struct ledger_entry *entry))
{
    size_t room = room_of(l), count = 0;

    for (uint32_t what = LEDGER_NARROWED; what <= LEDGER_STOPPED; what++)
        for (size_t i = 1; i < room; i++) {
            struct ledger_entry *e = &l->entry[i];
            if (!is_kind(e, what))
                continue;
            if (what == LEDGER_NARROWED || what == LEDGER_FROZEN)
                e->path[LEDGER_PATH_MAX - 1] = '\0';
            undo(e);
            __atomic_store_n(&e->what, LEDGER_NOTHING, __ATOMIC_RELEASE);
            count++;
        }
    return count;
}

void ledger_tidy(struct ledger *l, size_t count,
                 bool (*gone)(const struct ledger_entry *entry))
{
    for (; count && l->free_count + 1 < l->room; count--) {
        size_t place = l->tidied = l->tidied + 1 < l->room ? l->tidied + 1 : 1;
        size_t number = l->number[place];
        if (l->entry[place].what && gone(&l->entry[place]))
            ledger_clear(l, &number);
    }
}

size_t ledger_count(const struct ledger *l)
{
    return l->room ? l->room - 1 - l->free_count : 0;
}

/* ---- making ----------------------------------------------------------------
 */

/* Map FD; what an earlier agent has left there is undone. */
static int take(struct ledger *l, int fd, size_t (*undo)(struct ledger *ledger), size_t *count)
{
    size_t size = LEDGER_MOST * sizeof(*l->entry);
    struct head *head;

    if (fd < 0)
        return -1;
    l->fd = fd;
    l->entry = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (l->entry == MAP_FAILED)
        return -1;
    l->room = length_of(fd);
    if (undo && is_current(l))
        *count = undo(l);
    l->room = 0;
    if (ftruncate(fd, 0) < 0 || !grow(l)) {
        int saved = errno;
        munmap(l->entry, size);
        errno = saved;
        return -1;
    }
    head = (struct head *)l->entry;
    memcpy(head->magic, MAGIC, sizeof(MAGIC));
    read_boot(head->boot);
    return 0;
}

struct ledger *ledger_new(const char *path, unsigned wait_ms, size_t (*undo)(struct ledger *ledger),
                          size_t *count, struct errtext *err)
{
    struct ledger *l = calloc(1, sizeof(*l));

    *count = 0;
    if (!l) {
        errtext_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    if (path) {
        int fd = open_locked(path, wait_ms);
        if (take(l, fd, undo, count) == 0)
            return l;
        errtext_set(&l->problem, errno, "%.150s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    int fd = memfd_create("cosched-ledger", MFD_CLOEXEC);
    if (take(l, fd, NULL, count) == 0)
        return l;
    int saved = errno;
    if (fd >= 0)
        close(fd);
    free(l->number);
    free(l->free);
    free(l);
    errtext_set(err, saved, "ledger: %s", strerror(saved));
    return NULL;
}

const char *ledger_problem(const struct ledger *l)
{
    return l->problem.text;
}

int ledger_lock(const struct ledger *l)
{
    return l->fd;
}

void ledger_free(struct ledger *l)
{
    if (!l)
        return;
    munmap(l->entry, LEDGER_MOST * sizeof(*l->entry));
    close(l->fd);
    free(l->number);
    free(l->free);
    free(l);
}
