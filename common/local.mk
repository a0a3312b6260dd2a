# SPDX-License-Identifier: GPL-2.0-or-later
# What every program uses.  PIC, because the SPANK plugin links the first library.

noinst_LTLIBRARIES += %D%/libcommon.la %D%/libjson.la %D%/libcli.la

%C%_libcommon_la_SOURCES = \
	%D%/clock.h \
	%D%/errtext.c \
	%D%/errtext.h \
	%D%/fd.c \
	%D%/fd.h \
	%D%/fields.h \
	%D%/hash.h \
	%D%/log.c \
	%D%/log.h \
	%D%/number_map.c \
	%D%/number_map.h \
	%D%/spawn.c \
	%D%/spawn.h \
	%D%/syscalls.h

%C%_libjson_la_SOURCES = \
	%D%/json_reader.c \
	%D%/json_reader.h \
	%D%/json_writer.c \
	%D%/json_writer.h
%C%_libjson_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_libjson_la_LIBADD = %D%/libcommon.la $(JANSSON_LIBS)

%C%_libcli_la_SOURCES = %D%/cli.c %D%/cli.h %D%/progress.c %D%/progress.h
%C%_libcli_la_LIBADD = %D%/libcommon.la
