/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Error texts: the function that knows the reason writes it, the one that
 * knows the user prints it. */

#ifndef COSCHED_ERRTEXT_H
#define COSCHED_ERRTEXT_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* A caller passes the address of one of these, or NULL, as last argument.  On
 * failure (-1 or NULL, with errno as the class) it holds one line without
 * newline that names the thing as the user typed it. */
struct errtext {
    char text[256];
};

/* Replace each byte of TEXT that is not part of a printable UTF-8 character by
 * "?": what a job calls itself must not write into the log or to a terminal.
 * Returns TEXT. */
char *errtext_clean(char *text);

/* Fill ERR (may be NULL; truncated if need be), keep errno as ERRNUM, and
 * return -1, so that failing is one line:
 *     return errtext_set(err, EINVAL, "cosched_epoch=%s: not a duration", s);
 */
__attribute__((format(printf, 3, 4))) static inline int
errtext_set(struct errtext *err, int errnum, const char *format, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, format);
        vsnprintf(err->text, sizeof(err->text), format, ap);
        va_end(ap);
        errtext_clean(err->text);
    }
    errno = errnum;
    return -1;
}

#endif /* COSCHED_ERRTEXT_H */
