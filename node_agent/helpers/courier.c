/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Brings a batch of final records into Slurm's accounting, and reads them back.
 */

#include "node_agent/helpers/courier.h"

#include <jansson.h>
#include <slurm/slurm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json_reader.h"
#include "common/json_writer.h"
#include "node_agent/helpers/controller.h"
#include "node_agent/helpers/dbd_change.h"
#include "node_agent/helpers/sacct_look.h"

static struct parcel parcels[COURIER_BATCH];
static size_t count;

/* ---- talking to who has started us ------------------------------------------
 */

/* Who cannot say what it found has not found it. */
static void say(json_t *line)
{
    if (json_writer_line(STDOUT_FILENO, line) < 0)
        exit(1);
}

static void say_word(const char *word, const char *text)
{
    text += strspn(text, " \n");
    say(json_pack("{s:s%}", word, text, strcspn(text, "\n")));
}

static void read_parcels(void)
{
    char *line = NULL;
    size_t room = 0;

    while (count < COURIER_BATCH && getline(&line, &room, stdin) > 0) {
        struct parcel *p = &parcels[count];
        const char *text;
        json_int_t job, end_s, boot_s = 0;
        int told = 0;
        json_t *object = json_reader_line(line, strlen(line));
        if (json_unpack(object, "{s:I, s:I, s:s, s?b, s?I}", "job", &job, "end", &end_s, "text",
                        &text, "told", &told, "boot", &boot_s) == 0 &&
            strlen(text) <= PARCEL_TEXT_MAX && !json_reader_refused()) {
            *p = (struct parcel){
                .job = (uint32_t)job, .end_s = end_s, .told = told, .boot_s = boot_s};
            strcpy(p->text, text);
            count++;
        }
        json_decref(object);
    }
    free(line);
}

static void answer(const struct parcel *p)
{
    const char *error = !*p->run.name        ? "sacct does not know the job"
                        : p->run.ended_s < 0 ? "the job's end is not in the accounting yet"
                        : !p->there          ? "sacct does not show the record"
                                             : NULL;
    bool settled = p->settled && !error && !*p->never_begun.name;

    say(json_pack("{s:I, s:I, s:s*, s:b}", "job", (json_int_t)p->job, "end", (json_int_t)p->end_s,
                  "error", error, "settled", settled));
}

/* ---- a batch
 * -------------------------------------------------------------------- */

/* Answer for those that slurmctld, which began at BOOT_S, has forgotten at an
 * earlier look, and drop them. */
static void drop_settled(int64_t boot_s)
{
    size_t left = 0;

    for (const struct parcel *p = parcels; p < parcels + count; p++)
        if (p->told && p->boot_s == boot_s)
            say(json_pack("{s:I, s:I, s:b}", "job", (json_int_t)p->job, "end", (json_int_t)p->end_s,
                          "settled", 1));
        else
            parcels[left++] = *p;
    count = left;
}

static bool look(void)
{
    char said[SACCT_SAID_MAX];
    bool answers = sacct_look(parcels, count, said);

    if (!answers)
        say_word(strstr(said, "disabled") ? "refused" : "away", said);
    return answers;
}

int courier(void)
{
    int64_t age_s, boot_s;
    bool some = false;

    read_parcels();
    setenv("SLURM_TIME_FORMAT", "%s", 1);
    slurm_init(NULL);
    bool answers = controller_ask(&age_s, &boot_s);
    if (answers) {
        say(json_pack("{s:I, s:I}", "age", (json_int_t)age_s, "boot", (json_int_t)boot_s));
        drop_settled(boot_s);
        controller_settle(parcels, count);
    }
    if (!count || !look())
        return 0;
    for (struct parcel *p = parcels; p < parcels + count; p++) {
        some |= dbd_change_wanted(p);
        /* One that hangs is not waited for again and again. */
        if (answers && p->requeued && !p->told)
            answers = controller_mend_requeued(p);
    }
    if (some) {
        dbd_change_all(parcels, count);
        if (!look())
            return 0;
    }
    for (const struct parcel *p = parcels; p < parcels + count; p++)
        answer(p);
    return 0;
}
