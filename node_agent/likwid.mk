# SPDX-License-Identifier: GPL-2.0-or-later
# Counters by LIKWID: the backend, the event sets, and the helper program.

%C%_libnode_la_SOURCES += \
	%D%/counters/events.c \
	%D%/counters/events.h \
	%D%/counters/events_load.c \
	%D%/counters/formula.c \
	%D%/counters/formula.h \
	%D%/counters/likwid.c \
	%D%/counters/likwid.h \
	%D%/counters/likwid_link.c \
	%D%/counters/likwid_link.h \
	%D%/counters/likwid_values.c \
	%D%/counters/likwid_values.h
%C%_libnode_la_LIBADD += protocol/libdescribe.la

eventsdir = $(pkgdatadir)/events
event_files = \
	%D%/counters/events/haswellEP.json \
	%D%/counters/events/haswellEX.json \
	%D%/counters/events/icelakeX.json \
	%D%/counters/events/interlagos.json \
	%D%/counters/events/sapphirerapids.json \
	%D%/counters/events/skylakeX.json \
	%D%/counters/events/zen2.json \
	%D%/counters/events/zen3.json \
	%D%/counters/events/zen4.json
dist_events_DATA = $(event_files)
pkgdata_DATA += %D%/counters/events.schema.json
EXTRA_DIST += %D%/counters/events.schema.json docs/counters-events.md

# The only program with liblikwid; on its own when that one fails.
if HAVE_LIKWID
pkglibexec_PROGRAMS += coschedd-likwid
coschedd_likwid_SOURCES = %D%/likwid_helper.c
coschedd_likwid_LDADD = protocol/libprotocol.la $(LIKWID_LIBS)
endif
