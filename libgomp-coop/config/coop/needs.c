/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Looks for what only kernel threads can give (needs.h).  */

#include "coop.h"
#include "needs.h"

#include <elf.h>
#include <link.h>
#include <string.h>

static const char *const functions[] = {
  "pthread_mutexattr_setprotocol",
  "pthread_kill",
  "pthread_sigqueue",
  "pthread_setaffinity_np",
  "pthread_attr_setaffinity_np",
  "sched_setaffinity",
  "pthread_setschedparam",
  "pthread_setschedprio",
  "sched_setscheduler",
};

static const char *const libraries[] = { "libpapi.so", "liblikwid.so" };

/* What the dynamic section of an object says about its imports.  */
struct imports
{
  const ElfW (Sym) * symbols;
  const char *strings;
  const ElfW (Rela) * tables[2];
  size_t sizes[2]; /* bytes */
};

static void
read_dynamic (const struct dl_phdr_info *info, struct imports *im)
{
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
	continue;
      /* The loader has made these addresses absolute.  */
      const ElfW (Dyn) *d
	  = (void *) (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
      for (; d->d_tag != DT_NULL; d++)
	switch (d->d_tag)
	  {
	  case DT_SYMTAB:
	    im->symbols = (void *) d->d_un.d_ptr;
	    break;
	  case DT_STRTAB:
	    im->strings = (void *) d->d_un.d_ptr;
	    break;
	  case DT_JMPREL:
	    im->tables[0] = (void *) d->d_un.d_ptr;
	    break;
	  case DT_PLTRELSZ:
	    im->sizes[0] = d->d_un.d_val;
	    break;
	  case DT_RELA:
	    im->tables[1] = (void *) d->d_un.d_ptr;
	    break;
	  case DT_RELASZ:
	    im->sizes[1] = d->d_un.d_val;
	    break;
	  }
    }
}

static const char *
find_import (const struct imports *im)
{
  if (!im->symbols || !im->strings)
    return NULL;
  for (int t = 0; t < 2; t++)
    for (size_t i = 0;
	 im->tables[t] && i < im->sizes[t] / sizeof (ElfW (Rela)); i++)
      {
	size_t index = ELF64_R_SYM (im->tables[t][i].r_info);
	if (index == 0 || im->symbols[index].st_shndx != SHN_UNDEF)
	  continue;
	const char *name = im->strings + im->symbols[index].st_name;
	for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
	  if (!strcmp (name, functions[f]))
	    return functions[f];
      }
  return NULL;
}

static int
look_at (struct dl_phdr_info *info, size_t size, void *arg)
{
  const char **found = arg;
  const char *base = strrchr (info->dlpi_name, '/');
  (void) size;

  base = base ? base + 1 : info->dlpi_name;
  if (*base == '\0')
    {
      /* The main program comes first and has no name; the vDSO has neither
	 relocations nor these imports.  */
      struct imports im;
      memset (&im, 0, sizeof im);
      read_dynamic (info, &im);
      *found = find_import (&im);
    }
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    if (!strncmp (base, libraries[i], strlen (libraries[i])))
      *found = libraries[i];
  return *found != NULL;
}

const char *
coop_needs_kernel_threads (void)
{
  const char *found = NULL;
  dl_iterate_phdr (look_at, &found);
  return found;
}
