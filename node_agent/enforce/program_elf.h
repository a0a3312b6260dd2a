/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the file of a program or library says of its OpenMP runtime. */

#ifndef COSCHED_PROGRAM_ELF_H
#define COSCHED_PROGRAM_ELF_H

/* Concept
 *
 * Files of users: each number in them may be wrong.  They are read by pread(),
 * never mapped (another may cut them meanwhile), in blocks of bounded size and
 * number; what points outside of the file, or would take longer, is as if it
 * were not there.  64-bit files of the machine's own byte order only.
 *
 * Our libgomp is told by a note (settings.c of libgomp-coop): a build, an
 * installed file and a copy in a container have it, whatever they are called.
 */

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_NOTE_OWNER "coschedule"
#define PROGRAM_NOTE_TYPE  1
#define PROGRAM_VERSION_MAX                                                    \
    32 /* name of a symbol version with its zero; longer ones                  \
          are left out */
#define PROGRAM_VERSIONS 96 /* of one file; more are left out */

struct program_elf {
    int fd; /* the caller's */
    uint64_t size;
    Elf64_Ehdr header;
    Elf64_Phdr segment[32];
    size_t segments;
};

/* Versions of symbols that a file has, or wants of others. */
struct program_versions {
    size_t count;
    char name[PROGRAM_VERSIONS][PROGRAM_VERSION_MAX];
};

/* Look at the file behind FD.  -1 with errno ENOEXEC or that of reading it. */
int program_elf_open(struct program_elf *elf, int fd);

/* True when it is the cooperative libgomp. */
bool program_elf_is_ours(const struct program_elf *elf);

/* The versions that it defines, or with WANTED those that it wants. */
void program_elf_versions(const struct program_elf *elf, bool wanted,
                          struct program_versions *versions);

/* The OpenMP runtime that it contains, "libgomp", or NULL; *PROBABLY when only
 * strings tell, as it has no symbols. */
const char *program_elf_runtime(const struct program_elf *elf, bool *probably);

/* True when the version NAME is among VERSIONS. */
bool program_versions_have(const struct program_versions *versions,
                           const char *name);

/* The highest of VERSIONS that are called PREFIX and two numbers
 * ("GLIBC_2.34"), or NULL. */
const char *program_versions_highest(const struct program_versions *versions,
                                     const char *prefix);

/* Is version A, PREFIX and numbers, higher than B? */
bool program_version_above(const char *a, const char *b);

#endif /* COSCHED_PROGRAM_ELF_H */
