/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Reader of a report page (protocol/layout.h), which a job writes. */

#include "node_agent/core/report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct report {
    int fd;
    bool filled; /* its magic number was there once */
};

struct report *report_new(struct errtext *err)
{
    struct report *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    if ((r->fd = memfd_create("cosched-report",
                              MFD_CLOEXEC | MFD_ALLOW_SEALING)) < 0 ||
        ftruncate(r->fd, sizeof(struct cosched_report)) < 0 ||
        /* Now, and not at the expense of the job's first region. */
        posix_fallocate(r->fd, 0, sizeof(struct cosched_report)) ||
        fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) <
            0) {
        errtext_set(err, errno, "report page: %s", strerror(errno));
        report_free(r);
        return NULL;
    }
    return r;
}

int report_fd(const struct report *r)
{
    return r->fd;
}

/* Copy SIZE bytes from OFFSET on; what was read before this call is older than
 * all of them.  Zeros when the kernel cannot. */
static void copy(const struct report *r, size_t offset, void *to, size_t size)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (pread(r->fd, to, size, (off_t)offset) != (ssize_t)size)
        memset(to, 0, size);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static uint32_t copy32(const struct report *r, size_t offset)
{
    uint32_t value;

    copy(r, offset, &value, sizeof(value));
    return value;
}

static int refuse(struct report_view *view, pid_t pid, const char *field,
                  uint32_t value, struct errtext *err)
{
    memset(view, 0, sizeof(*view));
    return errtext_set(err, EPROTO, "report page of process %d: %s is %u",
                       (int)pid, field, value);
}

/* Check HEAD, the page without its table. */
static int check(const struct report *r, const struct cosched_report *head,
                 pid_t pid, struct report_view *view, struct errtext *err)
{
    if (head->magic != COSCHED_REPORT_MAGIC)
        return refuse(view, pid, "magic", head->magic, err);
    if (head->version != COSCHED_LAYOUT_VERSION)
        return refuse(view, pid, "version", head->version, err);
    if (head->size != sizeof(*head))
        return refuse(view, pid, "size", head->size, err);
    if (head->mode > COSCHED_MODE_KTHREAD)
        return refuse(view, pid, "mode", head->mode, err);
    view->used = head->regions_used;
    /* It counts a new region before it points to it, but the two may have been
     * copied the other way round. */
    if (head->region != COSCHED_REGION_SERIAL && head->region >= view->used)
        view->used = copy32(r, offsetof(struct cosched_report, regions_used));
    if (view->used > COSCHED_MAX_REGIONS)
        return refuse(view, pid, "regions_used", view->used, err);
    if (head->region != COSCHED_REGION_SERIAL && head->region >= view->used)
        return refuse(view, pid, "region", head->region, err);
    return 0;
}

int report_read(struct report *r, pid_t pid, struct report_view *view,
                struct errtext *err)
{
    const size_t head_size = offsetof(struct cosched_report, regions);
    struct cosched_report head;

    view->ready = false;
    view->used = 0;
    view->region = COSCHED_REGION_SERIAL;
    view->mode = COSCHED_MODE_NONE;
    view->applied_generation = 0;
    view->interleaved = false;
    /* Of a page that is being filled in, nothing counts before the magic
     * number. */
    if (!r->filled && copy32(r, 0) == 0)
        return 0;
    r->filled = true;
    copy(r, 0, &head, head_size);
    if (head.magic == 0)
        return 0;
    if (check(r, &head, pid, view, err) < 0)
        return -1;
    view->mode = head.mode;
    view->region = head.region;
    view->team = head.team;
    view->workers = head.workers;
    view->applied_generation = head.applied_generation;
    view->region_begin_ns = head.region_begin_ns;
    view->extra_workers = head.extra_workers;
    view->steals = head.steals;
    view->preempted = head.preempted;
    view->interleaved = head.interleaved != 0;
    /* The table after the index into it. */
    copy(r, head_size, view->regions, view->used * sizeof(view->regions[0]));
    view->ready = true;
    return 0;
}

pid_t report_pid(const struct report *r)
{
    return (pid_t)copy32(r, offsetof(struct cosched_report, pid));
}

bool report_glance(const struct report *r, uint32_t *region, uint64_t *begin_ns)
{
    struct cosched_report head;

    if (!r->filled)
        return false;
    copy(r, 0, &head, offsetof(struct cosched_report, applied_generation));
    *region = head.region;
    *begin_ns = head.region_begin_ns;
    return head.magic == COSCHED_REPORT_MAGIC;
}

uint32_t report_applied(const struct report *r)
{
    return copy32(r, offsetof(struct cosched_report, applied_generation));
}

void report_forget(struct report *r)
{
    /* Beyond the end, or the last page would stay. */
    fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              2 * sizeof(struct cosched_report) + 65536);
}

void report_free(struct report *r)
{
    if (!r)
        return;
    int saved = errno;
    if (r->fd >= 0)
        close(r->fd);
    free(r);
    errno = saved;
}
