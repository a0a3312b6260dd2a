/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Names of the methods for several classes. */

#ifndef COSCHED_MODEL_METHOD_H
#define COSCHED_MODEL_METHOD_H

#include "coschedmodel/command.h"

/* The method that --method or member "method" of OBJECT names; automatic if
 * neither does.  *CLOSED (NULL: refused) is set for "closed".  Returns the exit
 * status, the reason of a failure printed. */
int method_choose(const struct arguments *arguments,
                  struct json_reader *reader, const json_t *object,
                  enum mva_method *method, bool *closed);

#endif /* COSCHED_MODEL_METHOD_H */
