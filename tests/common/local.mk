# SPDX-License-Identifier: GPL-2.0-or-later
# What every program uses.

if HAVE_CMOCKA
common_units = %D%/test_fd
check_PROGRAMS += $(common_units)
TESTS += $(common_units)

common_unit_flags = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
common_unit_libs = protocol/libprotocol.la $(CMOCKA_LIBS)

%C%_test_fd_SOURCES = %D%/test_fd.c tests/protocol/unit.h
%C%_test_fd_CPPFLAGS = $(common_unit_flags)
%C%_test_fd_LDADD = $(common_unit_libs)
endif
