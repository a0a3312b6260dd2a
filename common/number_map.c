/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A map from numbers to pointers: process ids, user ids. */

#include "common/number_map.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "common/hash.h"

#define ROOM_LEAST 16

struct number_map_slot {
    uint64_t number; /* 0: free */
    void *value;
};

/* 16 random bytes that the kernel gives each program. */
static uint64_t seed(void)
{
    const void *random = (const void *)getauxval(AT_RANDOM);
    uint64_t value = HASH_START;

    if (random)
        memcpy(&value, random, sizeof(value));
    return value;
}

/* Where NUMBER is, or the free slot where it would be. */
static struct number_map_slot *slot_of(struct number_map *m, uint64_t number)
{
    uint64_t h = seed();

    hash_word(&h, number);
    for (size_t i = (size_t)h;; i++) {
        struct number_map_slot *s = &m->slot[i & (m->room - 1)];
        m->compared++;
        if (!s->number || s->number == number)
            return s;
    }
}

void *number_map_find(struct number_map *m, uint64_t number)
{
    struct number_map_slot *s = m->count ? slot_of(m, number) : NULL;

    return s && s->number ? s->value : NULL;
}

static int grow(struct number_map *m)
{
    struct number_map old = *m;
    size_t room = old.room ? 2 * old.room : ROOM_LEAST;
    struct number_map_slot *slot = calloc(room, sizeof(*slot));

    if (!slot) {
        errno = ENOMEM;
        return -1;
    }
    m->slot = slot;
    m->room = room;
    for (size_t i = 0; i < old.room; i++)
        if (old.slot[i].number)
            *slot_of(m, old.slot[i].number) = old.slot[i];
    free(old.slot);
    return 0;
}

int number_map_put(struct number_map *m, uint64_t number, void *value)
{
    /* Half of the slots are free, which keeps runs short. */
    if (2 * (m->count + 1) > m->room && grow(m) < 0)
        return -1;
    struct number_map_slot *s = slot_of(m, number);
    m->count += !s->number;
    *s = (struct number_map_slot){number, value};
    return 0;
}

void number_map_remove(struct number_map *m, uint64_t number)
{
    struct number_map_slot *s = m->count ? slot_of(m, number) : NULL;

    if (!s || !s->number)
        return;
    s->number = 0;
    m->count--;
    /* What stands behind may be there only because this place was taken. */
    for (size_t i = (size_t)(s - m->slot) + 1;
         m->slot[i & (m->room - 1)].number; i++) {
        struct number_map_slot moved = m->slot[i & (m->room - 1)];
        m->slot[i & (m->room - 1)].number = 0;
        *slot_of(m, moved.number) = moved;
    }
}

void number_map_clear(struct number_map *m)
{
    free(m->slot);
    *m = (struct number_map){.compared = m->compared};
}
