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
    const struct cosched_report *page;
};

struct report *report_new(struct errtext *err)
{
    struct report *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->page = MAP_FAILED;
    if ((r->fd = memfd_create("cosched-report",
                              MFD_CLOEXEC | MFD_ALLOW_SEALING)) < 0 ||
        ftruncate(r->fd, sizeof(*r->page)) < 0 ||
        /* Allocate now: reading a hole could fail when memory runs out. */
        posix_fallocate(r->fd, 0, sizeof(*r->page)) ||
        (r->page = mmap(NULL, sizeof(*r->page), PROT_READ, MAP_SHARED, r->fd,
                        0)) == MAP_FAILED ||
        fcntl(r->fd, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
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

static uint32_t load32(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint64_t load64(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void copy_region(struct cosched_region *to,
                         const struct cosched_region *from)
{
    to->object_id = load64(&from->object_id);
    to->offset = load64(&from->offset);
    to->entries = load64(&from->entries);
    to->time_ns = load64(&from->time_ns);
    to->barriers = load64(&from->barriers);
    to->iterations = load64(&from->iterations);
    to->ults = load64(&from->ults);
    to->reserved = 0;
}

static int refuse(struct report_view *view, pid_t pid, const char *field,
                  uint32_t value, struct errtext *err)
{
    memset(view, 0, sizeof(*view));
    return errtext_set(err, EPROTO, "report page of process %d: %s is %u",
                       (int)pid, field, value);
}

int report_read(const struct report *r, pid_t pid, struct report_view *view,
                struct errtext *err)
{
    const struct cosched_report *p = r->page;
    uint32_t magic = load32(&p->magic);
    uint32_t value;

    view->ready = false;
    view->used = 0;
    view->region = COSCHED_REGION_SERIAL;
    view->mode = COSCHED_MODE_NONE;
    view->applied_generation = 0;
    if (magic == 0) /* not filled in yet */
        return 0;
    if (magic != COSCHED_REPORT_MAGIC)
        return refuse(view, pid, "magic", magic, err);
    if ((value = load32(&p->version)) != COSCHED_LAYOUT_VERSION)
        return refuse(view, pid, "version", value, err);
    if ((value = load32(&p->size)) != sizeof(*p))
        return refuse(view, pid, "size", value, err);
    if ((view->mode = load32(&p->mode)) > COSCHED_MODE_KTHREAD)
        return refuse(view, pid, "mode", view->mode, err);
    view->region = load32(&p->region); /* before the table it points into */
    if ((view->used = load32(&p->regions_used)) > COSCHED_MAX_REGIONS)
        return refuse(view, pid, "regions_used", view->used, err);
    if (view->region != COSCHED_REGION_SERIAL && view->region >= view->used)
        return refuse(view, pid, "region", view->region, err);
    view->team = load32(&p->team);
    view->workers = load32(&p->workers);
    view->applied_generation = load32(&p->applied_generation);
    view->region_begin_ns = load64(&p->region_begin_ns);
    view->extra_workers = load64(&p->extra_workers);
    view->steals = load64(&p->steals);
    for (uint32_t i = 0; i < view->used; i++)
        copy_region(&view->regions[i], &p->regions[i]);
    view->ready = true;
    return 0;
}

uint32_t report_applied(const struct report *r)
{
    return load32(&r->page->applied_generation);
}

void report_free(struct report *r)
{
    if (!r)
        return;
    int saved = errno;
    if (r->page != MAP_FAILED)
        munmap((void *)r->page, sizeof(*r->page));
    if (r->fd >= 0)
        close(r->fd);
    free(r);
    errno = saved;
}
