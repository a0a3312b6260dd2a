/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl --job: a command on the node of a job. */

#ifndef COSCHED_CTL_REMOTE_H
#define COSCHED_CTL_REMOTE_H

/* Concept
 *
 * Where jobs are submitted there is no agent, and agents have no port: who may ask is decided by
 * Slurm, which starts this program as a step beside those of the job (`srun --overlap`), as its
 * user, on the node that is asked for.  A step belongs to the job: while the job waits for its
 * turn, so does the answer.
 */

struct arguments;

/* Become `srun ... coschedctl COMMAND` with what else A has.  Returns only if that fails: the exit
 * status. */
int ctl_remote(const struct arguments *a, const char *command);

#endif /* COSCHED_CTL_REMOTE_H */
