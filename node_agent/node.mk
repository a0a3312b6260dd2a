# SPDX-License-Identifier: GPL-2.0-or-later
# What is known of the node's hardware: topology and counters.  Without the
# agent's event loop, so that coschedctl can look for itself.

noinst_LTLIBRARIES += %D%/libnode.la

%C%_libnode_la_SOURCES = \
	%D%/counters/attribute.c \
	%D%/counters/attribute.h \
	%D%/counters/counters.c \
	%D%/counters/counters.h \
	%D%/counters/measure.c \
	%D%/counters/measure.h \
	%D%/counters/perf.c \
	%D%/counters/perf.h \
	%D%/counters/perf_private.h \
	%D%/counters/perf_sysfs.c \
	%D%/counters/perf_sysfs.h \
	%D%/counters/perf_uncore.c \
	%D%/counters/profile.c \
	%D%/counters/progress.c \
	%D%/counters/sample.c \
	%D%/counters/sample.h \
	%D%/counters/setup.c \
	%D%/topology.c \
	%D%/topology.h
%C%_libnode_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(HWLOC_CFLAGS)
%C%_libnode_la_LIBADD = model/libmodel.la protocol/libprotocol.la \
	$(JANSSON_LIBS) $(HWLOC_LIBS)
