/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Fuzz target: report pages that change while they are read.
 *
 * The input is a list of changes, each for one word of the page: how many words
 * the agent copies before it, where, and what.  The agent's pread() is ours
 * here, so that each change comes exactly there. */

#include "tests/fuzz/fuzz.h"

#include "protocol/layout.h"

static struct fuzz_bytes changes;
static unsigned until_next; /* words */
static uint32_t page[sizeof(struct cosched_report) / 4];

/* One change, of 8 bytes: words before it, place, value. */
static void change(void)
{
    uint8_t how[2];
    uint32_t value;
    uint16_t place;

    fuzz_take(&changes, how, sizeof(how));
    fuzz_take(&changes, &place, sizeof(place));
    fuzz_take(&changes, &value, sizeof(value));
    until_next = how[0];
    /* Mostly the header and the first regions: that is where decisions are. */
    page[place / 4 % (how[1] % 4 ? 64 : sizeof(page) / 4)] = value;
}

static ssize_t copy_in_steps(void *to, size_t size, off_t offset)
{
    for (size_t word = 0; word < size / 4; word++) {
        while (changes.size && !until_next)
            change();
        until_next -= until_next > 0;
        memcpy((char *)to + 4 * word, &page[(size_t)offset / 4 + word], 4);
    }
    return (ssize_t)size;
}

#define pread(fd, to, size, offset)                                            \
    ((void)(fd), copy_in_steps(to, size, offset))
#include "node_agent/core/report.c"
#undef pread

#include "node_agent/core/job.h"
#include "node_agent/core/process.h"

static struct report_view views[2];

static void check_view(const struct report_view *v)
{
    REQUIRE(v->mode <= COSCHED_MODE_KTHREAD && v->used <= COSCHED_MAX_REGIONS);
    REQUIRE(v->region == COSCHED_REGION_SERIAL || v->region < v->used);
    REQUIRE(v->ready || (!v->used && v->region == COSCHED_REGION_SERIAL));
}

/* All that the agent asks of what it has read. */
static void ask(struct process *p, uint64_t now_ns)
{
    double work[COUNTERS_UNITS] = {0}, idle_ns = 0;
    struct record_totals totals = {0};
    const struct cosched_region *region = process_long_region(p, now_ns,
                                                              100000000);

    REQUIRE(!region || (region >= p->view->regions &&
                        region < p->view->regions + p->view->used));
    process_add_work(p, true, 0, 0, work, &idle_ns);
    process_add_work(p, false, 1, 2, work, &idle_ns);
    for (int i = 0; i < COUNTERS_UNITS; i++)
        REQUIRE(work[i] >= 0);
    process_add_totals(p, &totals);
    REQUIRE(totals.steps >= 0 && totals.barriers >= 0 && totals.preempted >= 0);
    process_got_on(p);
    process_serial_ns(p, now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report report = {.fd = -1};
    struct process p = {
        .pid = 1, .report = &report, .view = &views[0], .previous = &views[1]};
    const struct cosched_report fresh = {.magic = COSCHED_REPORT_MAGIC,
                                         .version = COSCHED_LAYOUT_VERSION,
                                         .size = sizeof(fresh),
                                         .region = COSCHED_REGION_SERIAL};
    struct errtext err = {""};

    changes = (struct fuzz_bytes){data, size};
    until_next = 0;
    memset(views, 0, sizeof(views));
    views[0].region = views[1].region = COSCHED_REGION_SERIAL;
    memcpy(page, &fresh, sizeof(page));
    for (uint64_t now = 1000000000; changes.size && now < 40000000000;
         now += 1000000000) {
        if (process_observe(&p, now, &err) < 0) {
            REQUIRE(errno == EPROTO && p.bad);
            fuzz_refused(&err);
        } else {
            check_view(p.view);
        }
        ask(&p, now);
    }
    return 0;
}
