/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The names of places in a program or library. */

#include "node_agent/names/elf_names.h"

#include "config.h"

#ifdef HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/errtext.h"
#include "node_agent/names/symbol_name.h"

struct elf_names {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Dwarf_Addr bias; /* address of offset 0 */
    uint64_t id;
};

struct elf_names *elf_names_open(int fd, const char *path)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
    };
    struct elf_names *n = calloc(1, sizeof(*n));
    const void *bits;
    Elf *elf = NULL;
    int own = n ? dup(fd) : -1; /* libdwfl closes what it uses */

    if (own >= 0 && (n->dwfl = dwfl_begin(&callbacks))) {
        n->module = dwfl_report_offline(n->dwfl, "", path, own);
        if (!n->module)
            close(own);
    } else if (own >= 0) {
        close(own);
    }
    if (!n || !n->module || dwfl_report_end(n->dwfl, NULL, NULL) < 0 ||
        !(elf = dwfl_module_getelf(n->module, &n->bias))) {
        elf_names_close(n);
        return NULL;
    }
    if (dwelf_elf_gnu_build_id(elf, &bits) >= (ssize_t)sizeof(n->id))
        for (size_t i = 0; i < sizeof(n->id); i++)
            n->id = n->id << 8 | ((const unsigned char *)bits)[i];
    return n;
}

uint64_t elf_names_id(const struct elf_names *n)
{
    return n->id;
}

void elf_names_close(struct elf_names *n)
{
    if (n && n->dwfl)
        dwfl_end(n->dwfl);
    free(n);
}

/* PATH without its directories. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The function of a file that begins last before LINE. */
struct search {
    const char *file, *own; /* own: of the unit */
    int line, best;
    bool fortran; /* whose main() is not the user's */
    Dwarf_Die function;
};

static int consider(Dwarf_Die *function, void *arg)
{
    struct search *s = arg;
    const char *name = dwarf_diename(function), *file = dwarf_decl_file(function);
    int line;

    /* libdw does not know Clang's file 0, the unit's own.  Directories are written in one way
     * here, and in another there. */
    if (name && !strcmp(last_part(file ? file : s->own), s->file) &&
        dwarf_decl_line(function, &line) == 0 && line <= s->line && line > s->best &&
        !strchr(name, '.') && !(s->fortran && !strcmp(name, "main"))) {
        s->best = line;
        s->function = *function;
    }
    return DWARF_CB_OK;
}

static bool is_fortran(Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    Dwarf_Word language;

    if (!dwarf_attr(unit, DW_AT_language, &attribute) ||
        dwarf_formudata(&attribute, &language) < 0)
        return false;
    return language == DW_LANG_Fortran77 || language == DW_LANG_Fortran90 ||
           language == DW_LANG_Fortran95 || language == DW_LANG_Fortran03 ||
           language == DW_LANG_Fortran08;
}

/* The function around LINE of FILE in UNIT. */
static void enclosing(Dwarf_Die *unit, const char *file, int line, char name[SYMBOL_NAME_MAX])
{
    const char *own = dwarf_diename(unit);
    struct search search = {.file = file, .own = own ? own : "", .line = line,
                            .fortran = is_fortran(unit)};
    Dwarf_Attribute attribute;

    dwarf_getfuncs(unit, consider, &search, 0);
    if (!search.best)
        return;
    const char *symbol = dwarf_formstring(
        dwarf_attr_integrate(&search.function, DW_AT_linkage_name, &attribute));
    if (!symbol || !symbol_name(symbol, is_fortran(unit), name))
        snprintf(name, SYMBOL_NAME_MAX, "%s", dwarf_diename(&search.function));
}

/* The compilation unit with ADDRESS, or NULL.  Clang writes no table of them. */
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);

    if (!unit)
        while ((unit = dwfl_module_nextcu(module, unit, bias)) &&
               dwarf_haspc(unit, address - *bias) <= 0)
            ;
    return unit;
}

/* The line at ADDRESS of UNIT, and its file without directories; 0: not known. */
static int line_of(Dwarf_Die *unit, Dwarf_Addr address, const char **file)
{
    Dwarf_Line *source = unit ? dwarf_getsrc_die(unit, address) : NULL;
    int line = 0;

    const char *path = source && dwarf_lineno(source, &line) == 0
                           ? dwarf_linesrc(source, NULL, NULL) : NULL;
    *file = path ? last_part(path) : NULL;
    return path ? line : 0;
}

void elf_names_label(struct elf_names *n, uint64_t offset, char label[REGION_LABEL_MAX])
{
    Dwarf_Addr address = offset + n->bias, bias = 0;
    char name[SYMBOL_NAME_MAX] = "";
    const char *file;
    GElf_Sym symbol;
    GElf_Off within;

    label[0] = '\0';
    Dwarf_Die *unit = unit_of(n->module, address, &bias);
    const char *of = dwfl_module_addrinfo(n->module, address, &within, &symbol, NULL, NULL, NULL);
    /* What begins before is another function, which has no size. */
    bool known = of && within < (symbol.st_size ? symbol.st_size : 1) &&
                 symbol_name(of, unit && is_fortran(unit), name);
    int line = line_of(unit, address - bias, &file);
    if (!known && line)
        enclosing(unit, file, line, name);
    if (!name[0] && !known && of && !strncmp(of, "MAIN__", 6))
        snprintf(name, sizeof(name), "main program");
    if (line)
        snprintf(label, REGION_LABEL_MAX, "%s%s%.40s:%d", name, *name ? ", " : "", file, line);
    else
        snprintf(label, REGION_LABEL_MAX, "%s", name);
    errtext_clean(label);
}

#else

struct elf_names *elf_names_open(int fd, const char *path)
{
    (void)fd;
    (void)path;
    return NULL;
}

uint64_t elf_names_id(const struct elf_names *names)
{
    (void)names;
    return 0;
}

void elf_names_label(struct elf_names *names, uint64_t offset, char label[REGION_LABEL_MAX])
{
    (void)names;
    (void)offset;
    label[0] = '\0';
}

void elf_names_close(struct elf_names *names)
{
    (void)names;
}

#endif
