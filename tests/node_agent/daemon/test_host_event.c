/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The scheduler's timers among all other events. */

#include "tests/support/unit.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "node_agent/daemon/host_event.h"

#define ENDS 100

static size_t ends, calls;

static int on_end(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    (void)fd;
    (void)events;
    (void)arg;
    ends++;
    return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static void on_timer(void *arg)
{
    (void)arg;
    calls++;
}

/* Many processes end at once: a timer that is due after that does not wait for them. */
static void test_first(void **state)
{
    struct host_timer *timer = NULL;
    sd_event *event;
    int fd = eventfd(1, EFD_CLOEXEC);

    (void)state;
    assert_true(sd_event_new(&event) >= 0);
    struct host *host = host_event_new(event);
    for (size_t i = 0; i < ENDS; i++) {
        int other = dup(fd);
        assert_true(sd_event_add_io(event, NULL, other, EPOLLIN, on_end, NULL) >= 0);
    }
    assert_true(sd_event_run(event, 0) > 0);
    assert_int_equal(ends, 1);
    assert_int_equal(host_timer_start(host, &timer, 0, on_timer, NULL), 0);
    for (int i = 0; i < 3 && !calls; i++) /* the clock goes on for a microsecond */
        assert_true(sd_event_run(event, 0) > 0);
    assert_int_equal(calls, 1);
    assert_true(ends < 4);
    host_timer_stop(&timer);
    host_event_free(host);
    sd_event_unref(event);
    close(fd);
}

UNIT(test_host_event)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first),
    };

    return cmocka_run_group_tests_name("test_host_event", tests, NULL, NULL);
}
