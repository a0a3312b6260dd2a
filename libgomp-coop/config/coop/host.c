/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Checks of what donors rely on (host.h).  */

#include "host.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "donor.h"
#include "settings.h"
#include "setxid.h"

/* glibc reserves the first two real-time signals of the kernel's.  */
#define KERNEL_SIGRTMIN 32
#define GLIBC_RESERVED 2

#ifdef __x86_64__
#define ARCH_SHSTK_STATUS 0x5005
#define ARCH_SHSTK_SHSTK 1ul

static bool
has_shadow_stack (void)
{
  unsigned long features = 0;
  return syscall (SYS_arch_prctl, ARCH_SHSTK_STATUS, &features) == 0
	 && (features & ARCH_SHSTK_SHSTK);
}
#else
static bool
has_shadow_stack (void)
{
  return false;
}
#endif

#ifdef __GLIBC__
extern const char *gnu_get_libc_version (void) __attribute__ ((weak));

static bool
is_glibc (void)
{
  return gnu_get_libc_version != NULL
	 && SIGRTMIN == KERNEL_SIGRTMIN + GLIBC_RESERVED;
}
#else
static bool
is_glibc (void)
{
  return false;
}
#endif

const char *
coop_host_lacks (void)
{
  if (!is_glibc () || coop_settings.test & COOP_TEST_NO_GLIBC)
    return "the C library is not glibc as it is known";
  if (has_shadow_stack ())
    return "shadow stacks are in use";
  return NULL;
}

const char *
coop_host_lacks_at_start (void)
{
  if (!coop_donor_leave_rseq () || coop_settings.test & COOP_TEST_NO_RSEQ)
    return "restartable sequences cannot be left";
  if (coop_settings.test & COOP_TEST_NO_SETXID || !coop_setxid_wrap ())
    return "glibc's handler of signal 33 is not as it is known";
  return NULL;
}
