/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's line to Slurm: a helper process, the only one with libslurm. */

#ifndef COSCHED_SLURM_LINK_H
#define COSCHED_SLURM_LINK_H

/* Concept
 *
 * libslurm may block, exit the process, or crash with another Slurm version;
 * none of that may happen to the agent.  The helper (coschedd-slurm) does what
 * needs libslurm and talks by lines of JSON over pipes:
 *
 *   helper -> agent  {"event":"config","scheduler_parameters":TEXT,
 *                     "partitions":"A,B","others":"C,D",
 *                     "private_jobs":true,"slurm_user":UID}
 *                    {"event":"absent","error":TEXT}
 *                    {"event":"present"}
 *                    {"event":"failed","job":N,"error":TEXT}
 *                    {"event":"job","job":N,"comment":TEXT}
 *   agent -> helper  {"cmd":"comment","job":N,"text":TEXT}
 *                    {"cmd":"job","job":N}
 *
 * "partitions" are those of this node, "others" all else; both are there only
 * if SchedulerParameters have entries for a partition.  "absent": slurmctld
 * does not answer; the next "config" or "present" ends that.
 *
 * A second helper keeps and delivers final records, so that neither waits for
 * what the other waits for:
 *
 *   agent -> helper  {"cmd":"record","job":N,"text":TEXT,"end":SECONDS}
 *                    {"cmd":"collector","to":TEXT,"munge":PATH}  hand records over to HOST[:PORT],
 *                                                                or, "", write them yourself
 *   helper -> agent  {"event":"kept","job":N,"end":SECONDS}      on disk: the agent may forget it
 *                    {"event":"recorded","job":N,"end":SECONDS}  in the accounting, or handed over
 *                    {"event":"failed","job":N,"end":SECONDS,"error":TEXT}  given up
 *                    {"event":"waiting","count":N,"error":TEXT}  the accounting does not answer
 *                    {"event":"unkept","error":TEXT}             the disk does not take records
 *
 * A helper that ends is started again, after a pause that doubles from 1 s to
 * a minute; records that it has not kept are then sent again.
 */

#include <stdbool.h>
#include <stdint.h>

#include "node_agent/daemon/event.h"
#include "node_agent/daemon/node_config.h"
#include "common/errtext.h"

struct slurm_link;

/* A helper has those of its kind; others are NULL. */
struct slurm_link_handler {
    /* SchedulerParameters or partitions changed, or are known now. */
    void (*config)(void *arg, const struct slurm_says *says);
    /* slurmctld went away (ERROR) or is there again (NULL). */
    void (*absent)(void *arg, const char *error);
    /* JOB, asked for, has AdminComment COMMENT. */
    void (*job)(void *arg, uint32_t job, const char *comment);
    /* The comment of JOB could not be written, or the record of its run that ended at END_S is
     * given up. */
    void (*failed)(void *arg, uint32_t job, uint64_t end_s, const char *error);
    /* The helper keeps the record of JOB's run that ended at END_S; it is in Slurm. */
    void (*kept)(void *arg, uint32_t job, uint64_t end_s);
    void (*recorded)(void *arg, uint32_t job, uint64_t end_s);
    /* What keeps all records from being delivered, or kept. */
    void (*trouble)(void *arg, const char *event, uint32_t count, const char *error);
    /* A helper runs (again): send what is pending. */
    void (*ready)(void *arg);
};

/* Start PROGRAM for the node called NODE, or, RECORDS not NULL, to keep records in that file.
 * NULL when out of memory; a program that cannot be run is logged and tried again. */
struct slurm_link *slurm_link_new(sd_event *event, const char *program,
                                  const char *node, const char *records,
                                  const struct slurm_link_handler *handler,
                                  void *arg);

/* Write TEXT into the AdminComment of JOB, which runs.  -1 when it could not be passed on (no
 * helper at present, or it does not read). */
int slurm_link_comment(struct slurm_link *link, uint32_t job, const char *text);

/* Keep and deliver TEXT as the record of JOB's run that ended at END_S (epoch seconds).  -1 as
 * above. */
int slurm_link_record(struct slurm_link *link, uint32_t job, const char *text, uint64_t end_s);

/* Hand records over to the collector at TO, with munged's socket at MUNGE (NULL: its default), or,
 * TO "", to none.  -1 as above. */
int slurm_link_collector(struct slurm_link *link, const char *to, const char *munge);

/* Ask for the AdminComment of JOB, before it is written.  -1 as above. */
int slurm_link_ask(struct slurm_link *link, uint32_t job);

/* Does the helper run? */
bool slurm_link_alive(const struct slurm_link *link);

/* End the helper.  Takes NULL. */
void slurm_link_free(struct slurm_link *link);

#endif /* COSCHED_SLURM_LINK_H */
