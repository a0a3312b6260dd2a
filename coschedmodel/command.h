/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the subcommands of coschedmodel share. */

#ifndef COSCHED_MODEL_COMMAND_H
#define COSCHED_MODEL_COMMAND_H

#include <jansson.h>
#include <stdbool.h>

#include "common/cli.h"
#include "model/analysis/mva.h"
#include "common/json_reader.h"
#include "model/io/machine_json.h"

#define STATION_MOST_CORES 10000
#define MOST_BINS 10000
#define NO_BINS ((size_t)-1)

/* The command line behind the command's name. */
struct arguments {
    bool table;          /* --table */
    const char *file;    /* input, "-" if none was named */
    const char *rho;     /* --rho, or NULL */
    size_t cores;        /* --cores, or 0 */
    const char *method;  /* --method, or NULL */
    const char *machine; /* --machine, or NULL */
    const char *rule;    /* --rule, or NULL */
    bool sweep;          /* --sweep */
    bool best_f;         /* --best-f */
    size_t bins, least;  /* --bins (NO_BINS: not given), --least */
    size_t seed, rounds; /* --seed, --rounds */
    double alpha;        /* --alpha */
    const char *action;  /* of `machine`: show or check */
};

/* A command reads arguments->file and prints; it returns the exit status, the
 * reason for a failure already printed. */
int command_station(const struct arguments *arguments);
int command_speedup(const struct arguments *arguments);
int command_utilisation(const struct arguments *arguments);
int command_fit(const struct arguments *arguments);
int command_train(const struct arguments *arguments);
int command_map(const struct arguments *arguments);
int command_ks(const struct arguments *arguments);
int command_machine(const struct arguments *arguments);

/* fail() with what a function of model/ answered about FILE. */
int fail_model(const char *file, enum model_status status);

/* Load the JSON that ARGUMENTS name.  A new reference, or NULL with the reason
 * printed.  READER is ready to check it; its text is *ERR. */
json_t *load_input(const struct arguments *arguments,
                   struct json_reader *reader, struct errtext *err);

/* The machine that member "machine" of OBJECT or --machine names (a file, or
 * the name of a shipped description), or that the member is.  NULL with the
 * reason printed. */
struct machine_description *load_machine(const struct arguments *arguments,
                                         struct json_reader *reader,
                                         const json_t *object);

/* The method that --method or member "method" of OBJECT names; automatic if
 * neither does.  *CLOSED (NULL: refused) is set for "closed".  Returns the exit
 * status, the reason of a failure printed. */
int method_choose(const struct arguments *arguments,
                  struct json_reader *reader, const json_t *object,
                  enum mva_method *method, bool *closed);

#endif /* COSCHED_MODEL_COMMAND_H */
