# SPDX-License-Identifier: GPL-2.0-or-later
# Contracts between the programs.  PIC, because the SPANK plugin links it.

noinst_LTLIBRARIES += %D%/libprotocol.la

%C%_libprotocol_la_SOURCES = \
	%D%/cpulist.c \
	%D%/cpulist.h \
	%D%/emulated_counters.h \
	%D%/follow.c \
	%D%/follow.h \
	%D%/job_defaults.c \
	%D%/job_defaults.h \
	%D%/job_library.c \
	%D%/job_library.h \
	%D%/json_fields.c \
	%D%/json_fields.h \
	%D%/layout.h \
	%D%/likwid_message.h \
	%D%/message.c \
	%D%/message.h \
	%D%/node_options.c \
	%D%/option_table.h \
	%D%/options.c \
	%D%/options.h \
	%D%/near_share.h \
	%D%/tasks_per_cpu.h
%C%_libprotocol_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_libprotocol_la_LIBADD = common/libcommon.la $(JANSSON_LIBS)

EXTRA_DIST += %D%/replies.md
