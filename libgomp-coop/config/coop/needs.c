/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Looks for what the program needs of its threads (needs.h).  */

#include "coop.h"
#include "needs.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#define LENGTH(array) (sizeof (array) / sizeof *(array))

/* Functions that act on kernel threads.  raise is fine: it asks the kernel for
   the thread that it is on.  */
static const char *const kernel_functions[] = {
  "pthread_mutexattr_setprotocol",
  "pthread_kill",
  "pthread_sigqueue",
  "tgkill",
  "pthread_setaffinity_np",
  "pthread_attr_setaffinity_np",
  "sched_setaffinity",
  "pthread_setschedparam",
  "pthread_setschedprio",
  "sched_setscheduler",
  "sched_setparam",
  "pthread_getcpuclockid",
  "timer_create",
  "PAPI_library_init",
  "PAPI_thread_init",
  "likwid_markerInit",
  "perf_event_open",
};

/* System calls of that sort, which have no function or are made without it.
   Seen as arguments of syscall.  */
static const struct
{
  const char *name;
  uint32_t number;
} kernel_calls[] = {
#ifdef __x86_64__
  { "perf_event_open", 298 },
  { "tgkill", 234 },
  { "sched_setaffinity", 203 },
  { "sched_setattr", 314 },
#else
  { "perf_event_open", 241 },
#endif
};

/* Libraries that count by kernel thread whatever the program imports.  */
static const char *const kernel_libraries[]
    = { "libpapi.so", "liblikwid.so", "libpfm.so", "librseq.so" };

/* MPI's "funneled" means the thread that has called it.  */
static const char *const home_functions[]
    = { "MPI_Init_thread", "PMPI_Init_thread", "mpi_init_thread_",
	"mpi_init_thread_f08_" };

/* Calls that SA_RESTART does not make go on after a signal, ways to have such
   calls, and to change the rights to memory of a thread.  What waits in other
   libraries of the process expects signals.  */
static const char *const early_functions[] = {
  "nanosleep",	     "clock_nanosleep", "usleep",	  "sleep",
  "thrd_sleep",	     "poll",		"ppoll",	  "__poll_chk",
  "__ppoll_chk",     "select",		"pselect",	  "epoll_wait",
  "epoll_pwait",     "epoll_pwait2",	"pause",	  "sigsuspend",
  "sigwaitinfo",     "sigtimedwait",	"semop",	  "semtimedop",
  "msgrcv",	     "msgsnd",		"io_getevents",	  "sem_timedwait",
  "sem_clockwait",   "mq_timedsend",	"mq_timedreceive", "aio_suspend",
  "lio_listio",	     "setsockopt",	"syscall",	  "pkey_alloc",
  "_gfortran_sleep_i4_sub", "_gfortran_sleep_i8_sub",
};

/* They leave something behind in a thread's storage.  */
static const char *const storage_functions[]
    = { "pthread_key_create", "tss_create", "__cxa_thread_atexit",
	"__cxa_thread_atexit_impl", "uselocale" };

/* Libraries whose thread-local storage may be handed on: what they keep there
   is clean when a task has ended.  */
static const char *const runtime_libraries[] = {
  "libc.so",       "libm.so",	  "libpthread.so", "libdl.so",
  "librt.so",      "ld-linux",	  "linux-vdso.so", "libgomp.so",
  "libstdc++.so",  "libgcc_s.so", "libgfortran.so", "libquadmath.so",
};

/* A table of relocations, whose entries begin alike in both forms; in the
   third form (DT_RELR) they have no symbols.  */
struct relocations
{
  const char *start;
  size_t bytes;
  size_t entry;
};

enum
{
  JMPREL,
  REL,
  RELA,
  TABLES
};

/* What a module says about itself.  */
struct module
{
  const struct dl_phdr_info *info;
  const char *base; /* file name without directory */
  const ElfW (Sym) * symbols;
  const char *strings;
  struct relocations tables[TABLES];
  bool has_tls;
  bool has_regions;
  bool makes_syscalls;
  bool keeps_storage;
  const char *kernel_threads;
  const char *home;
  const char *early;
};

/* glibc has made these addresses absolute, other libraries have not.  */
static const void *
absolute (const struct dl_phdr_info *info, ElfW (Addr) p)
{
  return (const void *) (p < info->dlpi_addr ? info->dlpi_addr + p : p);
}

static void
read_dynamic (struct module *m, const ElfW (Dyn) * d)
{
  struct relocations *t = m->tables;

  t[JMPREL].entry = t[RELA].entry = sizeof (ElfW (Rela));
  t[REL].entry = sizeof (ElfW (Rel));
  for (; d->d_tag != DT_NULL; d++)
    switch (d->d_tag)
      {
      case DT_SYMTAB:
	m->symbols = absolute (m->info, d->d_un.d_ptr);
	break;
      case DT_STRTAB:
	m->strings = absolute (m->info, d->d_un.d_ptr);
	break;
      case DT_JMPREL:
	t[JMPREL].start = absolute (m->info, d->d_un.d_ptr);
	break;
      case DT_PLTRELSZ:
	t[JMPREL].bytes = d->d_un.d_val;
	break;
      case DT_PLTREL:
	if (d->d_un.d_val == DT_REL)
	  t[JMPREL].entry = sizeof (ElfW (Rel));
	break;
      case DT_REL:
	t[REL].start = absolute (m->info, d->d_un.d_ptr);
	break;
      case DT_RELSZ:
	t[REL].bytes = d->d_un.d_val;
	break;
      case DT_RELA:
	t[RELA].start = absolute (m->info, d->d_un.d_ptr);
	break;
      case DT_RELASZ:
	t[RELA].bytes = d->d_un.d_val;
	break;
      }
}

static const char *
find_name (const char *const *names, size_t count, const char *name)
{
  for (size_t i = 0; i < count; i++)
    if (!strcmp (names[i], name))
      return names[i];
  return NULL;
}

static const char *
find_library (const char *const *names, size_t count, const char *base)
{
  for (size_t i = 0; i < count; i++)
    if (!strncmp (names[i], base, strlen (names[i])))
      return names[i];
  return NULL;
}

static void
note_import (struct module *m, const char *name)
{
  if (!strncmp (name, "GOMP_", 5) || !strncmp (name, "__kmpc_", 7))
    m->has_regions = true;
  else if (!strcmp (name, "syscall"))
    m->makes_syscalls = true;
  else if (find_name (storage_functions, LENGTH (storage_functions), name))
    m->keeps_storage = true;
  if (!m->kernel_threads)
    m->kernel_threads
	= find_name (kernel_functions, LENGTH (kernel_functions), name);
  if (!m->home)
    m->home = find_name (home_functions, LENGTH (home_functions), name);
  if (!m->early)
    m->early = find_name (early_functions, LENGTH (early_functions), name);
}

/* A module may mention a symbol without importing it, as the table of symbols
   does not tell its own length; a relocation is what makes it an import.  */
static void
read_imports (struct module *m)
{
  if (!m->symbols || !m->strings)
    return;
  for (int t = 0; t < TABLES; t++)
    for (size_t at = 0; m->tables[t].start && at < m->tables[t].bytes;
	 at += m->tables[t].entry)
      {
	const ElfW (Rel) *r = (const void *) (m->tables[t].start + at);
#if __SIZEOF_POINTER__ == 8
	size_t index = ELF64_R_SYM (r->r_info);
#else
	size_t index = ELF32_R_SYM (r->r_info);
#endif
	if (index && m->symbols[index].st_shndx == SHN_UNDEF)
	  note_import (m, m->strings + m->symbols[index].st_name);
      }
}

/* Does the code in [P, P + SIZE) load NUMBER as a function's first argument? */
static bool
loads_number (const char *p, size_t size, uint32_t number)
{
#ifdef __x86_64__
  char mov_edi[5] = { (char) 0xbf };
  memcpy (mov_edi + 1, &number, sizeof number);
  return memmem (p, size, mov_edi, sizeof mov_edi) != NULL;
#elif defined __aarch64__
  uint32_t movz_w0 = 0x52800000u | number << 5, movz_x0 = movz_w0 | 1u << 31;
  return memmem (p, size, &movz_w0, 4) || memmem (p, size, &movz_x0, 4);
#else
  (void) p, (void) size, (void) number;
  return false;
#endif
}

static const char *
find_syscall (const struct dl_phdr_info *info)
{
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *ph = &info->dlpi_phdr[i];
      if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X)
	  || !(ph->p_flags & PF_R))
	continue;
      const char *code = (const char *) (info->dlpi_addr + ph->p_vaddr);
      for (size_t k = 0; k < LENGTH (kernel_calls); k++)
	if (loads_number (code, ph->p_filesz, kernel_calls[k].number))
	  return kernel_calls[k].name;
    }
  return NULL;
}

static void
read_module (struct module *m, const struct dl_phdr_info *info)
{
  const char *slash = strrchr (info->dlpi_name, '/');

  memset (m, 0, sizeof *m);
  m->info = info;
  m->base = slash ? slash + 1 : info->dlpi_name;
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *ph = &info->dlpi_phdr[i];
      if (ph->p_type == PT_TLS)
	m->has_tls = true;
      else if (ph->p_type == PT_DYNAMIC)
	read_dynamic (m, (void *) (info->dlpi_addr + ph->p_vaddr));
    }
  read_imports (m);
}

static void
add_code (struct coop_needs *needs, uintptr_t begin, size_t size)
{
  if (needs->code_count < COOP_CODE_MAX)
    needs->code[needs->code_count++] = (struct coop_code){ begin, size };
}

static void
note_code (struct coop_needs *needs, const struct dl_phdr_info *info)
{
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *ph = &info->dlpi_phdr[i];
      if (ph->p_type == PT_LOAD && ph->p_flags & PF_X)
	add_code (needs, info->dlpi_addr + ph->p_vaddr, ph->p_memsz);
    }
}

struct search
{
  struct coop_needs *needs;
  bool past_program; /* the program comes first */
};

static int
look_at (struct dl_phdr_info *info, size_t size, void *arg)
{
  struct search *s = arg;
  struct coop_needs *needs = s->needs;
  struct module m;
  bool program = !s->past_program;
  const char *reason;

  (void) size;
  s->past_program = true;
  read_module (&m, info);
  if (!program
      && find_library (runtime_libraries, LENGTH (runtime_libraries), m.base))
    return 0;
  reason = find_library (kernel_libraries, LENGTH (kernel_libraries), m.base);
  if (program || m.has_regions)
    {
      if (m.kernel_threads)
	reason = m.kernel_threads;
      else if (m.makes_syscalls && !reason)
	reason = find_syscall (info);
      if (m.home && !needs->home)
	needs->home = m.home;
      if (m.early && !needs->early)
	needs->early = m.early;
      needs->own_storage |= m.has_tls;
      note_code (needs, info);
    }
  needs->fresh_storage |= m.has_tls || m.keeps_storage;
  if (reason && !needs->kernel_threads)
    needs->kernel_threads = reason;
  return 0;
}

void
coop_needs_look (struct coop_needs *needs)
{
  struct search s = { needs, false };
  memset (needs, 0, sizeof *needs);
  dl_iterate_phdr (look_at, &s);
}

static int
first_module (struct dl_phdr_info *info, size_t size, void *arg)
{
  if (size >= offsetof (struct dl_phdr_info, dlpi_adds)
		  + sizeof info->dlpi_adds)
    *(unsigned long long *) arg = info->dlpi_adds;
  return 1;
}

unsigned long long
coop_needs_modules (void)
{
  unsigned long long adds = 0;
  dl_iterate_phdr (first_module, &adds);
  return adds;
}
