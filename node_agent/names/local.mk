# SPDX-License-Identifier: GPL-2.0-or-later
# Names of parallel regions; the only library that uses libdw.

noinst_LTLIBRARIES += %D%/libnames.la
%C%_libnames_la_SOURCES = \
	%D%/elf_names.c \
	%D%/elf_names.h \
	%D%/region_names.c \
	%D%/region_names.h \
	%D%/symbol_name.c \
	%D%/symbol_name.h
%C%_libnames_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBDW_CFLAGS)
%C%_libnames_la_LIBADD = common/libcommon.la $(LIBDW_LIBS) $(DEMANGLE_LIBS)

# What the agent asks; it has the right to become a job's user.
pkglibexec_PROGRAMS += coschedd-names
coschedd_names_SOURCES = %D%/main.c
coschedd_names_LDADD = %D%/libnames.la
