# SPDX-License-Identifier: GPL-2.0-or-later
# Counters: backends behind one interface, and the event sets.  Without the
# agent's event loop, so that coschedctl can look for itself.

noinst_LTLIBRARIES += %D%/libcounters.la
%C%_libcounters_la_SOURCES = \
	%D%/askers.c \
	%D%/askers.h \
	%D%/attribute.c \
	%D%/attribute.h \
	%D%/counters.c \
	%D%/counters.h \
	%D%/emulated.c \
	%D%/emulated.h \
	%D%/energy.c \
	%D%/energy.h \
	%D%/events.c \
	%D%/events.h \
	%D%/formula.c \
	%D%/formula.h \
	%D%/likwid.c \
	%D%/likwid.h \
	%D%/likwid_link.c \
	%D%/likwid_link.h \
	%D%/likwid_values.c \
	%D%/likwid_values.h \
	%D%/measure.c \
	%D%/measure.h \
	%D%/perf.c \
	%D%/perf.h \
	%D%/perf_events.c \
	%D%/perf_events.h \
	%D%/perf_sysfs.c \
	%D%/perf_sysfs.h \
	%D%/probe.c \
	%D%/probe.h \
	%D%/profile.c \
	%D%/progress.c \
	%D%/resctrl.c \
	%D%/resctrl.h \
	%D%/sample.c \
	%D%/sample.h \
	%D%/sample_json.c \
	%D%/sample_json.h \
	%D%/setup.c
%C%_libcounters_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(HWLOC_CFLAGS)
%C%_libcounters_la_CFLAGS = $(AM_CFLAGS) -pthread
%C%_libcounters_la_LIBADD = node_agent/topology/libtopology.la \
	model/io/libdescribe.la protocol/libprotocol.la -lpthread

eventsdir = $(pkgdatadir)/events
event_files = \
	%D%/events/haswellEP.json \
	%D%/events/haswellEX.json \
	%D%/events/icelakeX.json \
	%D%/events/interlagos.json \
	%D%/events/sapphirerapids.json \
	%D%/events/skylakeX.json \
	%D%/events/zen2.json \
	%D%/events/zen3.json \
	%D%/events/zen4.json
dist_events_DATA = $(event_files)
pkgdata_DATA += %D%/events.schema.json
EXTRA_DIST += %D%/events.schema.json docs/counters-reference.md

