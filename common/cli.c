/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the command lines of coschedmodel, coschedsim and coschedctl share. */

#include "config.h"

#include "common/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fail(int status, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "%s: ", cli_program);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return status;
}

int cli_bad_option(const char *command, const struct option *options,
                   int result, char *const *argv)
{
    const char *before = command ? command : "", *colon = command ? ": " : "";

    /* getopt tells an unknown long option by its text only, others by value. */
    if (optopt == 0)
        return fail(EXIT_USAGE, "%s%s%s: unknown option", before, colon,
                    argv[optind - 1]);
    for (const struct option *o = options; o->name; o++)
        if (o->val == optopt)
            return fail(EXIT_USAGE, "%s%s--%s: %s", before, colon, o->name,
                        result == ':' ? "needs a value" : "takes no value");
    return fail(EXIT_USAGE, "%s%s-%c: unknown option", before, colon, optopt);
}

int cli_finish(int status)
{
    if (status == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout)))
        status = fail(EXIT_REFUSED, "standard output: %s", strerror(errno));
    return status;
}

static int help(const struct cli *cli, FILE *out)
{
    int width = 0;

    for (const struct cli_command *c = cli->commands; c->name; c++)
        width = (int)strlen(c->name) > width ? (int)strlen(c->name) : width;
    fprintf(out, "usage: %s %s\n\n", cli_program, cli->usage);
    for (const struct cli_command *c = cli->commands; c->name; c++)
        fprintf(out, "  %-*s  %s\n", width, c->name, c->help);
    fprintf(out, "\n%s%s COMMAND --help tells more.\n\n", cli->about,
            cli_program);
    fputs("  --help     print this text\n"
          "  --version  print the version\n\n"
          "Exit status: 0 done, 1 bad input or output, 2 bad command line.\n",
          out);
    return out == stdout ? EXIT_DONE : EXIT_USAGE;
}

static int command_help(const struct cli *cli, const struct cli_command *c)
{
    printf("usage: %s %s %s\n\n%s.\n\n%s\n", cli_program, c->name, c->operand,
           c->help, c->details);
    cli->help(c);
    return EXIT_DONE;
}

/* ARGV[0] is the command's name. */
static int run(const struct cli *cli, const struct cli_command *c,
               struct arguments *arguments, int argc, char **argv)
{
    int option, index = 0, status;

    optind = 0;
    while ((option = getopt_long(argc, argv, ":h", cli->options, &index)) !=
           -1) {
        if (option == CLI_HELP)
            return cli_finish(command_help(cli, c));
        if (option == '?' || option == ':')
            return cli_bad_option(c->name, cli->options, option, argv);
        if (option == CLI_VERSION || !cli->takes(c, option))
            return fail(EXIT_USAGE, "%s: --%s: not for this command", c->name,
                        cli->options[index].name);
        if ((status = cli->set(arguments, option)) != EXIT_DONE)
            return status;
    }
    if ((status = cli->operands(c, arguments, argc, argv)) != EXIT_DONE)
        return status;
    if (optind < argc)
        return fail(EXIT_USAGE, "%s: %s: one argument too many", c->name,
                    argv[optind]);
    return cli_finish(c->run(arguments));
}

int cli_main(const struct cli *cli, struct arguments *arguments, int argc,
             char **argv)
{
    opterr = 0;
    if (argc < 2)
        return help(cli, stderr);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return cli_finish(help(cli, stdout));
    if (strcmp(argv[1], "--version") == 0) {
        printf("%s %s\n", cli_program, PACKAGE_VERSION);
        return cli_finish(EXIT_DONE);
    }
    for (const struct cli_command *c = cli->commands; c->name; c++)
        if (strcmp(c->name, argv[1]) == 0)
            return run(cli, c, arguments, argc - 1, argv + 1);
    return fail(EXIT_USAGE, "%s: unknown %s, see %s --help", argv[1],
                argv[1][0] == '-' ? "option" : "command", cli_program);
}
