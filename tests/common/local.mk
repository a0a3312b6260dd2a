# SPDX-License-Identifier: GPL-2.0-or-later
# What every program uses, and what is written of every program.

TESTS += %D%/test_docs.py
EXTRA_DIST += %D%/test_docs.py

if HAVE_CMOCKA
units += %D%/unit
%C%_unit_SOURCES = \
	%D%/test_callpoints.c \
	%D%/test_fd.c \
	%D%/test_log.c \
	%D%/test_number_map.c \
	tests/protocol/unit.h
%C%_unit_CPPFLAGS = $(unit_flags)
%C%_unit_CFLAGS = $(AM_CFLAGS) -pthread
%C%_unit_LDADD = protocol/libprotocol.la $(unit_libs)
endif
