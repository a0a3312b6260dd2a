/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* In which line of a JSON file a value is. */

#ifndef COSCHED_SIMULATOR_JSON_LINE_H
#define COSCHED_SIMULATOR_JSON_LINE_H

/* Concept
 *
 * Jansson knows the line of a syntax error, but not that of a parsed value.  When a long
 * scenario file is refused for its contents, the path of the refusal is looked up in the
 * text again.
 */

#include <stddef.h>

#include "common/errtext.h"

/* The line, from 1, in which member or element PATH ("jobs[2].threads", as
 * common/json_reader.h writes it) begins in TEXT[SIZE], which is JSON; that of
 * the innermost value around it where there is no such member. */
size_t json_line_find(const char *text, size_t size, const char *path);

/* Where ERR is "FILE: PATH: ...", make it "FILE:LINE: PATH: ...".  It stays as
 * it is where FILE can not be read again or is not the one. */
void json_line_add(struct errtext *err, const char *file);

#endif /* COSCHED_SIMULATOR_JSON_LINE_H */
