/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The commands of coschedctl. */

#ifndef COSCHED_CTL_COMMANDS_H
#define COSCHED_CTL_COMMANDS_H

struct arguments;

/* Each returns the exit status (ctl.h). */
int ctl_status(const struct arguments *a);
int ctl_top(const struct arguments *a);
int ctl_jobs(const struct arguments *a);
int ctl_explain(const struct arguments *a);
int ctl_why(const struct arguments *a);
int ctl_trace(const struct arguments *a);
int ctl_config(const struct arguments *a);
int ctl_ping(const struct arguments *a);
int ctl_health(const struct arguments *a);
int ctl_drain(const struct arguments *a);
int ctl_resume(const struct arguments *a);
int ctl_counters(const struct arguments *a);
int ctl_selftest(const struct arguments *a);
int ctl_record(const struct arguments *a);
int ctl_requests(const struct arguments *a);
int ctl_machine(const struct arguments *a);
int ctl_calibrate(const struct arguments *a);
int ctl_run(const struct arguments *a);

/* Print the last decision. */
int ctl_last_reason(const struct arguments *a);

#endif /* COSCHED_CTL_COMMANDS_H */
