/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A hash of what is compared often: whether anything has changed, or is known. */

#ifndef COSCHED_MODEL_HASH_H
#define COSCHED_MODEL_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Add one number to *H.  Each step is a bijection of *H and, for one *H, of
 * WORD, so that a change of one number always shows. */
static inline void hash_word(uint64_t *h, uint64_t word)
{
    uint64_t x = (*h ^ word) * UINT64_C(0x9e3779b97f4a7c15);

    *h = x ^ x >> 29;
}

/* Add the SIZE bytes at DATA, eight at a time: most of what is hashed in each
 * epoch is a hundred bytes long. */
static inline void hash_bytes(uint64_t *h, const void *data, size_t size)
{
    const unsigned char *from = data;
    uint64_t word;

    for (; size >= sizeof(word); from += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, from, sizeof(word));
        hash_word(h, word);
    }
    word = 0;
    memcpy(&word, from, size);
    hash_word(h, word ^ (uint64_t)size << 56);
}

#endif /* COSCHED_MODEL_HASH_H */
