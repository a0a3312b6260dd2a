/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* coschedctl top: texts on a frame. */

#include "node_agent/coschedctl/top/paint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1024

static struct top_cell *cell_at(struct painter *p, size_t row, size_t column)
{
    if (row >= p->frame->rows || row >= p->clip || column >= p->frame->columns)
        return NULL;
    return &p->frame->cell[row * p->frame->columns + column];
}

/* Length of the UTF-8 character at TEXT, which errtext_clean() has checked; 1 for others. */
static size_t length_of(const char *text)
{
    unsigned char lead = (unsigned char)*text;
    size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

    return strnlen(text, length) == length ? length : 1;
}

/* True when the LENGTH bytes at TEXT are a character of one column: what Latin, Greek and Cyrillic
 * use, arrows and lines. */
static bool is_narrow(const char *text, size_t length)
{
    const unsigned char *b = (const unsigned char *)text;

    if (length == 1)
        return b[0] >= ' ' && b[0] < 0x7f;
    if (length == 2) {
        unsigned code = (b[0] & 0x1fu) << 6 | (b[1] & 0x3fu);
        return code >= 0xa1 && code != 0xad && (code < 0x300 || (code >= 0x370 && code < 0x483));
    }
    return length == 3 && b[0] == 0xe2 && b[1] >= 0x86 && b[1] < 0x97;
}

static void put(struct painter *p, size_t row, size_t column, const char *text)
{
    while (*text) {
        size_t length = length_of(text);
        bool shown = is_narrow(text, length) && (length == 1 || p->utf8);
        struct top_cell *cell = cell_at(p, row, column++);
        if (!cell)
            return;
        memset(cell->text, 0, sizeof(cell->text));
        memcpy(cell->text, shown ? text : "?", shown ? length : 1);
        text += length;
    }
}

struct top_cell *paint(struct painter *p, size_t row, size_t column, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    put(p, row, column, text);
    return cell_at(p, row, column);
}

static size_t columns_of(const char *text)
{
    size_t columns = 0;

    for (; *text; text += length_of(text))
        columns++;
    return columns;
}

void paint_cut(struct painter *p, size_t row, size_t column, size_t width, bool left,
               const char *text)
{
    char cut[TEXT_MAX];
    size_t used = 0, columns = columns_of(text);

    for (size_t i = 0; i < width && text[used] && used + 4 < sizeof(cut); i++)
        used += length_of(text + used);
    snprintf(cut, sizeof(cut), "%.*s", (int)used, text);
    put(p, row, column + (left || columns >= width ? 0 : width - columns), cut);
}

void paint_right(struct painter *p, size_t row, const char *text)
{
    size_t width = columns_of(text);

    if (width + 1 < p->frame->columns) {
        put(p, row, p->frame->columns - width - 1, " ");
        put(p, row, p->frame->columns - width, text);
    }
}

void paint_wrapped(struct painter *p, size_t row, size_t end, const char *text)
{
    for (; *text && row < end; row++) {
        char line[TEXT_MAX];
        size_t fits = 0, cut = 0, columns = 0;
        while (text[fits] && columns < p->frame->columns && fits + 5 < sizeof(line)) {
            if (text[fits] == ' ')
                cut = fits;
            fits += length_of(text + fits);
            columns++;
        }
        if (text[fits] && text[fits] != ' ' && cut)
            fits = cut;
        snprintf(line, sizeof(line), "%.*s", (int)fits, text);
        put(p, row, 0, line);
        text += fits;
        text += *text == ' ';
    }
}

void paint_line(struct painter *p, size_t row, bool reverse, uint8_t colour)
{
    struct top_cell *cell;

    for (size_t c = 0; (cell = cell_at(p, row, c)); c++) {
        cell->reverse = reverse;
        cell->bold = !reverse;
        cell->colour = colour;
    }
}

void paint_job(struct painter *p, size_t row, uint32_t job)
{
    struct top_cell *cell;

    for (size_t c = 0; (cell = cell_at(p, row, c)); c++)
        cell->job = job;
}
