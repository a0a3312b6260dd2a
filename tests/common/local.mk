# SPDX-License-Identifier: GPL-2.0-or-later
# What every program uses, and what is written of every program.

TESTS += %D%/test_docs.py %D%/test_needs.py
EXTRA_DIST += %D%/test_docs.py %D%/test_needs.py

# What is installed and has been compiled, the libraries for programs but those of libgomp, which
# test_coop_exports.sh knows.
check_DATA += %D%/installed
CLEANFILES += %D%/installed
%D%/installed: Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && echo $(bin_PROGRAMS) $(sbin_PROGRAMS) $(pkglibexec_PROGRAMS) \
	  $(libexec_PROGRAMS) $(slurmlib_LTLIBRARIES) >$@

if HAVE_CMOCKA
units += %D%/unit
%C%_unit_SOURCES = \
	%D%/test_callpoints.c \
	%D%/test_fd.c \
	%D%/test_log.c \
	%D%/test_number_map.c \
	%D%/test_spawn.c \
	tests/protocol/unit.h
%C%_unit_CPPFLAGS = $(unit_flags)
%C%_unit_CFLAGS = $(AM_CFLAGS) -pthread
%C%_unit_LDADD = protocol/libprotocol.la $(unit_libs)
endif
