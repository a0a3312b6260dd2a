# SPDX-License-Identifier: GPL-2.0-or-later
# The machine as hwloc and the kernel tell it, as a description of the model's.

noinst_LTLIBRARIES += %D%/libtopology.la
%C%_libtopology_la_SOURCES = \
	%D%/topology.c \
	%D%/topology.h \
	%D%/topology_links.c \
	%D%/topology_links.h
%C%_libtopology_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(HWLOC_CFLAGS)
%C%_libtopology_la_LIBADD = model/io/libdescribe.la common/libcommon.la \
	$(JANSSON_LIBS) $(HWLOC_LIBS)
