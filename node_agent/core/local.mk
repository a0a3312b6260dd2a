# SPDX-License-Identifier: GPL-2.0-or-later
# What observes, decides and moves CPUs.  It asks its world through host.h,
# enforcer.h and journal.h, so that the simulator runs the same code in its own.

noinst_LTLIBRARIES += %D%/libcore.la
%C%_libcore_la_SOURCES = \
	%D%/allotment.c \
	%D%/allotment.h \
	%D%/colocation_watch.c \
	%D%/colocation_watch.h \
	%D%/decisions.c \
	%D%/decisions.h \
	%D%/division.c \
	%D%/division.h \
	%D%/enforcer.h \
	%D%/grants.c \
	%D%/grants.h \
	%D%/growth.c \
	%D%/growth.h \
	%D%/history.c \
	%D%/history.h \
	%D%/host.h \
	%D%/hot.c \
	%D%/hot.h \
	%D%/job.c \
	%D%/job.h \
	%D%/affinity.c \
	%D%/affinity.h \
	%D%/job_log.c \
	%D%/job_log.h \
	%D%/journal.h \
	%D%/mapper.c \
	%D%/mapper.h \
	%D%/mover.c \
	%D%/mover.h \
	%D%/observer.c \
	%D%/observer.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/plan_facts.c \
	%D%/plan_facts.h \
	%D%/plan_fields.c \
	%D%/plan_fields.h \
	%D%/plan_options.c \
	%D%/plan_probes.c \
	%D%/plan_probes.h \
	%D%/planner.h \
	%D%/process.c \
	%D%/process.h \
	%D%/record.c \
	%D%/record.h \
	%D%/report.c \
	%D%/report.h \
	%D%/scheduler.c \
	%D%/scheduler.h \
	%D%/stall_watch.c \
	%D%/stall_watch.h \
	%D%/standing.c \
	%D%/standing.h \
	%D%/stretch.c \
	%D%/stretch.h \
	%D%/region.c \
	%D%/region.h \
	%D%/task_maps.c \
	%D%/task_maps.h \
	%D%/thread_map.c \
	%D%/thread_map.h \
	%D%/useful.c \
	%D%/useful.h \
	%D%/trace.c \
	%D%/trace.h \
	%D%/trace_json.c \
	%D%/trace_json.h
%C%_libcore_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(HWLOC_CFLAGS)
%C%_libcore_la_LIBADD = node_agent/counters/libcounters.la
