/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Watchdog (watchdog.h).  */

#include "watchdog.h"

#include <string.h>

#include "dispatch.h"
#include "preempt.h"
#include "runq.h"
#include "region.h"
#include "settings.h"
#include "threadstat.h"
#include "worker.h"

/* A task may use a worker so long while others wait before its turn is over or, where it
   cannot be preempted, it is suspected.  Shorter in regions where spares were needed
   before, longer where tasks have gone on by themselves after half as long.  Counted is
   CPU time: on a busy machine, in a process that was stopped, or among many spares, a
   task may make no progress because its worker does not run.  */
#define PATIENCE_NS 60000000ull
#define PATIENCE_MAX_NS 240000000ull
#define PATIENCE_KNOWN_NS 5000000ull

/* Spares that were there for so long are taken away, to see whether they are
   needed: tasks that just compute go on without.  If they are, the next time is
   later: it costs the patience.  */
#define TRIAL_NS 200000000ull
#define TRIAL_MAX_NS 60000000000ull

/* After so many times the patience a task is suspected even though others make
   progress.  */
#define PATIENCE_ALONE 8

/* A system call that lasts longer counts as one that blocks.  */
#define BLOCKED_NS 5000000ull

/* After so long without a tick the whole process was stopped: that its tasks
   made no progress then means nothing.  */
#define STOPPED_NS 200000000ull

#define CALM_TICKS 3 /* without queued tasks, until idle spares retire */
#define QUIET_TICKS 10 /* with none that is suspect or blocked, likewise */

static unsigned spares;			     /* that may run now */
static unsigned calm, quiet;		     /* ticks */
static unsigned streak;			     /* ticks with more blocked ones */
static uint64_t progress_ns;		     /* a suspect went on, last */
static uint64_t spares_ns;		     /* there have been spares since */

/* What is known of each region, and of all others together.  */
static struct memory
{
  unsigned needed;	/* spares */
  bool doubted;		/* it was tried without */
  uint64_t patience_ns; /* when none are known to be needed */
  uint64_t trial_ns;	/* how long until it is tried without */
} memories[COSCHED_MAX_REGIONS + 1];

/* What the last looks at each worker have shown.  */
static struct
{
  unsigned looks; /* since its task began */
  uint64_t used;  /* CPU time of the worker then, in ns */
  bool suspect;	  /* for longer than the patience */
  bool blocked;	  /* in a system call */
} seen[COOP_MAX_WORKERS];

/* Totals of one tick.  */
struct counts
{
  unsigned suspects; /* that compute, for all one can see */
  unsigned lonely;   /* of these, for very long */
  unsigned wanted;   /* workers with a CPU */
  unsigned active;   /* workers and spares that are not blocked, */
  unsigned blocked;  /* and that are */
};

static struct memory *
memory_of (unsigned region)
{
  struct memory *m
      = &memories[region < COSCHED_MAX_REGIONS ? region : COSCHED_MAX_REGIONS];
  if (m->patience_ns == 0)
    {
      m->patience_ns = PATIENCE_NS;
      m->trial_ns = TRIAL_NS;
    }
  return m;
}

/* A task has gone on without spares after it had USED its worker for so long: so
   others may do.  */
static void
learn_patience (struct memory *m, uint64_t used)
{
  if (spares || 2 * used <= m->patience_ns)
    return;
  m->patience_ns = 2 * used < PATIENCE_MAX_NS ? 2 * used : PATIENCE_MAX_NS;
}

/* The longer a task has been running, the less often /proc is asked.  */
static void
look_at (struct coop_worker *w, uint64_t now, struct memory *m,
	 uint64_t patience, struct counts *t)
{
  unsigned i = w->index;
  unsigned long switches = coop_peek (&w->switches);

  if (coop_peek (&w->running) == NULL || switches != w->seen
      || w->seen_ns == 0 || coop_peek (&w->bearing))
    {
      uint64_t used = coop_threadstat_used (w->tid);
      if (seen[i].suspect)
	progress_ns = now;
      if (w->seen_ns && seen[i].looks > 0)
	learn_patience (m, used - seen[i].used);
      seen[i].suspect = seen[i].blocked = false;
      seen[i].looks = 0;
      w->seen = switches;
      w->seen_ns = now;
      seen[i].used = used;
      return;
    }
  uint64_t since = now - w->seen_ns;
  unsigned looks = seen[i].looks++;
  if (since >= BLOCKED_NS && w->tid && (looks & (looks - 1)) == 0)
    {
      char state = coop_threadstat_state (w->tid, NULL);
      seen[i].blocked = state == 'S' || state == 'D';
    }
  if (seen[i].blocked || since < patience)
    return;
  uint64_t used = coop_threadstat_used (w->tid) - seen[i].used;
  if (used < patience || coop_preempt_turn (w))
    return;
  seen[i].suspect = true;
  t->suspects++;
  t->lonely += used >= patience * PATIENCE_ALONE;
}

static struct counts
look_at_all (uint64_t now, struct memory *m, uint64_t patience)
{
  static uint64_t last;
  struct counts t = { 0 };
  unsigned n = coop_nworkers + coop_nspares;
  bool stopped = now - last > STOPPED_NS;

  last = now;
  for (unsigned i = 0; i < n; i++)
    {
      bool regular = i < coop_nworkers;
      struct coop_worker *w
	  = &coop_workers[regular ? i : COOP_SPARE_FIRST + i - coop_nworkers];
      if (stopped)
	w->seen_ns = 0;
      look_at (w, now, m, patience, &t);
      if (!coop_may_run (w))
	continue;
      t.wanted += regular;
      t.active += !seen[w->index].blocked;
      t.blocked += seen[w->index].blocked;
    }
  return t;
}

/* Nobody has been suspect or blocked for a while, but tasks are queued, as they
   are most of the time where regions follow each other: it was a false alarm,
   for example because other processes had the CPUs.  Or it is time to see
   whether it was.  Next time be patient.  */
static void
dismiss (struct memory *m)
{
  coop_worker_spares (0);
  coop_dispatch_ready (coop_runq_total ());
  m->needed = 0;
  m->doubted = true;
  spares = quiet = 0;
}

/* Spares were needed after all.  */
static void
believe (struct memory *m)
{
  m->doubted = false;
  m->trial_ns *= 4;
  if (m->trial_ns > TRIAL_MAX_NS)
    m->trial_ns = TRIAL_MAX_NS;
}

/* Retires spares that sleep, from the last one down.  */
static void
retire (void)
{
  unsigned keep = spares;
  while (keep > 0
	 && coop_load (&coop_workers[COOP_SPARE_FIRST + keep - 1].sleeping))
    keep--;
  if (keep != spares)
    coop_worker_spares (keep);
  spares = keep;
  calm = 0;
}

static void
add (unsigned more, unsigned queued, struct memory *m, uint64_t now)
{
  if (more > queued)
    more = queued;
  if (spares + more > COOP_MAX_SPARES)
    more = COOP_MAX_SPARES - spares;
  if (more == 0)
    return;
  if (spares == 0)
    spares_ns = now;
  if (m->doubted)
    believe (m);
  spares += more;
  coop_worker_spares (spares);
  coop_dispatch_ready (more);
  if (m->needed < spares)
    m->needed = spares;
}

/* How many spares more T asks for.  Each tick without progress doubles them,
   as does each tick in which those added last are blocked, too.  */
static unsigned
ask (const struct counts *t, unsigned known, uint64_t now, uint64_t patience)
{
  unsigned more = 0;

  if (t->active < t->wanted)
    {
      more = (t->wanted - t->active) << streak;
      streak += streak < 8;
    }
  else
    streak = 0;
  if (t->suspects && now - progress_ns >= patience)
    more += spares > 0 ? spares : 1;
  else if (t->lonely && more == 0)
    more = 1;
  return more > 0 && spares + more < known ? known - spares : more;
}

bool
coop_watchdog_tick (uint64_t now)
{
  struct memory *m = memory_of (coop_region_current ());
  unsigned queued = coop_runq_total ();
  uint64_t patience = m->needed ? PATIENCE_KNOWN_NS : m->patience_ns;

  if (coop_mode == COSCHED_MODE_KTHREAD)
    coop_worker_lend (now);
  if (queued || coop_peek (&coop_crowded))
    coop_preempt_tick (now);
  if (queued == 0)
    {
      streak = 0;
      if (spares && ++calm >= CALM_TICKS)
	retire ();
      return spares > 0;
    }
  calm = 0;
  struct counts t = look_at_all (now, m, patience);
  quiet = spares && t.suspects + t.blocked == 0 ? quiet + 1 : 0;
  bool doubtful = spares && !t.blocked && now - spares_ns >= m->trial_ns;
  if (quiet >= QUIET_TICKS || doubtful)
    dismiss (m);
  else
    add (ask (&t, m->needed, now, patience), queued, m, now);
  /* A worker queues tasks for itself without telling anybody, and may then be
     blocked by the one that it runs, or lose its CPU: those that sleep and may
     run, spares as well, are to take them.  */
  coop_dispatch_ready (queued);
  return true;
}

void
coop_watchdog_reset (void)
{
  spares = calm = streak = 0;
  progress_ns = 0;
  memset (seen, 0, sizeof seen);
  memset (memories, 0, sizeof memories);
}
