/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What one look at an interrupted task shows (sample.h).  */

#include "sample.h"

#include "arch.h"

static bool mark_goes; /* seen; set by handlers, never cleared */

static uint64_t
hash_registers (const ucontext_t *context)
{
  uint64_t h = COOP_SP (context);
  for (int i = 0; i < COOP_REGISTERS; i++)
    h = (h ^ COOP_REGISTER (context, i)) * 0x9e3779b97f4a7c15ull + (h >> 29);
  return h;
}

struct coop_sample
coop_sample_of (const ucontext_t *context)
{
  return (struct coop_sample){ COOP_PC (context), hash_registers (context) };
}

void
coop_sample_mark (ucontext_t *context)
{
#ifdef COOP_MARK
  COOP_MARKS (context) |= COOP_MARK;
#else
  (void) context;
#endif
}

bool
coop_sample_moved (const ucontext_t *context)
{
#ifdef COOP_MARK
  if (COOP_MARKS (context) & COOP_MARK)
    return !coop_sample_marks ();
  __atomic_store_n (&mark_goes, true, __ATOMIC_RELAXED);
#else
  (void) context;
#endif
  return true;
}

bool
coop_sample_marks (void)
{
  return coop_peek (&mark_goes);
}
