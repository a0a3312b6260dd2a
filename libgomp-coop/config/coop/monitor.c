/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Monitor thread (monitor.h).  */

#include "monitor.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "allot.h"
#include "attach.h"
#include "cpuset.h"
#include "domain.h"
#include "foreign.h"
#include "hint.h"
#include "near.h"
#include "runq.h"
#include "region.h"
#include "settings.h"
#include "stack.h"
#include "starve.h"
#include "stray.h"
#include "watchdog.h"
#include "worker.h"

#define MS 1000000ull
#define TICK_BUSY_NS (10 * MS) /* inside a region */
#define TICK_CALM_NS (50 * MS) /* serial code: only the lease is watched */
#define RETRY_NS (200 * MS)    /* agent absent */
#define REFUSED_NS (1000 * MS) /* agent does not want us (yet) */
#define FIRST_WAIT_NS (100 * MS) /* for one at work; it answers in 0.5 if idle */
#define GROWS_NS (20 * MS) /* after the first allotment, for the CPUs that others leave */
#define SILENCES 2 /* a busy agent may be late once */
#define SLICE_NS 100000ull /* the shortest that the kernel gives */

static struct
{
  const struct cosched_allotment *page; /* NULL: not attached */
  struct cosched_cpuset granted;	/* empty: never attached */
  uint32_t applied;			/* generation in effect */
  bool applied_any;
  uint64_t retry_at_ns, attached_ns;
  bool told_absent, told_refused;
  unsigned silences; /* requests without a reply, one after the other */
} monitor;

bool coop_monitor_awaited = true;
static int first_try_done; /* futex: the first region need not wait longer */

/* Puts CPUS into effect but for those that are left out (starve.h).  */
static void
assign (struct cosched_cpuset cpus)
{
  coop_near_follow (&cpus);
  coop_starve_leave_out (&cpus);
  coop_worker_assign (&cpus);
  coop_foreign_follow ();
}

/* Without an agent the process has what it was granted.  */
static void
assign_granted (void)
{
  assign (cpuset_first (&monitor.granted) >= 0 ? monitor.granted
						: coop_initial_cpus);
  coop_worker_pin_any ();
}

static void
detach (const char *why)
{
  coop_say ("agent lost (%s), using all %u granted CPUs", why,
	    cpuset_count (&monitor.granted));
  coop_attach_close ();
  coop_allot_unmap (monitor.page);
  monitor.page = NULL;
  monitor.applied_any = false;
  monitor.retry_at_ns = 0;
  assign_granted ();
}

/* Reads the page and obeys it.  */
static void
obey (uint64_t now)
{
  struct cosched_allotment copy;

  switch (coop_allot_read (monitor.page, &copy, now))
    {
    case COOP_ALLOT_BUSY:
      return;
    case COOP_ALLOT_EXPIRED:
      detach ("lease expired");
      return;
    case COOP_ALLOT_INVALID:
      detach ("invalid allotment page");
      monitor.retry_at_ns = now + REFUSED_NS;
      return;
    case COOP_ALLOT_OK:
      break;
    }
  monitor.granted = copy.granted;
  if (monitor.applied_any && monitor.applied == copy.generation)
    return;
  coop_domain_take (copy.llc_domain);
  assign (copy.cpus);
  coop_hint_take (coop_allot_homes (monitor.page), &monitor.page->generation,
		  copy.generation);
  monitor.applied = copy.generation;
  monitor.applied_any = true;
  coop_region_applied (copy.generation);
  /* Last: this thread may have to wait for its turn where it goes.  */
  coop_worker_pin_any ();
}

/* The agent's socket accepts, and that is all.  Other faults of the agent show
   when the job begins, or nothing is wrong: this one the user learns here, once
   in a process.  */
static void
note_silence (void)
{
  static bool told;

  if (++monitor.silences < SILENCES || told || coop_settings.warned)
    return;
  told = true;
  coop_complain ("the agent at %s does not answer: "
		 "the program runs on all CPUs of its job",
		 coop_settings.socket);
}

/* Returns true if the agent has been asked and has not answered yet.  */
static bool
try_attach (uint64_t now)
{
  char text[160];

  switch (coop_attach (&monitor.page, text, sizeof text))
    {
    case COOP_ATTACH_OK:
      monitor.told_absent = monitor.told_refused = false;
      monitor.silences = 0;
      coop_say ("attached to %s as job %lu", coop_settings.socket,
		coop_settings.job);
      monitor.applied_any = false;
      monitor.attached_ns = coop_now_ns ();
      obey (monitor.attached_ns);
      break;
    case COOP_ATTACH_SILENT:
      note_silence ();
      monitor.retry_at_ns = now + RETRY_NS;
      break;
    case COOP_ATTACH_ABSENT:
      if (!monitor.told_absent)
	coop_say ("no agent at %s", coop_settings.socket);
      monitor.told_absent = true;
      monitor.retry_at_ns = now + RETRY_NS;
      break;
    case COOP_ATTACH_ASKED:
      return true;
    case COOP_ATTACH_REFUSED:
      if (!monitor.told_refused)
	coop_say ("refused by the agent at %s: %s", coop_settings.socket,
		  text);
      monitor.told_refused = true;
      monitor.retry_at_ns = now + REFUSED_NS;
      break;
    }
  return false;
}

/* Others of the CPUs are left out from now on (starve.h).  */
static void
assign_again (uint64_t now)
{
  monitor.applied_any = false;
  if (monitor.page)
    obey (now);
  else
    assign_granted ();
}

static void
wait_for_tick (uint64_t ns)
{
  static int never;
  struct timespec t
      = { (time_t) (ns / 1000000000), (long) (ns % 1000000000) };
  if (!monitor.page)
    syscall (SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
  else if (coop_load (&monitor.page->generation) % 2)
    {
      /* Being written, which takes no time worth a futex.  */
      t.tv_sec = 0;
      t.tv_nsec = MS / 10;
      nanosleep (&t, NULL);
    }
  else
    coop_allot_wait (monitor.page, monitor.applied, ns);
}

/* The kernel's struct sched_attr, first version.  */
struct sched_attributes
{
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

/* All CPUs are busy when the monitor has to act, and it acts for microseconds:
   a short time slice has it run at once instead of after others' slices.
   Linux 6.12 and later; earlier ones ignore the slice.  */
static void
ask_for_short_slice (void)
{
  struct sched_attributes a;
  memset (&a, 0, sizeof a);
  if (syscall (SYS_sched_getattr, 0, &a, sizeof a, 0) || a.policy != 0)
    return;
  a.size = sizeof a;
  a.runtime = SLICE_NS;
  syscall (SYS_sched_setattr, 0, &a, 0);
}

/* Is the first allotment not whole yet?  Tasks stay where they are dealt out, and so do their
   data.  */
static bool
grows (uint64_t now)
{
  return monitor.page && coop_load (&monitor.page->grows)
	 && now < monitor.attached_ns + GROWS_NS;
}

static void *
monitor_main (void *arg)
{
  (void) arg;
  coop_foreign_except_me ();
  ask_for_short_slice ();
  coop_worker_pin_any ();
  for (;;)
    {
      uint64_t now = coop_now_ns ();
      bool asked = false;
      if (monitor.page && coop_attach_lost ())
	detach ("hang-up");
      if (monitor.page)
	obey (now);
      else if (*coop_settings.socket && now >= monitor.retry_at_ns)
	{
	  asked = try_attach (now);
	  if (!asked && !monitor.page && coop_domain_ask_kernel (COOP_DOMAIN_NODES))
	    assign_granted ();
	}
      bool first = !coop_load (&first_try_done);
      bool growing = first && grows (now);
      if (first && !growing && !(asked && coop_attach_awaited ()))
	{
	  if (monitor.page) /* what came since the look above */
	    obey (coop_now_ns ());
	  coop_store (&first_try_done, 1);
	  coop_futex_wake (&first_try_done, 1);
	}
      coop_foreign_tick (now);
      if (coop_starve_tick (now))
	assign_again (now);
      bool busy = coop_watchdog_tick (now) || coop_region_active ();
      coop_region_tick ();
      coop_hint_tick ();
      if (monitor.page)
	coop_near_tick (coop_peek (&monitor.page->near_share), now);
      coop_stray_tick (now);
      coop_stack_tick (now);
      if (!first || !asked) /* else the next look waits */
	wait_for_tick (growing ? MS : busy ? TICK_BUSY_NS : TICK_CALM_NS);
    }
  return NULL;
}

int
coop_monitor_start (void)
{
  pthread_t thread;
  int err = coop_create_masked (&thread, NULL, monitor_main, NULL);

  if (err)
    return err;
  pthread_detach (thread);
  coop_monitor_awaited = !*coop_settings.socket;
  return 0;
}

void
coop_monitor_wait (void)
{
  struct timespec t = { 0, FIRST_WAIT_NS };

  coop_monitor_awaited = true;
  if (!coop_load (&first_try_done))
    syscall (SYS_futex, &first_try_done, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

void
coop_monitor_reset (void)
{
  coop_attach_close ();
  coop_allot_unmap (monitor.page);
  coop_hint_reset ();
  coop_near_reset ();
  memset (&monitor, 0, sizeof monitor);
  coop_monitor_awaited = true;
  first_try_done = 0;
}
