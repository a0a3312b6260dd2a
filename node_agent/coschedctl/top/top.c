/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: the node while it works. */

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "node_agent/coschedctl/commands.h"
#include "node_agent/coschedctl/ctl.h"
#include "node_agent/coschedctl/named.h"
#include "node_agent/coschedctl/top/screen.h"

#define REFRESH_MS 1000
#define ASK_MS     1000 /* for a user at the keyboard */

/* What is watched. */
struct watch {
    const struct arguments *a;
    uint32_t job; /* 0: all */
    json_t *config;
    struct region_names *names;
    struct top_state *state;
    struct errtext err;
    char message[sizeof(struct errtext) + 64]; /* while the agent is gone */
};

/* Ask for OP; a new reference, or NULL with W's error. */
static json_t *ask(struct watch *w, enum message_op op, uint32_t job)
{
    struct message_request request = {.op = op, .job = job};
    json_t *reply = NULL;

    return ctl_call(w->a->socket, NULL, ASK_MS, &request, &reply, NULL, &w->err) == 0 ? reply
                                                                                     : NULL;
}

/* A new state.  -1 when the agent does not answer, or the job is not there any more. */
static int look(struct watch *w)
{
    json_t *status = ask(w, MESSAGE_STATUS, w->job);
    json_t *explain = status ? ask(w, MESSAGE_EXPLAIN, w->job) : NULL;
    int rc = -1;

    /* Another agent may know more of the node. */
    if (status && !w->config)
        w->config = ask(w, MESSAGE_CONFIG, 0);
    if (status && w->config) {
        ctl_names_of_jobs(w->names, json_object_get(status, "jobs"));
        struct top_state *next = top_state_new(status, explain, w->config, w->names, w->state,
                                               (double)clock_wall_ns() * 1e-9);
        if (next) {
            top_state_free(w->state);
            w->state = next;
            rc = 0;
        }
    }
    json_decref(status);
    json_decref(explain);
    if (rc < 0) {
        json_decref(w->config);
        w->config = NULL;
    }
    return rc;
}

static void refresh_state(struct watch *w, struct top_view *v)
{
    v->message = NULL;
    if (look(w) == 0)
        return;
    snprintf(w->message, sizeof(w->message), "of %s; tried each second: %s", w->state->when,
             w->err.text);
    v->message = w->message;
}

/* What a click there selects. */
static void click(struct top_view *v, const struct top_frame *f, size_t row, size_t column)
{
    if (row < f->rows && column < f->columns && f->cell[row * f->columns + column].job)
        v->selected = f->cell[row * f->columns + column].job;
}

static void run(struct watch *w, struct top_view *v)
{
    uint64_t next_ns = clock_ns() + REFRESH_MS * NS_PER_MS;

    while (!v->quit) {
        size_t rows, columns;
        screen_size(&rows, &columns);
        struct top_frame *f = top_frame_new(w->state, v, rows, columns);
        if (f)
            screen_show(f);
        uint64_t now_ns = clock_ns();
        struct top_event e =
            screen_wait(now_ns < next_ns ? (int)((next_ns - now_ns) / NS_PER_MS) + 1 : 0);
        if (e.gone)
            v->quit = true;
        if (e.clicked && f)
            click(v, f, e.row, e.column);
        if (e.key)
            top_view_key(v, w->state, e.key, f ? f->page : 1);
        top_frame_free(f);
        if (clock_ns() >= next_ns) {
            if (!v->paused)
                refresh_state(w, v);
            next_ns = clock_ns() + REFRESH_MS * NS_PER_MS;
        }
    }
}

/* The text of status and the last reason, where there is no screen. */
static int show_once(const struct arguments *a)
{
    int rc = ctl_status(a);

    return rc == CTL_OK ? ctl_last_reason(a) : rc;
}

int ctl_top(const struct arguments *a)
{
    struct watch w = {.a = a, .job = a->job ? (uint32_t)strtoul(a->job, NULL, 10) : 0};
    struct top_view v = {.selected = w.job};
    struct errtext err = {""};
    json_t *reply;
    int rc;

    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
        return show_once(a);
    /* What is wrong from the beginning is said as by any command. */
    if ((rc = ctl_ask(a, MESSAGE_STATUS, &reply, NULL)) != CTL_OK)
        return rc;
    json_decref(reply);
    if (!(w.names = region_names_new()) || look(&w) < 0)
        rc = fail(CTL_NO_AGENT, "top: %s", w.err.text);
    else if (w.job && !w.state->jobs)
        rc = fail(CTL_FAILED, "%s: no such job on this node", a->job);
    else if (screen_open(&v.utf8, &err) < 0) {
        fail(0, "top: %s: shown once", err.text);
        rc = show_once(a);
    } else {
        run(&w, &v);
        screen_close();
    }
    top_state_free(w.state);
    region_names_free(w.names);
    json_decref(w.config);
    return rc;
}
