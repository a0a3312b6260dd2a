/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Preemption of tasks that spin (preempt.h).  */

#include "preempt.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dispatch.h"
#include "order.h"
#include "preemptible.h"
#include "runq.h"
#include "sample.h"
#include "settings.h"
#include "setxid.h"
#include "spinloop.h"
#include "threadstat.h"
#include "worker.h"

/* Until the first look at a task that may have nothing to do yet, and between
   two looks: an interrupt takes 2 us, in a virtual machine 25.  */
#define AGAIN_NS 10000
#define LOOK_MIN_NS 40000
#define LOOK_MAX_NS 1000000
#define STINT_MAX_NS 10000000
#define SOON_NS 50000 /* work that takes less is hard to tell from none */

#define SAMPLES 8     /* looks that are remembered */
#define ALIKE 3	      /* as many of them, and the task spins */
#define BURST 32      /* looks in quick succession, to find that out */
#define FRUITLESS 64  /* looks in a row when no task could be preempted */
#define PERSIST 400   /* looks since the last time that a task did spin */
#define LATE_MOST 4   /* a signal takes at most so many times as long as the fastest one */

/* Turns.  Who waits in a loop that looks like computing does so for a turn of each of the
   others, so the longer nobody goes on by itself the shorter they are.  Who computes
   finds its caches cold after a turn of each of the others.  */
#define SLICE_NS 30000000
#define SLICE_MIN_NS 5000000
#define SLICES_CALM 4 /* without end of a turn, until there are none */
#define TURNS_SPUN 16 /* in a row, at the beginning of which tasks spun, until there are none */
#define TURN_TRIES 3  /* series of looks until a turn cannot be ended */

#define BUSY_NS 2000000 /* CPU time between two ticks */

/* When looks at a worker show no loop: the pause, which doubles.  */
#define PAUSE_MIN_NS 20000000ull
#define PAUSE_MAX_NS 2000000000ull

/* Loops were met not longer ago: look at all workers that have queues.  */
#define RECENT_NS 1000000000ull

/* The timer that interrupts a worker.  */
static struct timer
{
  int id;
  bool created;
  int running; /* set by the monitor, cleared by the handler */
  pid_t tid;
  /* Of the monitor.  */
  unsigned long seen;
  uint64_t used_ns, again_ns, pause_ns;
  /* Of both: tasks take turns, set by the monitor, cleared by the handler, and the present
     turn is that of the task of these switches; series of looks at it, counted by the handler,
     none of which could end it.  */
  int turns;
  unsigned long turn_switches;
  unsigned tries;
  /* Of the handler.  */
  unsigned burst, looks, fruitless;
  unsigned long switches; /* to which these belong: */
  uint64_t since_ns;	  /* its task is there, */
  uint64_t worked_ns;	  /* and was not found in a loop so long after */
  uint64_t due_ns;	  /* the next look, which comes somewhat later, */
  uint64_t late_ns;	  /* lately at least by so much */
  unsigned samples;
  struct coop_sample sample[SAMPLES];
  uint64_t slice_ns; /* of each turn, 0 before the first */
  unsigned calm;     /* slices in which none ended */
  unsigned spun;     /* turns in a row whose tasks spun */
  bool resumed, progress; /* its task was continued there: */
  struct coop_sample resume_at;
} timers[COOP_MAX_CPUS];

unsigned long coop_preempted;

/* ---- Timers.  ---- */

/* T's signal comes at TIME.  */
static void
learn_late (struct timer *t, uint64_t time)
{
  uint64_t late = time - t->due_ns;

  t->late_ns = late < t->late_ns || !t->late_ns ? late : t->late_ns + t->late_ns / 64;
}

/* One look in NS from now; 0: none.  May be called in the handler.  Where nothing says whether
   the task has moved since, the time for signals comes on top, so that it has.  */
static void
set (struct timer *t, uint64_t ns)
{
  if (ns && !coop_sample_marks ())
    ns += LATE_MOST * t->late_ns;
  struct itimerspec when = { { 0, 0 }, { 0, (long) ns } };
  t->due_ns = coop_now_ns () + ns;
  coop_syscall (SYS_timer_settime, t->id, 0, (long) &when, 0);
}

static bool
create (struct timer *t, pid_t tid)
{
  struct sigevent event;

  if (t->created && t->tid == tid)
    return true;
  if (t->created)
    coop_syscall (SYS_timer_delete, t->id, 0, 0, 0);
  memset (&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = COOP_SIGSETXID;
  event.sigev_value.sival_ptr = t;
  event._sigev_un._tid = tid;
  t->tid = tid;
  t->created = coop_syscall (SYS_timer_create, CLOCK_MONOTONIC, (long) &event,
			     (long) &t->id, 0)
	       == 0;
  return t->created;
}

static void
stop (struct timer *t)
{
  set (t, 0);
  coop_store (&t->running, 0);
}

/* ---- The handler.  ---- */

/* The task is in the loop L, soon after it was continued or looked at.  If it
   waits it is as it was; one that computes has gone on, and both are possible
   if it waits for the next thing already.  Does it wait, as far as one can
   tell now?  */
static bool
is_waiting (struct timer *t, struct coop_spinloop *l, struct coop_sample now)
{
  int credit = coop_peek (&l->credit);
  bool same = now.registers == t->resume_at.registers;

  if (now.pc != t->resume_at.pc)
    return true;
  if (!same)
    credit--;
  else if ((credit += 2) > COOP_SPINLOOP_CREDIT)
    credit = COOP_SPINLOOP_CREDIT;
  __atomic_store_n (&l->credit, credit, __ATOMIC_RELAXED);
  t->resume_at = now;
  return same;
}

/* Does the task that is at NOW spin, as far as the last looks tell?  */
static bool
is_spinning (struct timer *t, struct coop_sample now)
{
  unsigned alike = 1, n = t->samples < SAMPLES ? t->samples : SAMPLES;

  for (unsigned i = 0; i < n; i++)
    alike += coop_sample_alike (t->sample[i], now);
  t->sample[t->samples++ % SAMPLES] = now;
  if (alike < ALIKE)
    return false;
  coop_spinloop_note (now.pc);
  return true;
}

/* What the kernel will take from CONTEXT for this kernel thread, which may be
   another one than before, is to be what this one has.  */
static void
move_context (ucontext_t *context)
{
  coop_syscall (SYS_rt_sigprocmask, SIG_SETMASK, 0,
		(long) &context->uc_sigmask, sizeof (uint64_t));
  coop_syscall (SYS_sigaltstack, 0, (long) &context->uc_stack, 0, 0);
}

/* U works, for all one can see, since ELAPSED_NS: when to look again.  */
static uint64_t
pause_for (const struct timer *t, const struct coop_ult *u,
	   uint64_t elapsed_ns)
{
  if (t->burst < BURST)
    return LOOK_MIN_NS;
  if (u && elapsed_ns < u->stint_ns)
    return u->stint_ns - elapsed_ns;
  /* The longer nobody has spun, the less may be spent on looks.  */
  uint64_t least = LOOK_MIN_NS + LOOK_MIN_NS * t->looks / BURST * 2;
  elapsed_ns /= 8;
  if (elapsed_ns > LOOK_MAX_NS)
    return LOOK_MAX_NS;
  return elapsed_ns > least ? elapsed_ns : least;
}

/* U spins at TIME; the next time the first look comes when it will have worked
   for a little less than it probably has now.  */
static void
learn_stint (struct timer *t, struct coop_ult *u, uint64_t time)
{
  uint64_t late = time - t->due_ns, stint = time - t->since_ns;

  u->in_vain = t->resumed && !t->progress;
  if (u->in_vain)
    return;
  if (t->worked_ns)
    stint = t->worked_ns + (stint - t->worked_ns) / 4;
  stint -= late < stint ? late : stint;
  if (!t->worked_ns)
    stint -= stint / 8;
  u->stint_ns = stint < STINT_MAX_NS ? (unsigned) stint : STINT_MAX_NS;
}

/* U goes on, after it was at BEFORE.  Not inlined: the worker is perhaps
   another one than in the caller.  */
static __attribute__ ((noinline)) void
resume (struct coop_ult *u, struct coop_sample before)
{
  struct coop_worker *w = coop_tls_worker ();
  struct timer *t = &timers[w->index];

  if (coop_is_spare (w) || !coop_load (&t->running) || coop_load (&t->turns))
    return;
  t->resumed = true;
  t->progress = false;
  t->resume_at = before;
  t->switches = w->switches;
  t->since_ns = coop_now_ns ();
  t->worked_ns = 0;
  t->samples = 0;
  set (t, !u->in_vain && u->stint_ns > AGAIN_NS ? u->stint_ns : AGAIN_NS);
}

/* Lets others go on before the task of W, which spins at LOOP or, if that is NULL, has
   had its turn.  */
static void
preempt (struct coop_worker *w, ucontext_t *context, const struct coop_sample *loop)
{
  int *where = &errno, old = *where; /* of the task, wherever it runs */
  struct coop_ult *u = coop_tls_ult ();

  /* All signals are blocked, and would be for the next task.  */
  coop_syscall (SYS_rt_sigprocmask, SIG_SETMASK, (long) &context->uc_sigmask, 0,
		sizeof (uint64_t));
  if (coop_may_run (w))
    coop_runq_adopt (w);
  if (loop)
    coop_order_learn (w, u);
  coop_dispatch_yield ();
  move_context (context);
  if (loop)
    resume (u, *loop);
  *where = old;
}

/* Would another task run, or must W leave its CPU, which it does not notice?  */
static bool
has_reason (struct coop_worker *w)
{
  return !coop_may_run (w) || coop_peek (&w->queue.length) || coop_runq_any ();
}

/* Does anybody wait for W in particular?  */
static bool
is_waited_for (struct coop_worker *w)
{
  return coop_peek (&w->queue.length) || !coop_may_run (w) || coop_runq_orphans ();
}

/* Tasks take no turns any longer.  */
static void
forget_turns (struct timer *t)
{
  t->slice_ns = t->spun = 0;
  coop_store (&t->turns, 0);
}

/* Neither do they, nor are they looked at.  */
static void
end_turns (struct timer *t)
{
  forget_turns (t);
  stop (t);
}

/* The task of W spins at NOW, in CONTEXT: it goes on when others have.  */
static void
end_spinning (struct timer *t, struct coop_worker *w, ucontext_t *context, struct coop_sample now)
{
  t->looks = 0;
  /* For whoever is next, unless it knows better.  */
  set (t, LOOK_MIN_NS);
  __atomic_store_n (&coop_preempted, coop_preempted + 1, __ATOMIC_RELAXED);
  preempt (w, context, &now);
}

/* The task of W, interrupted in CONTEXT, has its turn, and could be preempted if FRUITFUL.
   Some looks come first: who spins needs no turn.  Where that is all that tasks do for
   a while there are none, as they would be looked at in each.  */
static void
serve_turn (struct timer *t, struct coop_worker *w, ucontext_t *context,
	    bool fruitful)
{
  struct coop_sample now = coop_sample_of (context);
  uint64_t slice = t->slice_ns ? t->slice_ns : SLICE_NS;

  if (!fruitful)
    {
      if (++t->fruitless > FRUITLESS)
	{
	  __atomic_store_n (&t->tries, t->tries + 1, __ATOMIC_RELAXED);
	  end_turns (t);
	}
      else
	set (t, LOOK_MIN_NS);
      return;
    }
  bool moved = coop_sample_moved (context);
  coop_sample_mark (context);
  if (t->samples >= SAMPLES)
    {
      t->spun = 0;
      slice = t->slice_ns ? slice - slice / 4 : slice;
    }
  else if (!moved || !is_spinning (t, now))
    {
      set (t, t->samples < SAMPLES ? LOOK_MIN_NS : slice);
      return;
    }
  else if (++t->spun > TURNS_SPUN)
    {
      forget_turns (t);
      end_spinning (t, w, context, now);
      return;
    }
  t->slice_ns = slice > SLICE_MIN_NS ? slice : SLICE_MIN_NS;
  t->fruitless = t->calm = t->samples = 0;
  __atomic_store_n (&t->turn_switches, w->switches + 1, __ATOMIC_RELAXED);
  set (t, LOOK_MIN_NS);
  preempt (w, context, NULL);
}

/* If tasks take turns on W, interrupted in CONTEXT, serves that and returns true.  */
static bool
serve_turns (struct timer *t, struct coop_worker *w, ucontext_t *context,
	     bool fruitful)
{
  if (!coop_load (&t->turns))
    return false;
  if (!is_waited_for (w) || coop_load (&w->sleeping))
    end_turns (t);
  else if (coop_peek (&t->turn_switches) == w->switches)
    serve_turn (t, w, context, fruitful);
  else if (t->slice_ns == 0 || ++t->calm > SLICES_CALM)
    end_turns (t);
  else
    {
      __atomic_store_n (&t->turn_switches, w->switches, __ATOMIC_RELAXED);
      t->samples = SAMPLES; /* it does not spin for ever */
      set (t, t->slice_ns);
    }
  return true;
}

/* Has the time come to leave W alone?  */
static bool
is_enough (struct timer *t, struct coop_worker *w, bool fruitful)
{
  t->burst += t->burst < BURST;
  t->fruitless = fruitful ? 0 : t->fruitless + 1;
  return ++t->looks > (coop_peek (&coop_preempted) ? PERSIST : BURST)
	 || t->fruitless > FRUITLESS || coop_load (&w->sleeping);
}

/* Looks at W, interrupted in CONTEXT, where its task could be preempted if FRUITFUL:
   does it spin, at NOW?  */
static bool
look (struct timer *t, struct coop_worker *w, const ucontext_t *context,
      bool fruitful, struct coop_sample *now)
{
  struct coop_ult *u = fruitful ? coop_tls_ult () : NULL;
  uint64_t time = coop_now_ns ();

  if (t->switches != w->switches)
    {
      t->switches = w->switches;
      t->since_ns = time;
      t->worked_ns = 0;
      t->samples = 0;
      t->resumed = false;
    }
  if (is_enough (t, w, fruitful))
    {
      stop (t);
      return false;
    }
  if (fruitful && coop_sample_moved (context))
    {
      *now = coop_sample_of (context);
      struct coop_spinloop *loop = coop_spinloop_find (now->pc);
      uint64_t elapsed = time - t->since_ns;
      bool soon = t->resumed && elapsed < SOON_NS;
      t->progress |= !soon || !loop || !coop_sample_alike (*now, t->resume_at);
      bool known = loop && coop_peek (&loop->credit) > 0;
      if (known ? !soon || is_waiting (t, loop, *now) : is_spinning (t, *now))
	{
	  learn_stint (t, u, time);
	  return true;
	}
      t->worked_ns = elapsed;
    }
  set (t, pause_for (t, u, time - t->since_ns));
  return false;
}

bool
coop_preempt_serve (const siginfo_t *info, ucontext_t *context)
{
  struct timer *t = info->si_value.sival_ptr;
  struct coop_sample now;

  if (info->si_code != SI_TIMER
      || (uintptr_t) t - (uintptr_t) timers >= sizeof timers)
    return false;
  if (!coop_sample_marks ())
    learn_late (t, coop_now_ns ());
  struct coop_worker *w = &coop_workers[t - timers];
  bool fruitful = coop_preemptible_now (w, context) && has_reason (w);
  if (serve_turns (t, w, context, fruitful))
    return true;
  bool spins = look (t, w, context, fruitful, &now);
  coop_sample_mark (context);
  if (spins)
    end_spinning (t, w, context, now);
  return true;
}

/* ---- The monitor.  ---- */

/* Begins to look at W.  */
static bool
start (struct timer *t, const struct coop_worker *w)
{
  if (!coop_preemptible_program () || !coop_setxid_leave_alternate () || !create (t, w->tid))
    return false;
  t->burst = t->looks = t->fruitless = t->samples = 0;
  coop_store (&t->running, 1);
  set (t, LOOK_MIN_NS);
  return true;
}

/* Has loops that were met lately; says so the first time.  */
static bool
was_met (uint64_t now)
{
  static unsigned long seen;
  static uint64_t last;
  unsigned long count = coop_peek (&coop_preempted);

  if (count != seen)
    {
      if (last == 0)
	coop_say ("tasks spin for each other: they take turns");
      seen = count;
      last = now;
    }
  return last && now - last < RECENT_NS;
}

/* Has W been computing for the same task since the last tick?  Not so soon
   again, if it did not spin.  */
static bool
is_suspect (struct timer *t, struct coop_worker *w, uint64_t now)
{
  unsigned long switches = coop_peek (&w->switches);
  uint64_t used = coop_threadstat_used (w->tid);
  bool same = t->seen == switches && coop_peek (&w->running);
  bool busy = used - t->used_ns > BUSY_NS;

  t->seen = switches;
  t->used_ns = used;
  if (!same || !busy || now < t->again_ns)
    return false;
  t->pause_ns = t->pause_ns ? t->pause_ns * 2 : PAUSE_MIN_NS;
  if (t->pause_ns > PAUSE_MAX_NS)
    t->pause_ns = PAUSE_MAX_NS;
  t->again_ns = now + t->pause_ns;
  return true;
}

void
coop_preempt_tick (uint64_t now)
{
  unsigned n = coop_nworkers;
  bool met = was_met (now);

  if (coop_mode != COSCHED_MODE_DONOR)
    return;
  for (unsigned i = 0; i < n; i++)
    {
      struct coop_worker *w = &coop_workers[i];
      struct timer *t = &timers[i];
      if (met)
	t->pause_ns = t->again_ns = 0;
      if (!w->tid || coop_load (&w->sleeping) || coop_load (&t->running)
	  || !has_reason (w) || !(met || is_suspect (t, w, now)))
	continue;
      if (!start (t, w))
	return;
    }
}

bool
coop_preempt_turn (struct coop_worker *w)
{
  struct timer *t = &timers[w->index];
  unsigned long switches = coop_peek (&w->switches);

  if (coop_is_spare (w) || !coop_preemptible_mode ())
    return false;
  if (!is_waited_for (w))
    return true;
  if (coop_peek (&t->turn_switches) != switches)
    __atomic_store_n (&t->tries, 0, __ATOMIC_RELAXED);
  __atomic_store_n (&t->turn_switches, switches, __ATOMIC_RELAXED);
  coop_store (&t->turns, 1);
  return coop_load (&t->running) || (coop_peek (&t->tries) < TURN_TRIES && start (t, w));
}

void
coop_preempt_reset (void)
{
  memset (timers, 0, sizeof timers);
  coop_preempted = 0;
  coop_spinloop_reset ();
}
