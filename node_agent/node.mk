# SPDX-License-Identifier: GPL-2.0-or-later
# What is known of the node's hardware: topology and counters.  Without the
# agent's event loop, so that coschedctl can look for itself.

noinst_LTLIBRARIES += %D%/libnode.la %D%/libcalibrate.la

# Measuring the node; only coschedctl and its tests need libnuma and GSL.
%C%_libcalibrate_la_SOURCES = \
	%D%/calibrate/calibrate.h \
	%D%/calibrate/fit.c \
	%D%/calibrate/kernels.c \
	%D%/calibrate/kernels.h \
	%D%/calibrate/run.c
%C%_libcalibrate_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(GSL_CFLAGS)
%C%_libcalibrate_la_LIBADD = %D%/libnode.la $(NUMA_LIBS) -lpthread
if HAVE_GSL
%C%_libcalibrate_la_LIBADD += model/libmodelfit.la
endif

%C%_libnode_la_SOURCES = \
	%D%/counters/attribute.c \
	%D%/counters/attribute.h \
	%D%/counters/counters.c \
	%D%/counters/counters.h \
	%D%/counters/energy.c \
	%D%/counters/energy.h \
	%D%/counters/measure.c \
	%D%/counters/measure.h \
	%D%/counters/perf.c \
	%D%/counters/perf.h \
	%D%/counters/perf_private.h \
	%D%/counters/perf_sysfs.c \
	%D%/counters/perf_sysfs.h \
	%D%/counters/perf_uncore.c \
	%D%/counters/probe.c \
	%D%/counters/probe.h \
	%D%/counters/profile.c \
	%D%/counters/progress.c \
	%D%/counters/recorder.c \
	%D%/counters/recording.c \
	%D%/counters/recording.h \
	%D%/counters/replay.c \
	%D%/counters/request_counts.c \
	%D%/counters/request_counts.h \
	%D%/counters/resctrl.c \
	%D%/counters/resctrl.h \
	%D%/counters/resctrl_control.c \
	%D%/counters/resctrl_control.h \
	%D%/counters/resctrl_info.c \
	%D%/counters/resctrl_info.h \
	%D%/counters/resctrl_private.h \
	%D%/counters/resctrl_setup.c \
	%D%/counters/sample.c \
	%D%/counters/sample.h \
	%D%/counters/sample_json.c \
	%D%/counters/sample_json.h \
	%D%/counters/setup.c \
	%D%/journal_machine.c \
	%D%/journal_machine.h \
	%D%/topology.c \
	%D%/topology.h \
	%D%/topology_describe.c \
	%D%/topology_links.c \
	%D%/topology_links.h \
	%D%/topology_private.h
%C%_libnode_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(HWLOC_CFLAGS)
%C%_libnode_la_CFLAGS = $(AM_CFLAGS) -pthread
%C%_libnode_la_LIBADD = protocol/libdescribe.la model/libmodel.la \
	protocol/libprotocol.la \
	$(JANSSON_LIBS) $(HWLOC_LIBS) -lpthread

# What observes, decides and moves CPUs.  It asks its world through host.h and
# enforcer.h, so that the simulator runs the same code in a world of its own.
noinst_LTLIBRARIES += %D%/libcore.la

%C%_libcore_la_SOURCES = \
	%D%/allotment.c \
	%D%/allotment.h \
	%D%/clock.h \
	%D%/decisions.c \
	%D%/decisions.h \
	%D%/division.c \
	%D%/division.h \
	%D%/enforcer.h \
	%D%/history.c \
	%D%/history.h \
	%D%/host.h \
	%D%/job.c \
	%D%/job.h \
	%D%/journal.c \
	%D%/journal.h \
	%D%/journal_replay.c \
	%D%/keeper.c \
	%D%/keeper.h \
	%D%/log.c \
	%D%/log.h \
	%D%/node_config.c \
	%D%/node_config.h \
	%D%/observer.c \
	%D%/observer.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/plan_facts.c \
	%D%/plan_facts.h \
	%D%/plan_signature.c \
	%D%/plan_signature.h \
	%D%/process.c \
	%D%/process.h \
	%D%/record.c \
	%D%/record.h \
	%D%/report.c \
	%D%/report.h \
	%D%/scheduler.c \
	%D%/scheduler.h \
	%D%/section.c \
	%D%/section.h \
	%D%/tally.c \
	%D%/tally.h \
	%D%/trace.c \
	%D%/trace.h
%C%_libcore_la_CPPFLAGS = $(%C%_libnode_la_CPPFLAGS)
%C%_libcore_la_LIBADD = %D%/libnode.la
