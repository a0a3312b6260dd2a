/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A map from numbers to pointers: process ids, user ids. */

#ifndef COSCHED_NUMBER_MAP_H
#define COSCHED_NUMBER_MAP_H

/* Concept
 *
 * What users can make many of is looked up by its number, so that a lookup
 * costs the same however many there are.  A hash table with open addressing:
 * NUMBER may be any but 0, values are the caller's and never NULL.  A seed of
 * the process' own keeps users from choosing numbers that fall together.
 */

#include <stddef.h>
#include <stdint.h>

struct number_map {
    struct number_map_slot *slot; /* [room], room a power of two */
    size_t room, count;
    size_t compared; /* slots looked at, so far: for tests */
};

/* The value of NUMBER, or NULL. */
void *number_map_find(struct number_map *map, uint64_t number);

/* Set the value of NUMBER.  -1 with errno ENOMEM. */
int number_map_put(struct number_map *map, uint64_t number, void *value);

/* Forget NUMBER, which may be unknown. */
void number_map_remove(struct number_map *map, uint64_t number);

/* Free what MAP holds; it is empty then and may be used again. */
void number_map_clear(struct number_map *map);

#endif /* COSCHED_NUMBER_MAP_H */
