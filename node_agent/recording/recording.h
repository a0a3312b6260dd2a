/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A recording of a node: what was counted, what jobs did, what was decided. */

#ifndef COSCHED_RECORDING_H
#define COSCHED_RECORDING_H

/* Concept
 *
 * A recording is a directory with
 *
 *   topology.xml   the machine as hwloc saw it
 *   record.jsonl   one JSON object a line (docs/counters-reference.md has all members):
 *       {"type": "begin", "version": 1, ...}   first: the node, its machine
 *       {"type": "sample", ...}    an interval: sample_json.h, and what each
 *                                  job had and did in it
 *       {"type": "decision", ...}  what a plan was made from, and the plan
 *       {"type": "end"}            last; missing after a crash
 *
 * At the start, what is known of regions and the policy's state are forgotten, so that a
 * recording holds all that its decisions depend on.  A recording that was cut off is good up
 * to its last whole line.  A new member is no new version; another meaning is.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/errtext.h"

#define RECORDING_VERSION 1
#define RECORDING_FILE "record.jsonl"
#define RECORDING_TOPOLOGY "topology.xml"
#define RECORDING_BYTES (UINT64_C(4) << 30) /* then it ends by itself */

/* ---- writing ------------------------------------------------------------ */

struct counters_backend;
struct recorder;

/* Nothing is recorded yet.  NULL when out of memory. */
struct recorder *recorder_new(void);

/* Record into DIR, which is made if it does not exist, must have no recording, and
 * be writable for nobody but root and us: what is written there goes nowhere else,
 * whatever becomes of the path.  BEGIN, whose reference is taken, is the first line
 * without its type and version.  -1 with errno EBUSY (recording already), EEXIST,
 * EPERM (others may write there) or that of the failing call, and ERR. */
int recorder_start(struct recorder *recorder, const char *dir, json_t *begin,
                   struct errtext *err);

/* A new file beside the recording, while it goes on.  NULL with errno and ERR. */
FILE *recorder_create(const struct recorder *recorder, const char *name,
                      struct errtext *err);

/* False for NULL: a program that never records needs no recorder. */
bool recorder_active(const struct recorder *recorder);

/* The directory of the recording, or of the last one; "" if none. */
const char *recorder_dir(const struct recorder *recorder);

/* Add a line of TYPE; LINE's reference is taken.  -1 with errno and ERR once
 * when it cannot be written (disk full, RECORDING_BYTES): the recording has
 * then ended. */
int recorder_write(struct recorder *recorder, const char *type, json_t *line,
                   struct errtext *err);

/* Write the last line.  Nothing if nothing is recorded. */
void recorder_stop(struct recorder *recorder);

/* Stops.  Takes NULL. */
void recorder_free(struct recorder *recorder);

/* ---- reading ------------------------------------------------------------ */

struct recording;

/* Open the recording in DIR, or the RECORDING_FILE that DIR is itself.  NULL
 * with errno as from open(2), EINVAL (not one), EPROTO (another version) and
 * ERR. */
struct recording *recording_open(const char *dir, struct errtext *err);

/* Its first line, borrowed. */
const json_t *recording_begin(const struct recording *recording);

/* The next line: 1 with a new reference in *LINE and its type, borrowed from
 * it, in *TYPE; 0 at the end; -1 with errno EINVAL and ERR naming file and
 * line.  A last line without its newline is the end. */
int recording_next(struct recording *recording, json_t **line,
                   const char **type, struct errtext *err);

/* Refuse the line that was read last, as recording_next() does. */
__attribute__((format(printf, 3, 4))) int
recording_refuse(const struct recording *recording, struct errtext *err,
                 const char *format, ...);

/* Takes NULL. */
void recording_close(struct recording *recording);

/* ---- counting ----------------------------------------------------------- */

/* Counters from a recording, for counters_setup.replay. */
extern const struct counters_backend counters_replay;

#endif /* COSCHED_RECORDING_H */
