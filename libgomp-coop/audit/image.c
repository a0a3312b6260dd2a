/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Read the tables of ELF objects (image.h). */

#include "image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bare.h"

#if defined __x86_64__
#define MACHINE EM_X86_64
#elif defined __aarch64__
#define MACHINE EM_AARCH64
#endif

#define VERSION_INDEX 0x7fff /* of a symbol's version, without "hidden" */

/* ---- addresses ---------------------------------------------------------- */

/* LENGTH bytes at OFFSET of the file. */
static const void *in_file(const struct image *image, size_t offset,
                           size_t length)
{
    if (offset > image->size || length > image->size - offset)
        return NULL;
    return (const void *)(image->base + offset);
}

/* LENGTH bytes at ADDRESS as the object counts; NULL if it has no such bytes.
 */
static const void *bytes_at(const struct image *image, uintptr_t address,
                            size_t length)
{
    const ElfW(Phdr) * segment;

    if (!image->file)
        return (const void *)(image->base + address);
    segment = in_file(image, image->file->e_phoff, 0);
    for (size_t i = 0; i < image->file->e_phnum; i++, segment++)
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz &&
            length <= segment->p_filesz - (address - segment->p_vaddr))
            return in_file(image,
                           segment->p_offset + (address - segment->p_vaddr),
                           length);
    return NULL;
}

/* COUNT elements of TYPE there; NULL also where they are not aligned. */
#define at(image, type, address, count)                                        \
    ((const type *)aligned_at(image, address, sizeof(type), count,             \
                              _Alignof(type)))
static const void *aligned_at(const struct image *image, uintptr_t address,
                              size_t size, size_t count, size_t alignment)
{
    const void *p = count <= SIZE_MAX / size
                        ? bytes_at(image, address, size * count)
                        : NULL;

    return (uintptr_t)p % alignment ? NULL : p;
}

/* The string number OFFSET; "" if there is none. */
static const char *string(const struct image *image, size_t offset)
{
    return offset < image->strings_size ? image->strings + offset : "";
}

/* ---- opening ------------------------------------------------------------ */

static const char damaged[] = "is damaged";

/* Note what the dynamic section says.  False if it cannot be right. */
static bool read_dynamic(struct image *image)
{
    uintptr_t strings = 0;

    for (const ElfW(Dyn) *d = image->dynamic;
         d < image->dynamic_end && d->d_tag != DT_NULL; d++) {
        uintptr_t value = d->d_un.d_val, address = value;

        /* The loader of some releases has relocated some of them. */
        if (!image->file && value >= image->base)
            address -= image->base;
        switch (d->d_tag) {
        case DT_STRTAB:
            strings = address;
            break;
        case DT_STRSZ:
            image->strings_size = value;
            break;
        case DT_SYMTAB:
            image->symbols = address;
            break;
        case DT_GNU_HASH:
            image->hash = address;
            break;
        case DT_VERSYM:
            image->versions = address;
            break;
        case DT_VERDEF:
            image->definitions = address;
            break;
        case DT_VERDEFNUM:
            image->definition_count = value;
            break;
        case DT_VERNEED:
            image->needs = address;
            break;
        case DT_RELA:
            image->relocations = address;
            break;
        case DT_RELASZ:
            image->relocation_count = value / sizeof(ElfW(Rela));
            break;
        case DT_JMPREL:
            image->calls = address;
            break;
        case DT_PLTRELSZ:
            image->call_count = value / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
    image->strings = bytes_at(image, strings, image->strings_size);
    return image->strings && image->strings_size &&
           !image->strings[image->strings_size - 1];
}

/* Is the file a whole shared object for this processor? */
static const char *check_header(const struct image *image)
{
    const ElfW(Ehdr) *header = image->file;
    const ElfW(Phdr) * segment;

    if (!in_file(image, 0, sizeof(*header)) || header->e_ident[0] != ELFMAG0 ||
        header->e_ident[1] != ELFMAG1 || header->e_ident[2] != ELFMAG2 ||
        header->e_ident[3] != ELFMAG3)
        return "is no shared library";
    if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != MACHINE || header->e_type != ET_DYN)
        return "is no shared library for this processor";
    if (header->e_phoff % 8 || header->e_phentsize != sizeof(*segment) ||
        !in_file(image, header->e_phoff, header->e_phnum * sizeof(*segment)))
        return damaged;
    if (header->e_shnum &&
        !in_file(image, header->e_shoff,
                 (size_t)header->e_shnum * header->e_shentsize))
        return "is cut short";
    segment = in_file(image, header->e_phoff, 0);
    for (size_t i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD &&
            !in_file(image, segment[i].p_offset, segment[i].p_filesz))
            return "is cut short";
    return NULL;
}

static const char *read_file(struct image *image)
{
    const char *why = check_header(image);

    if (why)
        return why;
    const ElfW(Phdr) *segment = in_file(image, image->file->e_phoff, 0);
    for (size_t i = 0; i < image->file->e_phnum; i++)
        if (segment[i].p_type == PT_DYNAMIC && segment[i].p_offset % 8 == 0) {
            image->dynamic = in_file(image, segment[i].p_offset,
                                     segment[i].p_filesz);
            if (image->dynamic)
                image->dynamic_end = image->dynamic +
                                     segment[i].p_filesz / sizeof(ElfW(Dyn));
        }
    return image->dynamic && read_dynamic(image) && image->symbols &&
                   image->hash && image->versions && image->definitions
               ? NULL
               : damaged;
}

const char *image_open(struct image *image, const char *path)
{
    struct stat status;
    const char *why;

    *image = (struct image){0};
    long fd = bare_syscall(SYS_openat, AT_FDCWD, (long)path,
                           O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
    if (fd < 0)
        return "cannot be opened";
    long base = bare_syscall(SYS_fstat, fd, (long)&status, 0, 0, 0, 0);
    if (base == 0)
        base = S_ISREG(status.st_mode) && status.st_size > 0
                   ? bare_syscall(SYS_mmap, 0, status.st_size, PROT_READ,
                                  MAP_PRIVATE, fd, 0)
                   : -1;
    bare_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    if (base < 0 && base > -4096)
        return "cannot be read";
    image->base = (uintptr_t)base;
    image->size = (size_t)status.st_size;
    image->file = (const ElfW(Ehdr) *)base;
    why = read_file(image);
    if (why)
        image_close(image);
    return why;
}

void image_close(struct image *image)
{
    bare_syscall(SYS_munmap, (long)image->base, (long)image->size, 0, 0, 0, 0);
    *image = (struct image){0};
}

void image_of_map(struct image *image, const struct link_map *map)
{
    *image = (struct image){.base = map->l_addr, .dynamic = map->l_ld};
    image->dynamic_end = map->l_ld +
                         (map->l_ld ? 4096 : 0); /* has its DT_NULL */
    if (!read_dynamic(image))
        *image = (struct image){0};
}

size_t image_static_tls(const struct link_map *map)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;
    const ElfW(Dyn) *d = map->l_ld;

    while (d && d->d_tag != DT_NULL && d->d_tag != DT_FLAGS)
        d++;
    if (!d || d->d_tag != DT_FLAGS || !(d->d_un.d_val & DF_STATIC_TLS))
        return 0;
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(map->l_addr +
                                                     header->e_phoff);
    for (size_t i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_TLS)
            return segment[i].p_memsz + segment[i].p_align;
    return 0;
}

/* ---- questions ---------------------------------------------------------- */

bool image_depends(const struct image *image, const char *name)
{
    for (const ElfW(Dyn) *d = image->dynamic;
         d < image->dynamic_end && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED &&
            bare_equal(string(image, d->d_un.d_val), name))
            return true;
    return false;
}

/* The name of the version definition number INDEX, or of the one that is called
 * NAME; NULL if there is none. */
static const char *definition(const struct image *image, size_t index,
                              const char *name)
{
    uintptr_t address = image->definitions;
    const ElfW(Verdef) * d;

    for (size_t i = 0; address && i < image->definition_count; i++) {
        const ElfW(Verdaux) *aux = NULL;
        if ((d = at(image, ElfW(Verdef), address, 1)))
            aux = at(image, ElfW(Verdaux), address + d->vd_aux, 1);
        if (!aux)
            return NULL;
        const char *own = string(image, aux->vda_name);
        /* The first is the name of the file. */
        if (d->vd_flags & VER_FLG_BASE ? false
            : name                     ? bare_equal(own, name)
                                       : d->vd_ndx == index)
            return own;
        if (!d->vd_next)
            return NULL;
        address += d->vd_next;
    }
    return NULL;
}

bool image_defines(const struct image *image, const char *version)
{
    return definition(image, 0, version) != NULL;
}

/* Symbol number N, and the number of its version; NULL if there is none. */
static const ElfW(Sym) * symbol_at(const struct image *image, size_t n)
{
    return at(image, ElfW(Sym), image->symbols + n * sizeof(ElfW(Sym)), 1);
}

static const ElfW(Versym) * version_at(const struct image *image, size_t n)
{
    return at(image, ElfW(Versym), image->versions + n * sizeof(ElfW(Versym)),
              1);
}

/* Is symbol number N exported as NAME with VERSION? */
static bool is_symbol(const struct image *image, size_t n, const char *name,
                      const char *version)
{
    const ElfW(Sym) *symbol = symbol_at(image, n);
    const ElfW(Versym) *index = version_at(image, n);

    if (!symbol || !index || symbol->st_shndx == SHN_UNDEF ||
        !bare_equal(string(image, symbol->st_name), name))
        return false;
    if (!version)
        return true;
    const char *own = definition(image, *index & VERSION_INDEX, NULL);
    return own && bare_equal(own, version);
}

/* The header of DT_GNU_HASH; behind it are a Bloom filter, the buckets, and a
 * hash value for each symbol from the first hashed one. */
struct hash_table {
    uint32_t bucket_count, first, filter_words, filter_shift;
};

bool image_exports(const struct image *image, const char *name,
                   const char *version)
{
    const struct hash_table *table = at(image, struct hash_table, image->hash,
                                        1);
    uint32_t hash = 5381;

    for (const char *p = name; *p; p++)
        hash = hash * 33 + (unsigned char)*p;
    if (!table || !table->bucket_count)
        return false;
    uintptr_t buckets = image->hash + sizeof(*table) +
                        (uintptr_t)table->filter_words * sizeof(ElfW(Addr));
    uintptr_t chain = buckets + (uintptr_t)table->bucket_count * 4;
    const uint32_t *bucket = at(image, uint32_t,
                                buckets + hash % table->bucket_count * 4, 1);
    if (!bucket || *bucket < table->first)
        return false;
    for (size_t n = *bucket;; n++) {
        const uint32_t *value = at(image, uint32_t,
                                   chain + (n - table->first) * 4, 1);
        if (!value)
            return false;
        if ((*value | 1) == (hash | 1) && is_symbol(image, n, name, version))
            return true;
        if (*value & 1)
            return false;
    }
}

/* A version that is wanted: of the object FILE, with the INDEX that symbols
 * have.  False ends the walk. */
struct want {
    const char *file, *version;
    size_t index;
};

static bool next_want(const struct image *image, uintptr_t *need,
                      uintptr_t *aux, struct want *want)
{
    const ElfW(Verneed) * n;
    const ElfW(Vernaux) * a;

    if (!*need)
        *need = image->needs;
    else if (!*aux) { /* the last one of its file */
        n = at(image, ElfW(Verneed), *need, 1);
        *need = n->vn_next ? *need + n->vn_next : 0;
    }
    if (!*need || !(n = at(image, ElfW(Verneed), *need, 1)))
        return false;
    if (!*aux)
        *aux = *need + n->vn_aux;
    if (!(a = at(image, ElfW(Vernaux), *aux, 1)))
        return false;
    *want = (struct want){string(image, n->vn_file), string(image, a->vna_name),
                          a->vna_other & VERSION_INDEX};
    *aux = a->vna_next ? *aux + a->vna_next : 0;
    return true;
}

const char *image_wants(const struct image *image, const char *name,
                        bool (*accept)(const void *data, const char *version),
                        const void *data)
{
    uintptr_t need = 0, aux = 0;
    struct want want;

    while (next_want(image, &need, &aux, &want))
        if ((!name || bare_equal(want.file, name)) &&
            !accept(data, want.version))
            return want.version;
    return NULL;
}

/* The version of symbol number N, as wanted from the object NAME.  "": wanted
 * from anywhere; NULL: from another one. */
static const char *wanted_version(const struct image *image, size_t n,
                                  const char *name)
{
    const ElfW(Versym) *index = NULL;
    uintptr_t need = 0, aux = 0;
    struct want want;

    if (image->versions)
        index = version_at(image, n);
    if (!index || (*index & VERSION_INDEX) <= VER_NDX_GLOBAL)
        return "";
    while (next_want(image, &need, &aux, &want))
        if (want.index == (*index & VERSION_INDEX))
            return bare_equal(want.file, name) ? want.version : NULL;
    return NULL;
}

static bool is_openmp(const char *symbol)
{
    static const char *const prefixes[] = {"__kmpc_", "kmp_", "omp_", "GOMP_",
                                           NULL};

    for (size_t i = 0; prefixes[i]; i++)
        if (bare_after(symbol, prefixes[i]))
            return true;
    return false;
}

static bool never(const void *data, const char *version)
{
    (void)data, (void)version;
    return false;
}

/* One more than the greatest symbol that COUNT relocations at ADDRESS name. */
static size_t relocated(const struct image *image, uintptr_t address,
                        size_t count, size_t greatest)
{
    const ElfW(Rela) *r = at(image, ElfW(Rela), address, count);

    for (size_t i = 0; address && r && i < count; i++)
        if (ELF64_R_SYM(r[i].r_info) >= greatest)
            greatest = ELF64_R_SYM(r[i].r_info) + 1;
    return greatest;
}

/* One more than the number of the last symbol that is imported.  Those come
 * before the first hashed one; where none is, relocations name them. */
static size_t imported(const struct image *image)
{
    const struct hash_table *table = at(image, struct hash_table, image->hash,
                                        1);

    if (image->hash && table && table->first > 1)
        return table->first;
    return relocated(image, image->relocations, image->relocation_count,
                     relocated(image, image->calls, image->call_count, 0));
}

const char *image_lacks(const struct image *image, const char *name,
                        const struct image *theirs)
{
    const ElfW(Sym) * symbol;
    bool versioned = image_wants(image, name, never, NULL);
    size_t count = image->symbols ? imported(image) : 0;

    for (size_t n = 1; n < count && (symbol = symbol_at(image, n)); n++) {
        const char *own = string(image, symbol->st_name);
        if (symbol->st_shndx != SHN_UNDEF ||
            ELF64_ST_BIND(symbol->st_info) == STB_WEAK)
            continue;
        const char *version = wanted_version(image, n, name);
        if (!version || (!*version && (versioned || !is_openmp(own))))
            continue;
        if (!image_exports(theirs, own, *version ? version : NULL))
            return own;
    }
    return NULL;
}
