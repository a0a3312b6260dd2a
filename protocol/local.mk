# SPDX-License-Identifier: GPL-2.0-or-later
# Contracts between the programs.  PIC, because the SPANK plugin links it.

noinst_LTLIBRARIES += %D%/libprotocol.la

%C%_libprotocol_la_SOURCES = \
	%D%/cpulist.c \
	%D%/cpulist.h \
	%D%/errtext.c \
	%D%/errtext.h \
	%D%/fd.c \
	%D%/fd.h \
	%D%/job_defaults.c \
	%D%/job_defaults.h \
	%D%/layout.h \
	%D%/likwid_message.h \
	%D%/message.c \
	%D%/message.h \
	%D%/node_options.c \
	%D%/option_table.h \
	%D%/options.c \
	%D%/options.h
%C%_libprotocol_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_libprotocol_la_LIBADD = $(JANSSON_LIBS)

# Files that describe machines and loops; not for the plugin.
noinst_LTLIBRARIES += %D%/libdescribe.la

%C%_libdescribe_la_SOURCES = \
	%D%/json_reader.c \
	%D%/json_reader.h \
	%D%/json_writer.c \
	%D%/json_writer.h \
	%D%/loop_json.c \
	%D%/loop_json.h \
	%D%/machine_json.c \
	%D%/machine_json.h
%C%_libdescribe_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_libdescribe_la_LIBADD = %D%/libprotocol.la model/libmodel.la \
	$(JANSSON_LIBS)

pkgdata_DATA += %D%/machine.schema.json
EXTRA_DIST += %D%/replies.md %D%/machine.schema.json
