/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A final record that a courier has, and what Slurm shows of its job. */

#ifndef COSCHED_PARCEL_H
#define COSCHED_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Clocks of nodes and controller may differ by so much. */
#define PARCEL_SKEW_S      1
#define PARCEL_TEXT_MAX    1000
/* The record of a run that a requeued job did not begin. */
#define PARCEL_NEVER_BEGUN "cosched/1 state=final started=0"
#define PARCEL_INTERIM     "cosched/1 state=running"

/* One row of the accounting: a run of a job. */
struct run {
    char name[32]; /* as users call it: 4_7 of an array; "": there is none */
    char cluster[128];
    char state[32];
    int64_t start_s, ended_s; /* -1: not so far */
};

struct parcel {
    uint32_t job;
    int64_t end_s;
    char text[PARCEL_TEXT_MAX + 1];
    bool told;      /* the accounting had the record before */
    int64_t boot_s; /* the slurmctld that had forgotten the run then; 0: none */

    /* What the accounting shows. */
    struct run run;
    size_t rows;            /* of that job: its runs, and older jobs of that number */
    bool fits;              /* the run began before the record's end */
    bool there;             /* with the record */
    bool requeued;          /* Slurm gave up the run, so that the job has another or
                               waits for it */
    struct run never_begun; /* one that ended so, and has the interim record of
                               this one */
    struct run forgotten;   /* one that ended so, as a killed slurmctld has it that forgot this; */
    bool forgotten_there;   /* with the record */

    bool settled; /* slurmctld will not write it any more */
};

#endif /* COSCHED_PARCEL_H */
