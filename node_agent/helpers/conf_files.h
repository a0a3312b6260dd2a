/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Whether the files of Slurm's configuration on this host have changed. */

#ifndef COSCHED_CONF_FILES_H
#define COSCHED_CONF_FILES_H

/* Concept
 *
 * slurmctld is asked for its settings when they may have changed, not all the time: a thousand
 * nodes that ask every two seconds are 500 requests a second, which no limit of slurmctld's holds
 * back, as they come from root.  A change of settings begins with one of slurm.conf: on this
 * host's own or shared file system, or in the copy that slurmd writes at each `scontrol
 * reconfigure` where there is no other (configless).  So all that is looked at is what stat() says
 * of the files beside it. */

#include <stdint.h>

/* A number that changes with the files *.conf in the directories where libslurm looks. */
uint64_t conf_files_signature(void);

#endif /* COSCHED_CONF_FILES_H */
