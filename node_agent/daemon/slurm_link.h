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
 *                     "partitions":"A,B","others":"C,D"}
 *                    {"event":"absent","error":TEXT}
 *                    {"event":"recorded","job":N}
 *                    {"event":"failed","job":N,"error":TEXT}
 *                    {"event":"job","job":N,"comment":TEXT}
 *   agent -> helper  {"cmd":"comment","job":N,"text":TEXT,"final":BOOL,
 *                     "end":SECONDS}
 *                    {"cmd":"job","job":N}
 *
 * "partitions" are those of this node, "others" all else; both are there only
 * if SchedulerParameters have entries for a partition.  "absent": slurmctld
 * does not answer; the next "config" or "present" ends that.
 *
 * A helper that ends is started again, after a pause that doubles from 1 s to
 * a minute; final records are then sent again.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "node_agent/daemon/node_config.h"
#include "common/errtext.h"

struct slurm_link;

struct slurm_link_handler {
    /* SchedulerParameters or partitions changed, or are known now. */
    void (*config)(void *arg, const struct slurm_says *says);
    /* slurmctld went away (ERROR) or is there again (NULL). */
    void (*absent)(void *arg, const char *error);
    /* The record of JOB is in Slurm (ERROR NULL), or could not be written. */
    void (*recorded)(void *arg, uint32_t job, const char *error);
    /* JOB, asked for, has AdminComment COMMENT. */
    void (*job)(void *arg, uint32_t job, const char *comment);
    /* A helper runs (again): send what is pending. */
    void (*ready)(void *arg);
};

/* Start PROGRAM for the node called NODE.  NULL when out of memory; a program that cannot be run is
 * logged and tried again. */
struct slurm_link *slurm_link_new(sd_event *event, const char *program,
                                  const char *node,
                                  const struct slurm_link_handler *handler,
                                  void *arg);

/* Write TEXT into the AdminComment of JOB; FINAL after its end at END_S (epoch
 * seconds).  -1 when it could not be passed on (no helper at present). */
int slurm_link_comment(struct slurm_link *link, uint32_t job, const char *text,
                       bool final, uint64_t end_s);

/* Ask for the AdminComment of JOB, before it is written.  -1 as above. */
int slurm_link_ask(struct slurm_link *link, uint32_t job);

/* Does the helper run? */
bool slurm_link_alive(const struct slurm_link *link);

/* End the helper.  Takes NULL. */
void slurm_link_free(struct slurm_link *link);

#endif /* COSCHED_SLURM_LINK_H */
