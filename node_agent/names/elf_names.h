/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The names of places in a program or library. */

#ifndef COSCHED_ELF_NAMES_H
#define COSCHED_ELF_NAMES_H

/* Concept
 *
 * The only file that knows libdw.  It believes what a file says, and reads as much of it as it
 * says: only a process that may be killed, and has limits, may call it (region_names.h).
 * Debug information apart from the file (.gnu_debuglink, build id) is found where the system keeps
 * it; no server is asked.
 */

#include <stddef.h>
#include <stdint.h>

#define REGION_LABEL_MAX 96 /* "conj_grad, cg.c:87" with its zero */

struct elf_names;

/* Look at the file behind FD, which stays the caller's; PATH is where it is.  NULL if it is no ELF
 * file, or without libdw. */
struct elf_names *elf_names_open(int fd, const char *path);

/* The first 8 bytes of its build id, 0 if it has none. */
uint64_t elf_names_id(const struct elf_names *names);

/* What is at OFFSET from where it was loaded: function, file and line as far as they are known.
 * LABEL is empty when nothing is. */
void elf_names_label(struct elf_names *names, uint64_t offset, char label[REGION_LABEL_MAX]);

/* Takes NULL. */
void elf_names_close(struct elf_names *names);

#endif /* COSCHED_ELF_NAMES_H */
