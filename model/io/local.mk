# SPDX-License-Identifier: GPL-2.0-or-later
# Files that describe machines and loops; not for the plugin.

noinst_LTLIBRARIES += %D%/libdescribe.la
%C%_libdescribe_la_SOURCES = \
	%D%/concurrency_json.c \
	%D%/concurrency_json.h \
	%D%/loop_json.c \
	%D%/loop_json.h \
	%D%/machine_json.c \
	%D%/machine_json.h
%C%_libdescribe_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DCOSCHED_MACHINESDIR='"$(pkgdatadir)/machines"'
%C%_libdescribe_la_LIBADD = common/libjson.la protocol/libprotocol.la \
	model/libmodel.la $(JANSSON_LIBS)

pkgdata_DATA += %D%/machine.schema.json
EXTRA_DIST += %D%/machine.schema.json
