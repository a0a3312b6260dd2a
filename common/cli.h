/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the command lines of coschedmodel, coschedsim and coschedctl share. */

#ifndef COSCHED_CLI_H
#define COSCHED_CLI_H

/* Concept
 *
 * Programs are called PROGRAM COMMAND [OPTION]... [OPERAND]...  coschedmodel and
 * coschedsim have a table of their commands, with a mask of what a command takes,
 * and one of all options; cli_main() finds the command, refuses what it does not
 * take, lets the program set its arguments, and runs the command.  coschedctl,
 * whose options stand on both sides of the command, uses the parts.
 */

#include <getopt.h>
#include <stdbool.h>


/* Exit status, as the manual pages have it. */
enum {
    EXIT_DONE = 0,
    EXIT_REFUSED = 1, /* bad input, no result, output failed */
    EXIT_USAGE = 2,   /* bad command line */
};

/* The program's name; each program defines it. */
extern const char cli_program[];

/* fail() for what getopt_long() answered with RESULT, '?' or ':', to the OPTIONS
 * of COMMAND (NULL: before any). */
int cli_bad_option(const char *command, const struct option *options,
                   int result, char *const *argv);

/* The exit status of a command that ended with STATUS: what it has printed must
 * have gone out. */
int cli_finish(int status);

/* The command line behind the command's name, of the program's own. */
struct arguments;

struct cli_command {
    const char *name; /* NULL ends the table */
    unsigned takes;   /* bits of the program's own */
    int (*run)(const struct arguments *arguments); /* returns an exit status */
    const char *operand; /* as in its usage */
    const char *help;    /* one line */
    const char *details; /* lines of its --help */
};

/* Values of these options; the program's own begin with CLI_OWN. */
enum {
    CLI_HELP = 'h',
    CLI_VERSION = 256,
    CLI_OWN,
};

#define CLI_OPTIONS                                                            \
    {"help", no_argument, NULL, CLI_HELP},                                     \
        {"version", no_argument, NULL, CLI_VERSION}

struct cli {
    const char *usage; /* behind the program's name */
    const char *about; /* lines below the list of commands, or "" */
    const struct cli_command *commands;
    const struct option *options; /* begin with CLI_OPTIONS */
    /* Print what COMMAND takes. */
    void (*help)(const struct cli_command *command);
    /* Is OPTION for COMMAND? */
    bool (*takes)(const struct cli_command *command, int option);
    /* Keep OPTION, whose value is optarg.  EXIT_DONE, or as fail(). */
    int (*set)(struct arguments *arguments, int option);
    /* Take operands from argv[optind] on.  As above. */
    int (*operands)(const struct cli_command *command,
                    struct arguments *arguments, int argc, char **argv);
};

/* What main() returns; ARGUMENTS has the defaults. */
int cli_main(const struct cli *cli, struct arguments *arguments, int argc,
             char **argv);

/* Print "PROGRAM: ..." to stderr and return STATUS. */
__attribute__((format(printf, 2, 3))) int fail(int status, const char *format,
                                               ...);

#endif /* COSCHED_CLI_H */
