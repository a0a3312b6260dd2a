/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* What the file of a program or library says of its OpenMP runtime. */

#include "node_agent/enforce/program_elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES_MAX    4096  /* bytes of a segment of notes */
#define DYNAMIC_MAX  4096  /* bytes: 256 entries */
#define VERSIONS_MAX 65536 /* bytes of a table of versions */
#define SECTIONS_MAX 256
#define SYMBOLS_MAX  (32u << 20) /* bytes of a table of symbols: a million */
#define NAMES_MAX    (64u << 20) /* bytes of their names */
#define STRINGS_MAX  (64u << 20) /* bytes searched for strings */
#define BLOCK        65536

/* What tells a runtime that was linked into the file: a symbol that it defines,
 * and a string that nothing else has. */
static const struct {
    const char *runtime, *symbol, *string;
} runtimes[] = {
    {"libgomp", "GOMP_parallel", "GOMP_SPINCOUNT"},
    {"libomp", "__kmpc_fork_call", "KMP_BLOCKTIME"},
};
#define RUNTIMES (sizeof(runtimes) / sizeof(runtimes[0]))

/* Read up to SIZE bytes at OFFSET.  How many there are. */
static size_t read_at(const struct program_elf *e, uint64_t offset, void *to,
                      size_t size)
{
    size_t got = 0;

    if (offset >= e->size)
        return 0;
    while (got < size) {
        ssize_t n = pread(e->fd, (char *)to + got, size - got,
                          (off_t)(offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

int program_elf_open(struct program_elf *e, int fd)
{
    struct stat st;

    memset(e, 0, sizeof(*e));
    e->fd = fd;
    if (fstat(fd, &st) < 0)
        return -1;
    e->size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
    if (!S_ISREG(st.st_mode) || e->size > INT64_MAX / 2 ||
        read_at(e, 0, &e->header, sizeof(e->header)) < sizeof(e->header) ||
        memcmp(e->header.e_ident, ELFMAG, SELFMAG) ||
        e->header.e_ident[EI_CLASS] != ELFCLASS64 ||
        e->header.e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
                                           ? ELFDATA2LSB
                                           : ELFDATA2MSB) ||
        e->header.e_phentsize != sizeof(Elf64_Phdr)) {
        errno = ENOEXEC;
        return -1;
    }
    e->segments = e->header.e_phnum;
    if (e->segments > sizeof(e->segment) / sizeof(e->segment[0]))
        e->segments = sizeof(e->segment) / sizeof(e->segment[0]);
    e->segments = read_at(e, e->header.e_phoff, e->segment,
                          e->segments * sizeof(Elf64_Phdr)) /
                  sizeof(Elf64_Phdr);
    return 0;
}

/* ---- notes ----------------------------------------------------------------
 */

static bool has_our_note(const char *notes, size_t size)
{
    size_t at = 0;
    Elf64_Nhdr n;

    while (size - at >= sizeof(n)) {
        memcpy(&n, notes + at, sizeof(n));
        at += sizeof(n);
        uint64_t name = ((uint64_t)n.n_namesz + 3) & ~UINT64_C(3);
        uint64_t rest = ((uint64_t)n.n_descsz + 3) & ~UINT64_C(3);
        if (n.n_type == PROGRAM_NOTE_TYPE &&
            n.n_namesz == sizeof(PROGRAM_NOTE_OWNER) &&
            size - at >= n.n_namesz &&
            !memcmp(notes + at, PROGRAM_NOTE_OWNER, n.n_namesz))
            return true;
        if (name + rest > size - at)
            break;
        at += name + rest;
    }
    return false;
}

bool program_elf_is_ours(const struct program_elf *e)
{
    char notes[NOTES_MAX];

    for (size_t i = 0; i < e->segments; i++) {
        const Elf64_Phdr *s = &e->segment[i];
        if (s->p_type == PT_NOTE &&
            has_our_note(notes,
                         read_at(e, s->p_offset, notes,
                                 s->p_filesz < sizeof(notes) ? s->p_filesz
                                                             : sizeof(notes))))
            return true;
    }
    return false;
}

/* ---- versions of symbols ----------------------------------------------------
 */

/* Where in the file ADDRESS comes from; a place behind its end if from nowhere.
 */
static uint64_t offset_of(const struct program_elf *e, uint64_t address)
{
    for (size_t i = 0; i < e->segments; i++) {
        const Elf64_Phdr *s = &e->segment[i];
        if (s->p_type == PT_LOAD && address >= s->p_vaddr &&
            address - s->p_vaddr < s->p_filesz)
            return s->p_offset + (address - s->p_vaddr);
    }
    return e->size;
}

/* Offset of what the dynamic section calls TAG. */
static uint64_t dynamic(const struct program_elf *e, int64_t tag)
{
    Elf64_Dyn entry[DYNAMIC_MAX / sizeof(Elf64_Dyn)];

    for (size_t i = 0; i < e->segments; i++) {
        const Elf64_Phdr *s = &e->segment[i];
        if (s->p_type != PT_DYNAMIC)
            continue;
        size_t n = read_at(e, s->p_offset, entry,
                           s->p_filesz < sizeof(entry) ? s->p_filesz
                                                       : sizeof(entry));
        for (size_t k = 0; k < n / sizeof(entry[0]); k++)
            if (entry[k].d_tag == tag)
                return offset_of(e, entry[k].d_un.d_ptr);
    }
    return e->size;
}

/* Add the version whose name is at OFFSET. */
static void add_version(const struct program_elf *e, uint64_t offset,
                        struct program_versions *v)
{
    char *name = v->name[v->count];

    if (v->count == PROGRAM_VERSIONS)
        return;
    size_t n = read_at(e, offset, name, PROGRAM_VERSION_MAX);
    if (n && memchr(name, '\0', n) && *name)
        v->count++;
}

/* Verneed and Verdef are lists of lists: each entry says how far the first of
 * its own, and the next of its kind, are from it.  A list in a circle ends
 * after PROGRAM_VERSIONS steps. */
static void add_wanted(const struct program_elf *e, const char *table,
                       size_t size, uint64_t names, struct program_versions *v)
{
    Elf64_Verneed need;
    Elf64_Vernaux aux;

    for (size_t at = 0, i = 0;
         i < PROGRAM_VERSIONS && at <= size - sizeof(need);
         i++, at += need.vn_next) {
        memcpy(&need, table + at, sizeof(need));
        size_t in = at + need.vn_aux;
        for (size_t k = 0; k < need.vn_cnt && k < PROGRAM_VERSIONS &&
                           in <= size - sizeof(aux);
             k++) {
            memcpy(&aux, table + in, sizeof(aux));
            add_version(e, names + aux.vna_name, v);
            in += aux.vna_next;
        }
        if (!need.vn_next)
            break;
    }
}

static void add_defined(const struct program_elf *e, const char *table,
                        size_t size, uint64_t names, struct program_versions *v)
{
    Elf64_Verdef def;
    Elf64_Verdaux aux;

    for (size_t at = 0, i = 0; i < PROGRAM_VERSIONS && at <= size - sizeof(def);
         i++, at += def.vd_next) {
        memcpy(&def, table + at, sizeof(def));
        if (def.vd_aux <= size - sizeof(aux) - at) {
            memcpy(&aux, table + at + def.vd_aux, sizeof(aux));
            add_version(e, names + aux.vda_name, v);
        }
        if (!def.vd_next)
            break;
    }
}

void program_elf_versions(const struct program_elf *e, bool wanted,
                          struct program_versions *v)
{
    uint64_t names = dynamic(e, DT_STRTAB);
    uint64_t from = dynamic(e, wanted ? DT_VERNEED : DT_VERDEF);
    char *table = malloc(VERSIONS_MAX);

    v->count = 0;
    size_t size = table ? read_at(e, from, table, VERSIONS_MAX) : 0;
    /* Larger than any entry of these. */
    if (size > sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux) && wanted)
        add_wanted(e, table, size, names, v);
    else if (size > sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux))
        add_defined(e, table, size, names, v);
    free(table);
}

bool program_versions_have(const struct program_versions *v, const char *name)
{
    for (size_t i = 0; i < v->count; i++)
        if (!strcmp(v->name[i], name))
            return true;
    return false;
}

bool program_version_above(const char *a, const char *b)
{
    return strverscmp(a, b) > 0;
}

const char *program_versions_highest(const struct program_versions *v,
                                     const char *prefix)
{
    const char *highest = NULL;
    size_t length = strlen(prefix);

    for (size_t i = 0; i < v->count; i++) {
        const char *name = v->name[i];
        if (!strncmp(name, prefix, length) &&
            strspn(name + length, "0123456789.") == strlen(name + length) &&
            (!highest || program_version_above(name, highest)))
            highest = name;
    }
    return highest;
}

/* ---- a runtime linked into it ----------------------------------------------
 */

/* The runtime one of whose symbols is defined in the COUNT SYMBOLS with NAMES,
 * which end with a zero, or NULL. */
static const char *find_symbol(const Elf64_Sym *symbols, size_t count,
                               const char *names, size_t names_size)
{
    for (size_t i = 0; i < count; i++) {
        if (symbols[i].st_shndx == SHN_UNDEF ||
            symbols[i].st_name >= names_size)
            continue;
        const char *name = names + symbols[i].st_name;
        for (size_t r = 0; r < RUNTIMES; r++)
            if (*name == *runtimes[r].symbol &&
                !strcmp(name, runtimes[r].symbol))
                return runtimes[r].runtime;
    }
    return NULL;
}

/* The same for a section of symbols whose names are in the section NAMES. */
static const char *read_symbols(const struct program_elf *e,
                                const Elf64_Shdr *section,
                                const Elf64_Shdr *names)
{
    const size_t step = BLOCK / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);
    size_t size = names->sh_size < NAMES_MAX ? names->sh_size : NAMES_MAX;
    uint64_t all = section->sh_size < SYMBOLS_MAX ? section->sh_size
                                                  : SYMBOLS_MAX;
    const char *found = NULL;

    if (size > e->size)
        size = e->size;
    char *text = malloc(size + 1), *block = malloc(step);
    if (text && block) {
        size = read_at(e, names->sh_offset, text, size);
        text[size] = '\0';
        for (uint64_t at = 0; at < all && !found; at += step) {
            size_t n = read_at(e, section->sh_offset + at, block,
                               all - at < step ? all - at : step);
            found = find_symbol((const Elf64_Sym *)block, n / sizeof(Elf64_Sym),
                                text, size);
            if (n < step)
                break;
        }
    }
    free(text);
    free(block);
    return found;
}

/* By the table of symbols; *STRIPPED when there is none. */
static const char *by_symbols(const struct program_elf *e, bool *stripped)
{
    Elf64_Shdr *s = malloc(SECTIONS_MAX * sizeof(*s));
    size_t count = e->header.e_shnum < SECTIONS_MAX ? e->header.e_shnum
                                                    : SECTIONS_MAX;
    const char *found = NULL;

    *stripped = true;
    if (!s || e->header.e_shentsize != sizeof(*s))
        count = 0;
    count = count ? read_at(e, e->header.e_shoff, s, count * sizeof(*s)) /
                        sizeof(*s)
                  : 0;
    for (size_t i = 0; i < count && !found; i++) {
        if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= count)
            continue;
        *stripped = false;
        found = read_symbols(e, &s[i], &s[s[i].sh_link]);
        break;
    }
    free(s);
    return found;
}

/* Search the SIZE bytes at OFFSET for one of the strings. */
static const char *find_string(const struct program_elf *e, uint64_t offset,
                               uint64_t size, char *block)
{
    const size_t overlap = 32; /* longer than any of them */

    for (uint64_t at = 0; at < size; at += BLOCK - overlap) {
        size_t n = read_at(e, offset + at, block,
                           size - at < BLOCK ? size - at : BLOCK);
        for (size_t r = 0; r < RUNTIMES; r++)
            if (memmem(block, n, runtimes[r].string,
                       strlen(runtimes[r].string) + 1))
                return runtimes[r].runtime;
        if (n < BLOCK)
            break;
    }
    return NULL;
}

/* By strings among what is not written to. */
static const char *by_strings(const struct program_elf *e)
{
    uint64_t left = STRINGS_MAX;
    char *block = malloc(BLOCK);
    const char *found = NULL;

    for (size_t i = 0; block && i < e->segments && left && !found; i++) {
        const Elf64_Phdr *s = &e->segment[i];
        if (s->p_type != PT_LOAD || s->p_flags & PF_W)
            continue;
        uint64_t size = s->p_filesz < left ? s->p_filesz : left;
        found = find_string(e, s->p_offset, size, block);
        left -= size;
    }
    free(block);
    return found;
}

const char *program_elf_runtime(const struct program_elf *e, bool *probably)
{
    bool stripped;
    const char *found = by_symbols(e, &stripped);

    *probably = false;
    if (found || !stripped)
        return found;
    found = by_strings(e);
    *probably = found != NULL;
    return found;
}
