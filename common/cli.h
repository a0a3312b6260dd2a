/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Command lines of programs with subcommands. */

#ifndef COSCHED_CLI_H
#define COSCHED_CLI_H

/* Concept
 *
 * Programs are called PROGRAM COMMAND [OPTION]... [OPERAND]...  A program has a
 * table of its commands and one of its options; both say where in its own
 * struct arguments a value goes.  From these tables cli_main() parses the command
 * line, prints the help texts and refuses what is wrong, naming the option as it
 * was typed; then it runs the command.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/errtext.h"

/* Exit status, as the manual pages have it. */
enum {
    EXIT_DONE = 0,
    EXIT_REFUSED = 1, /* bad input, no result, output failed */
    EXIT_USAGE = 2,   /* bad command line */
};

/* The command line behind the command's name, of the program's own. */
struct arguments;

/* What the value of an option is, and the type of its member in the arguments. */
enum cli_kind {
    CLI_FLAG,   /* none; bool */
    CLI_TEXT,   /* const char * */
    CLI_TEXTS,  /* const char *[high]: may be given so often */
    CLI_COUNT,  /* size_t, low..high */
    CLI_NUMBER, /* double, low..high */
    CLI_WORD,   /* int: which of the words of `expected`, "a|b|c", from 0 */
};

struct cli_option {
    const char *name;   /* without dashes; NULL ends the table */
    enum cli_kind kind;
    size_t offset;      /* in struct arguments */
    const char *value;  /* what --help calls the value */
    const char *help;   /* a line, or several */
    double low, high;
    const char *expected; /* "between 0 and 1"; NULL: by the limits */
    char letter;        /* of the short form, or 0 */
};

/* An entry: CLI_OPTION("bins", CLI_COUNT, bins, "N", "categories", .high = 99). */
#define CLI_OPTION(name_, kind_, member, value_, help_, ...)                   \
    {.name = name_, .kind = kind_,                                             \
     .offset = offsetof(struct arguments, member), .value = value_,            \
     .help = help_, __VA_ARGS__}

struct cli_command {
    const char *name;    /* NULL ends the table */
    const char *options; /* names of those that it takes, blanks between */
    int (*run)(const struct arguments *arguments); /* returns an exit status */
    const char *operand; /* as in its usage, "" for none */
    const char *help;    /* one line */
    const char *details; /* lines of its --help, or NULL */
    /* Offsets of const char * in struct arguments (not 0), for the operands. */
    size_t operands[2];
    size_t rest; /* of char **: all operands, the command line of a program */
};

#define CLI_OPTIONS 32 /* the most that a program may have */

struct cli {
    const char *usage;  /* behind the program's name */
    const char *about;  /* lines below the list of commands, or "" */
    const char *status; /* the exit status, a line or several */
    const struct cli_command *commands;
    const struct cli_option *options;
    /* Names of those that may stand before the command, too, and with every
     * command; or NULL. */
    const char *common;
};

/* The program's name; each program defines it. */
extern const char cli_program[];

/* What main() returns; ARGUMENTS has the defaults. */
int cli_main(const struct cli *cli, struct arguments *arguments, int argc,
             char **argv);

/* The exit status of a command that ended with STATUS: what it has printed must
 * have gone out. */
int cli_finish(int status);

/* Print "PROGRAM: ..." to stderr and return STATUS. */
__attribute__((format(printf, 2, 3))) int fail(int status, const char *format,
                                               ...);

#endif /* COSCHED_CLI_H */
