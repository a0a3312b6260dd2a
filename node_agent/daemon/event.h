/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* libsystemd's event loop, also that of systemd 239. */

#ifndef COSCHED_EVENT_H
#define COSCHED_EVENT_H

#include <systemd/sd-event.h>

#include "config.h"

/* The events that users cause, among all others of the loop. */
#define EVENT_USERS_PRIORITY (SD_EVENT_PRIORITY_NORMAL + 10)

/* What came with 243 and 247 (EL 8 has 239), by what was there before. */
#if !defined(HAVE_SD_EVENT_ADD_TIME_RELATIVE)

#include <errno.h>
#include <stdint.h>

static inline sd_event_source *event_source_disable_unref(sd_event_source *source)
{
    if (source)
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    return sd_event_source_unref(source);
}
#define sd_event_source_disable_unref event_source_disable_unref

/* *TIME, in microseconds from now, as the loop's CLOCK has it. */
static inline int event_time_from_now(sd_event *event, clockid_t clock, uint64_t *time)
{
    uint64_t now;
    int rc = sd_event_now(event, clock, &now);

    if (rc < 0)
        return rc;
    if (*time > UINT64_MAX - now)
        return -EOVERFLOW;
    *time += now;
    return 0;
}

static inline int event_add_time_relative(sd_event *event, sd_event_source **source,
                                          clockid_t clock, uint64_t time, uint64_t accuracy,
                                          sd_event_time_handler_t handler, void *arg)
{
    int rc = event_time_from_now(event, clock, &time);

    return rc < 0 ? rc : sd_event_add_time(event, source, clock, time, accuracy, handler, arg);
}
#define sd_event_add_time_relative event_add_time_relative

static inline int event_source_set_time_relative(sd_event_source *source, uint64_t time)
{
    clockid_t clock;
    int rc = sd_event_source_get_time_clock(source, &clock);

    if (rc >= 0)
        rc = event_time_from_now(sd_event_source_get_event(source), clock, &time);
    return rc < 0 ? rc : sd_event_source_set_time(source, time);
}
#define sd_event_source_set_time_relative event_source_set_time_relative

#endif

#endif /* COSCHED_EVENT_H */
