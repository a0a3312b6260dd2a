/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the command lines of coschedmodel and coschedsim share. */

#ifndef COSCHED_MODEL_CLI_H
#define COSCHED_MODEL_CLI_H

#include <getopt.h>

#include "protocol/errtext.h"
#include "protocol/machine_json.h"

/* Exit status, as the manual pages have it. */
enum {
    EXIT_DONE = 0,
    EXIT_REFUSED = 1, /* bad input, no result, output failed */
    EXIT_USAGE = 2,   /* bad command line */
};

/* The program's name; each program defines it. */
extern const char cli_program[];

/* Print "PROGRAM: ..." to stderr and return STATUS. */
__attribute__((format(printf, 2, 3))) int fail(int status, const char *format,
                                               ...);

/* fail() for what getopt_long() answered with RESULT, '?' or ':', to the
 * OPTIONS of COMMAND. */
int cli_bad_option(const char *command, const struct option *options,
                   int result, char **argv);

/* The exit status of a command that ended with STATUS: what it has printed must
 * have gone out. */
int cli_finish(int status);

/* Load the description NAME: a file, or the name of a shipped one. */
struct machine_description *find_machine(const char *name,
                                         struct errtext *err);

#endif /* COSCHED_MODEL_CLI_H */
