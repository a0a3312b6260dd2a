/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Old versions of glibc's functions, so that the library loads in containers
   with an older glibc than that of the host.  */

/* Concept: glibc 2.32 to 2.34 moved functions of libpthread and libdl into
   libc, each with a new version, and kept the old one: the function is the
   same.  2.38 gave functions that read numbers a name of their own.  coop.mk
   includes this file before all others, and links libpthread and libdl, which
   have these functions where they are old.  What remains needs
   glibc 2.17; tests/libgomp-coop/libgomp_symbols looks.  */

/* Without PIC it is libgomp.map that is preprocessed.  */
#if defined __x86_64__ && defined PIC && !defined __ASSEMBLER__

# define COOP_OLD(name, version) \
  __asm (".symver " #name "," #name "@GLIBC_" version)

COOP_OLD (dladdr, "2.2.5");
COOP_OLD (dladdr1, "2.3.3");
COOP_OLD (dlclose, "2.2.5");
COOP_OLD (dlerror, "2.2.5");
COOP_OLD (dlopen, "2.2.5");
COOP_OLD (dlsym, "2.2.5");
COOP_OLD (pthread_attr_getstack, "2.2.5");
COOP_OLD (pthread_attr_getstacksize, "2.2.5");
COOP_OLD (pthread_attr_setaffinity_np, "2.3.4");
COOP_OLD (pthread_attr_setguardsize, "2.2.5");
COOP_OLD (pthread_attr_setstacksize, "2.2.5");
COOP_OLD (pthread_create, "2.2.5");
COOP_OLD (pthread_detach, "2.2.5");
COOP_OLD (pthread_getaffinity_np, "2.3.4");
COOP_OLD (pthread_getattr_np, "2.2.5");
COOP_OLD (pthread_join, "2.2.5");
COOP_OLD (pthread_key_create, "2.2.5");
COOP_OLD (pthread_key_delete, "2.2.5");
COOP_OLD (pthread_mutex_trylock, "2.2.5");
COOP_OLD (pthread_once, "2.2.5");
COOP_OLD (pthread_setaffinity_np, "2.3.4");
COOP_OLD (pthread_setspecific, "2.2.5");
COOP_OLD (pthread_getspecific, "2.2.5");
COOP_OLD (pthread_sigmask, "2.2.5");
COOP_OLD (sem_destroy, "2.2.5");
COOP_OLD (sem_init, "2.2.5");
COOP_OLD (sem_post, "2.2.5");
COOP_OLD (sem_wait, "2.2.5");
__asm (".symver __isoc23_strtol,strtol@GLIBC_2.2.5");
__asm (".symver __isoc23_strtoll,strtoll@GLIBC_2.2.5");
__asm (".symver __isoc23_strtoul,strtoul@GLIBC_2.2.5");
__asm (".symver __isoc23_strtoull,strtoull@GLIBC_2.2.5");
__asm (".symver __isoc23_sscanf,sscanf@GLIBC_2.2.5");

#endif
