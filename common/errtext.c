/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Make texts that others wrote safe to log, print and send. */

#include "common/errtext.h"

/* Length of the printable UTF-8 character at TEXT, 0 if there is none. */
static size_t character(const unsigned char *text)
{
    static const struct {
        unsigned char mask, lead;
        unsigned least;
    } forms[] = {
        {0x80, 0x00, 0x20},
        {0xe0, 0xc0, 0xa0}, /* U+0080 to U+009F are controls */
        {0xf0, 0xe0, 0x800},
        {0xf8, 0xf0, 0x10000},
    };

    for (size_t n = 0; n < sizeof(forms) / sizeof(forms[0]); n++) {
        if ((text[0] & forms[n].mask) != forms[n].lead)
            continue;
        unsigned code = text[0] & (unsigned char)~forms[n].mask;
        for (size_t i = 1; i <= n; i++) {
            if ((text[i] & 0xc0) != 0x80) /* also at the end of the text */
                return 0;
            code = code << 6 | (text[i] & 0x3f);
        }
        return code < forms[n].least || code == 0x7f || code > 0x10ffff ||
                       (code >= 0xd800 && code <= 0xdfff)
                   ? 0
                   : n + 1;
    }
    return 0;
}

char *errtext_clean(char *text)
{
    for (char *p = text; *p;) {
        size_t length = character((const unsigned char *)p);
        if (length == 0)
            *p = '?';
        p += length ? length : 1;
    }
    return text;
}
