/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Command lines of programs with subcommands. */

#include "config.h"

#include "common/cli.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_OPTION 256
#define OWN_OPTIONS 257

int fail(int status, const char *format, ...)
{
    va_list ap;
    char *text = NULL;

    /* One write: the lines of two processes must not mix. */
    va_start(ap, format);
    if (vasprintf(&text, format, ap) < 0)
        text = NULL;
    va_end(ap);
    fprintf(stderr, "%s: %s\n", cli_program, text ? text : format);
    free(text);
    return status;
}

int cli_finish(int status)
{
    if (status == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout)))
        status = fail(EXIT_REFUSED, "standard output: %s", strerror(errno));
    return status;
}

/* Is NAME one of the words of LIST? */
static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at && *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (n == length && memcmp(at, name, n) == 0)
            return true;
        at += n;
    }
    return false;
}

/* May OPTION stand with COMMAND, or before it where COMMAND is NULL? */
static bool takes(const struct cli *cli, const struct cli_command *command,
                  const struct cli_option *option)
{
    return listed(cli->common, option->name) ||
           (command && listed(command->options, option->name));
}

/* ---- help ---------------------------------------------------------------- */

/* "  LEFT   TEXT", further lines of TEXT below its first. */
static void print_entry(FILE *out, int width, const char *left,
                        const char *text)
{
    size_t n;

    for (; *text; text += n + (text[n] == '\n'), left = "") {
        n = strcspn(text, "\n");
        fprintf(out, "  %-*s  %.*s\n", width, left, (int)n, text);
    }
}

static const char *option_usage(const struct cli_option *o, char text[64])
{
    char letter[8] = "";

    if (o->letter)
        snprintf(letter, sizeof(letter), "-%c, ", o->letter);
    snprintf(text, 64, "%s--%s%s%s", letter, o->name, o->value ? " " : "",
             o->value ? o->value : "");
    return text;
}

/* Options of COMMAND's own, or those that stand before any. */
static void print_options(FILE *out, const struct cli *cli,
                          const struct cli_command *command)
{
    const char *list = command ? command->options : cli->common;
    int width = (int)strlen("--version");
    char text[64];

    for (const struct cli_option *o = cli->options; o->name; o++) {
        int length = (int)strlen(option_usage(o, text));
        if (listed(list, o->name) && length > width)
            width = length;
    }
    for (const struct cli_option *o = cli->options; o->name; o++)
        if (listed(list, o->name))
            print_entry(out, width, option_usage(o, text), o->help);
    print_entry(out, width, "--help", "print this text");
    if (!command)
        print_entry(out, width, "--version", "print the version");
}

static int help(const struct cli *cli, FILE *out)
{
    int width = 0;

    for (const struct cli_command *c = cli->commands; c->name; c++)
        width = (int)strlen(c->name) > width ? (int)strlen(c->name) : width;
    fprintf(out, "usage: %s %s\n\n", cli_program, cli->usage);
    for (const struct cli_command *c = cli->commands; c->name; c++)
        print_entry(out, width, c->name, c->help);
    fprintf(out, "\n%s%s COMMAND --help tells more.\n\n", cli->about,
            cli_program);
    print_options(out, cli, NULL);
    fprintf(out, "\nExit status: %s\n", cli->status);
    return out == stdout ? cli_finish(EXIT_DONE) : EXIT_USAGE;
}

static int command_help(const struct cli *cli, const struct cli_command *c)
{
    printf("usage: %s %s [OPTION]...%s%s\n\n%s.\n", cli_program, c->name,
           *c->operand ? " " : "", c->operand, c->help);
    printf("%s%s\n", c->details ? "\n" : "", c->details ? c->details : "");
    print_options(stdout, cli, c);
    return cli_finish(EXIT_DONE);
}

/* ---- options ------------------------------------------------------------- */

/* "COMMAND: --OPTION VALUE: not ...". */
static int bad_value(const char *before, const struct cli_option *o,
                     const char *value, const char *what)
{
    char limits[80];

    snprintf(limits, sizeof(limits), "a %snumber from %.10g to %.10g",
             o->kind == CLI_COUNT ? "whole " : "", o->low, o->high);
    return fail(EXIT_USAGE, "%s--%s %s: not %s%s", before, o->name, value, what,
                o->expected ? o->expected : limits);
}

/* The number of VALUE among "a|b|c", or -1. */
static int word_number(const char *words, const char *value)
{
    size_t length = strlen(value);

    for (int number = 0; *words; number++) {
        size_t n = strcspn(words, "|");
        if (n == length && memcmp(words, value, n) == 0)
            return number;
        words += n + (words[n] == '|');
    }
    return -1;
}

/* Keep VALUE of option O in ARGUMENTS. */
static int set(struct arguments *arguments, const struct cli_option *o,
               const char *before, const char *value)
{
    void *field = (char *)arguments + o->offset;
    const char **texts = field;
    double number = 0;
    size_t i = 0;
    char *end;

    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return EXIT_DONE;
    case CLI_TEXTS:
        while (i < (size_t)o->high && texts[i])
            i++;
        if (i == (size_t)o->high)
            return fail(EXIT_USAGE, "%s--%s %s: %zu are the most", before,
                        o->name, value, i);
        texts[i] = value;
        return EXIT_DONE;
    case CLI_TEXT:
        *texts = value;
        return EXIT_DONE;
    case CLI_COUNT:
        errno = 0;
        i = strtoull(value, &end, 10);
        if (*value < '0' || *value > '9' || *end || errno ||
            (double)i < o->low || (double)i > o->high)
            return bad_value(before, o, value, "");
        *(size_t *)field = i;
        return EXIT_DONE;
    case CLI_NUMBER:
        number = strtod(value, &end);
        if (end == value || *end || !(number >= o->low && number <= o->high))
            return bad_value(before, o, value, "");
        *(double *)field = number;
        return EXIT_DONE;
    case CLI_WORD:
        if ((*(int *)field = word_number(o->expected, value)) < 0)
            return bad_value(before, o, value, "one of ");
        return EXIT_DONE;
    }
    return EXIT_USAGE;
}

/* What getopt_long() is to know of CLI's options. */
static void describe(const struct cli *cli, const char *first,
                     struct option *table, char *letters)
{
    size_t n = 0;

    strcpy(letters, first);
    for (const struct cli_option *o = cli->options; o->name; o++, n++) {
        table[n] = (struct option){o->name, o->kind == CLI_FLAG
                                                ? no_argument
                                                : required_argument,
                                   NULL, OWN_OPTIONS + (int)n};
        if (o->letter)
            sprintf(letters + strlen(letters), "%c%s", o->letter,
                    o->kind == CLI_FLAG ? "" : ":");
    }
    table[n++] = (struct option){"help", no_argument, NULL, 'h'};
    table[n++] = (struct option){"version", no_argument, NULL, VERSION_OPTION};
    table[n] = (struct option){0};
}

/* What getopt_long() answered with RESULT, '?' or ':'. */
static int bad_option(const struct option *table, const char *before,
                      int result, char *const *argv)
{
    /* It tells an unknown long option by its text only, others by value. */
    if (optopt == 0)
        return fail(EXIT_USAGE, "%s%s: unknown option%s%s%s", before,
                    argv[optind - 1], *before ? "" : ", see ",
                    *before ? "" : cli_program, *before ? "" : " --help");
    for (const struct option *o = table; o->name; o++)
        if (o->val == optopt)
            return fail(EXIT_USAGE, "%s--%s: %s", before, o->name,
                        result == ':' ? "needs a value" : "takes no value");
    return fail(EXIT_USAGE, "%s-%c: %s", before, optopt,
                result == ':' ? "needs a value" : "unknown option");
}

/* Parse the options behind ARGV[0], which names COMMAND or, where that is NULL,
 * the program.  *ANSWERED where there is no more to do. */
static int parse(const struct cli *cli, const struct cli_command *command,
                 struct arguments *arguments, int argc, char **argv,
                 bool *answered)
{
    struct option table[CLI_OPTIONS + 3];
    char before[32] = "", letters[3 * CLI_OPTIONS];
    int result, status = EXIT_DONE;

    if (command)
        snprintf(before, sizeof(before), "%s: ", command->name);
    describe(cli, command && !command->rest ? ":h" : "+:h", table, letters);
    optind = 0; /* a new scan */
    while (status == EXIT_DONE &&
           (result = getopt_long(argc, argv, letters, table, NULL)) != -1) {
        const struct cli_option *o = cli->options;
        *answered = result == 'h' || (result == VERSION_OPTION && !command);
        if (*answered && result == 'h')
            return command ? command_help(cli, command) : help(cli, stdout);
        if (*answered) {
            printf("%s %s\n", cli_program, PACKAGE_VERSION);
            return cli_finish(EXIT_DONE);
        }
        if (result == '?' || result == ':')
            return bad_option(table, before, result, argv);
        if (result >= OWN_OPTIONS)
            o += result - OWN_OPTIONS;
        else
            while (o->name && o->letter != result)
                o++;
        if (!o->name || !takes(cli, command, o))
            return fail(EXIT_USAGE, "%s--%s: %s", before,
                        o->name ? o->name : "version",
                        command ? "not for this command"
                                : "stands behind the command");
        status = set(arguments, o, before, optarg);
    }
    return status;
}

static int run(const struct cli *cli, const struct cli_command *c,
               struct arguments *arguments, int argc, char **argv)
{
    bool answered = false;
    int status = parse(cli, c, arguments, argc, argv, &answered);
    char *base = (char *)arguments;

    if (answered || status != EXIT_DONE)
        return status;
    if (c->rest) {
        *(char ***)(base + c->rest) = argv + optind;
        optind = argc;
    }
    for (size_t i = 0; i < 2 && c->operands[i] && optind < argc; i++)
        *(const char **)(base + c->operands[i]) = argv[optind++];
    if (optind < argc)
        return fail(EXIT_USAGE, "%s: %s: one argument too many", c->name,
                    argv[optind]);
    return cli_finish(c->run(arguments));
}

int cli_main(const struct cli *cli, struct arguments *arguments, int argc,
             char **argv)
{
    bool answered = false;
    int status;

    opterr = 0;
    status = parse(cli, NULL, arguments, argc, argv, &answered);
    if (answered || status != EXIT_DONE)
        return status;
    argc -= optind;
    argv += optind;
    if (argc == 0)
        return help(cli, stderr);
    for (const struct cli_command *c = cli->commands; c->name; c++)
        if (strcmp(c->name, argv[0]) == 0)
            return run(cli, c, arguments, argc, argv);
    return fail(EXIT_USAGE, "%s: unknown command, see %s --help", argv[0],
                cli_program);
}
