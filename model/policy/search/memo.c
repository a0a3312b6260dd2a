/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Numbers for layouts that were seen before. */

#include "model/policy/search/memo.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"

struct memo {
    size_t most_cells, cells;
    size_t layouts, used; /* there is room for; known */
    size_t slots;         /* a power of two, at least twice LAYOUTS */
    uint32_t *number;     /* [slots] + 1 of a layout, 0: free */
    uint16_t *key;        /* [(layouts + 1) * most_cells], the last to compare */
};

struct memo *memo_new(size_t cells, size_t layouts)
{
    struct memo *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->most_cells = m->cells = cells;
    m->layouts = layouts;
    for (m->slots = 1; m->slots < 2 * layouts; m->slots *= 2)
        ;
    m->number = calloc(m->slots, sizeof(*m->number));
    m->key = calloc((layouts + 1) * cells, sizeof(*m->key));
    if (!m->number || !m->key) {
        memo_free(m);
        return NULL;
    }
    return m;
}

void memo_free(struct memo *m)
{
    if (!m)
        return;
    free(m->number);
    free(m->key);
    free(m);
}

void memo_forget(struct memo *m, size_t cells)
{
    if (m->used)
        memset(m->number, 0, m->slots * sizeof(*m->number));
    m->used = 0;
    m->cells = cells;
}

/* Few bytes to hash and to compare: four numbers go into a word at once. */
static void shorten(const size_t *counts, size_t cells, uint16_t *key)
{
    size_t c = 0;

    for (; c + 4 <= cells; c += 4) {
        uint16_t four[4] = {(uint16_t)counts[c], (uint16_t)counts[c + 1],
                            (uint16_t)counts[c + 2], (uint16_t)counts[c + 3]};
        memcpy(&key[c], four, sizeof(four));
    }
    for (; c < cells; c++)
        key[c] = (uint16_t)counts[c];
}

size_t memo_number(struct memo *m, const size_t *counts, bool *known)
{
    uint16_t *key = &m->key[m->layouts * m->most_cells];
    size_t size = m->cells * sizeof(*key);
    uint64_t hash = HASH_START;

    if (m->used == m->layouts)
        memo_forget(m, m->cells);
    shorten(counts, m->cells, key);
    hash_bytes(&hash, key, size);
    for (size_t slot = (size_t)hash;; slot++) {
        uint32_t *number = &m->number[slot & (m->slots - 1)];
        *known = *number;
        if (!*number) {
            memcpy(&m->key[m->used * m->cells], key, size);
            *number = (uint32_t)++m->used;
        }
        if (!*known || !memcmp(&m->key[(*number - 1) * m->cells], key, size))
            return *number - 1;
    }
}
