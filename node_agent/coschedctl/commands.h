/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The commands of coschedctl. */

#ifndef COSCHED_CTL_COMMANDS_H
#define COSCHED_CTL_COMMANDS_H

#include <stdio.h>

struct ctl;

/* Each returns the exit status (ctl.h). */
int ctl_status(const struct ctl *ctl);
int ctl_top(const struct ctl *ctl);
int ctl_explain(const struct ctl *ctl);
int ctl_trace(const struct ctl *ctl);
int ctl_config(const struct ctl *ctl);
int ctl_ping(const struct ctl *ctl);
int ctl_counters(const struct ctl *ctl);
int ctl_record(const struct ctl *ctl);
int ctl_selftest(const struct ctl *ctl);
int ctl_drain(const struct ctl *ctl);
int ctl_resume(const struct ctl *ctl);

/* `health`, which parses its own arguments: ARGV[0] is "health". */
int ctl_health(const char *socket, int argc, char **argv);
void ctl_health_help(FILE *out);

/* `run`, which parses its own arguments: ARGV[0] is "run". */
int ctl_run(const char *socket, int argc, char **argv);
void ctl_run_help(FILE *out);

/* `machine`, likewise. */
int ctl_machine(int argc, char **argv);
void ctl_machine_help(FILE *out);

/* `calibrate`, likewise. */
int ctl_calibrate(const char *socket, int argc, char **argv);
void ctl_calibrate_help(FILE *out);

/* `ks`, likewise. */
int ctl_ks(int argc, char **argv);
void ctl_ks_help(FILE *out);

#endif /* COSCHED_CTL_COMMANDS_H */
