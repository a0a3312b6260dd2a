# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings: counters and decisions of a node, written and played again.

noinst_LTLIBRARIES += %D%/librecording.la
%C%_librecording_la_SOURCES = \
	%D%/journal.c \
	%D%/journal_machine.c \
	%D%/journal_machine.h \
	%D%/journal_replay.c \
	%D%/journal_replay.h \
	%D%/recording.c \
	%D%/recording.h \
	%D%/replay.c \
	%D%/request_counts.c \
	%D%/request_counts.h
%C%_librecording_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(HWLOC_CFLAGS)
%C%_librecording_la_CFLAGS = $(AM_CFLAGS) -pthread
%C%_librecording_la_LIBADD = node_agent/core/libcore.la
