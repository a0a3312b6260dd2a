/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What a shared object defines and wants, from its file or from memory. */

#ifndef COSCHED_IMAGE_H
#define COSCHED_IMAGE_H

/* Concept
 *
 * An image is the dynamic section of an ELF object with its tables.  That of a
 * file may be anything, so each access is checked against the file's size; that
 * of an object which the loader has mapped is as the loader trusts it.
 */

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
    uintptr_t base; /* where the file, or address 0 of the object, is */
    size_t size;    /* of the file; 0: a mapped object */
    const ElfW(Ehdr) * file; /* NULL: a mapped object */
    const char *strings;
    size_t strings_size;
    const ElfW(Dyn) * dynamic, *dynamic_end;
    uintptr_t symbols, versions, hash, definitions, needs; /* addresses */
    uintptr_t relocations, calls;
    size_t definition_count, relocation_count, call_count;
};

/* Map the file at PATH, a shared object for this processor.  NULL, or what is
 * wrong with it; then there is nothing to unmap. */
const char *image_open(struct image *image, const char *path);
void image_close(struct image *image);

/* The object MAP, which the loader has mapped. */
void image_of_map(struct image *image, const struct link_map *map);

/* How much of the static block of thread-local storage the library MAP must
 * have. */
size_t image_static_tls(const struct link_map *map);

/* Is NAME a DT_NEEDED of it? */
bool image_depends(const struct image *image, const char *name);

/* Does it define VERSION? */
bool image_defines(const struct image *image, const char *version);

/* Does it export NAME, with VERSION unless that is NULL? */
bool image_exports(const struct image *image, const char *name,
                   const char *version);

/* The first version, in the order of the file, that is wanted from the object
 * called NAME (NULL: any) and for which ACCEPT(DATA, version) is false; NULL if
 * there is none. */
const char *image_wants(const struct image *image, const char *name,
                        bool (*accept)(const void *data, const char *version),
                        const void *data);

/* The first function or variable that IMAGE wants from the object called NAME
 * and THEIRS does not export; NULL if there is none.  Of an object that wants
 * no version from there, all imports that begin like OpenMP's count. */
const char *image_lacks(const struct image *image, const char *name,
                        const struct image *theirs);

#endif /* COSCHED_IMAGE_H */
