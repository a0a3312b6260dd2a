/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the controller knows of a job: its weight, and earlier runs. */

#include "node_agent/core/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MORE 1.25     /* of an earlier run's time */
#define AGREE 0.1          /* spread up to which earlier runs were the same */
#define DONE_SPREAD 0.25   /* beyond that their time says nothing */
#define LEAST_STEPS 10     /* fewer are too coarse */
#define RHO_AFTER_S 5.0    /* of parallel time a profile is settled */
#define RHO_FACTOR 2.0     /* another program */
#define RHO_SMALL 0.1      /* differences below do not matter */

void history_init(struct history *h)
{
    *h = (struct history){
        .done_s = NAN,
        .done_spread = NAN,
        .steps = NAN,
        .steps_spread = NAN,
        .rho = NAN,
        .alone_s = NAN,
    };
}

/* ---- reading ------------------------------------------------------------- */

/* The number at TEXT, which ends with a space or the text, into *VALUE. */
static int read_number(const char *text, double low, double high,
                       double *value)
{
    char *end;

    /* strtod() takes much more than digits. */
    if (!strspn(text, "0123456789"))
        return -1;
    double number = strtod(text, &end);
    if ((*end && *end != ' ') || !(number >= low && number <= high))
        return -1;
    *value = number;
    return 0;
}

/* What stands behind KEY in ENTRY; NULL: it is another one's. */
static const char *value_of(const char *entry, const char *key)
{
    size_t length = strlen(key);

    return strncmp(entry, key, length) == 0 ? entry + length : NULL;
}

static int read_entry(struct history *h, const char *entry)
{
    static const struct {
        const char *key;
        size_t offset;
        double low, high;
    } numbers[] = {
        {"done_s=", offsetof(struct history, done_s), 1e-3, 1e12},
        {"done_spread=", offsetof(struct history, done_spread), 0, 1e6},
        {"steps=", offsetof(struct history, steps), 1, 1e15},
        {"steps_spread=", offsetof(struct history, steps_spread), 0, 1e6},
        {"rho=", offsetof(struct history, rho), 0, 1e3},
        {"alone_s=", offsetof(struct history, alone_s), 1e-3, 1e12},
        {"weight=", offsetof(struct history, weight), 0.1, 10},
    };
    const char *value;
    double runs;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if ((value = value_of(entry, numbers[i].key)))
            return read_number(value, numbers[i].low, numbers[i].high,
                               (double *)((char *)h + numbers[i].offset));
    if ((value = value_of(entry, "runs="))) {
        if (read_number(value, 1, 1e9, &runs) < 0)
            return -1;
        h->runs = (unsigned)runs;
    } else if ((value = value_of(entry, "program="))) {
        size_t length = strcspn(value, " ");
        if (!length || length >= sizeof(h->program))
            return -1;
        memcpy(h->program, value, length);
        h->program[length] = '\0';
    }
    return 0; /* entries of later versions are skipped */
}

int history_parse(struct history *h, const char *text, struct errtext *err)
{
    struct history fresh;
    size_t tag = strlen(HISTORY_TAG);

    history_init(h);
    history_init(&fresh);
    if (strncmp(text, HISTORY_TAG, tag) || (text[tag] && text[tag] != ' ')) {
        errno = ENODATA;
        return -1;
    }
    for (const char *p = text + tag; *p; p += strcspn(p, " ")) {
        p += strspn(p, " ");
        int length = (int)strcspn(p, " ");
        if (length && read_entry(&fresh, p) < 0)
            return errtext_set(err, EINVAL, "history: %.*s: out of range",
                               length < 60 ? length : 60, p);
    }
    fresh.known = fresh.runs > 0;
    *h = fresh;
    return 0;
}

/* ---- believing ----------------------------------------------------------- */

static bool another_rho(const struct history *h, const struct record *r)
{
    double more = fmax(h->rho, r->rho), less = fmin(h->rho, r->rho);

    return !isnan(h->rho) && r->profiled &&
           r->parallel_s * r->profiled_share > RHO_AFTER_S &&
           more - less > RHO_SMALL && more > RHO_FACTOR * less;
}

void history_check(struct history *h, const struct record *r)
{
    if (!h->known || h->dropped)
        return;
    if (h->program[0] && r->program[0] && strcmp(h->program, r->program))
        h->dropped = "it is another program";
    else if (r->done_s > MOST_MORE * h->done_s * (1 + h->done_spread))
        h->dropped = "it takes longer than earlier runs";
    else if (r->total.steps > MOST_MORE * h->steps * (1 + h->steps_spread))
        h->dropped = "it does more steps than earlier runs";
    else if (another_rho(h, r))
        h->dropped = "its demand of memory is another one";
}

double history_expected(const struct history *h, const struct record *r)
{
    if (!h->known || h->dropped || h->runs < HISTORY_MIN_RUNS ||
        isnan(h->done_s))
        return 0;
    /* Steps may differ much in length: a thousand short ones say nothing of the
     * ten long ones that follow.  Time has no such error. */
    if (h->done_spread <= AGREE)
        return h->done_s;
    if (h->steps >= LEAST_STEPS && h->steps_spread <= AGREE)
        return r->done_s + h->done_s * fmax(0, 1 - r->total.steps / h->steps);
    return h->done_spread <= DONE_SPREAD ? h->done_s : 0;
}
