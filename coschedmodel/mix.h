/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A mix of jobs on a machine, as the utilisation command reads it. */

#ifndef COSCHED_MODEL_MIX_H
#define COSCHED_MODEL_MIX_H

#include "coschedmodel/command.h"
#include "model/analysis/system.h"

struct mix {
    struct machine_description *description;
    enum mva_method method;
    bool closed; /* all stations together instead */
    bool sweep;  /* no cores are given */
    size_t jobs;
    const char **name;         /* [jobs] borrowed from the input */
    struct workload **profile; /* [jobs] */
    double *weight;            /* [jobs] */
    double *work;              /* [jobs] time alone on one core, 0: not given */
    size_t *cores;             /* [llc_domains * jobs], node-major */
};

/* Read INPUT.  The cores are read unless ARGUMENTS ask for a sweep.  Returns
 * the exit status, the reason of a failure printed; release MIX always. */
int mix_read(struct mix *mix, const struct arguments *arguments,
             struct json_reader *reader, const json_t *input);
void mix_release(struct mix *mix);

/* Give job JOB COUNT cores of those that no job before it has, one LLC domain
 * after the other.  The number it got. */
size_t mix_pack(struct mix *mix, size_t job, size_t count);

/* CPUs of the machine. */
size_t mix_cpus(const struct mix *mix);

#endif /* COSCHED_MODEL_MIX_H */
