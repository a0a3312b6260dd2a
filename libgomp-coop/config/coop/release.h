/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* What differs between the releases of GCC that the port is built with.

   COOP_RELEASE is the major number of the GCC whose libgomp this is; coop.mk
   takes it from the source, since the compiler may be of another release.
   Whatever depends on it is in this file, so that the rest of the port is the
   same for all of them.  */

#ifndef COOP_RELEASE_H
#define COOP_RELEASE_H 1

#include "libgomp.h"

#ifndef COOP_RELEASE
#error COOP_RELEASE is not defined
#endif

/* The league that a thread is in.  GCC 11 has it in two static variables of
   teams.c, as a host's teams run one after the other; later ones in each
   thread, to which its creator hands it on.  */
struct coop_league
{
#if COOP_RELEASE >= 12
  unsigned num_teams, team_num;
#endif
};

static inline struct coop_league
coop_league_of (const struct gomp_thread *thr)
{
  struct coop_league league = {};
#if COOP_RELEASE >= 12
  league.num_teams = thr->num_teams;
  league.team_num = thr->team_num;
#endif
  (void) thr;
  return league;
}

static inline void
coop_league_join (struct gomp_thread *thr, struct coop_league league)
{
#if COOP_RELEASE >= 12
  thr->num_teams = league.num_teams;
  thr->team_num = league.team_num;
#endif
  (void) thr;
  (void) league;
}

#endif /* COOP_RELEASE_H */
