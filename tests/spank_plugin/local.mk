# SPDX-License-Identifier: GPL-2.0-or-later
# The SPANK plugin without Slurm.

TESTS += %D%/plugin_symbols
EXTRA_DIST += %D%/plugin_symbols

if HAVE_CMOCKA
plugin_units = %D%/test_plugin %D%/test_submission
check_PROGRAMS += $(plugin_units)
TESTS += $(plugin_units)

# The client library is not linked: the test's host has those functions.
plugin_unit_host = %D%/fake_host.c %D%/fake_host.h
plugin_unit_flags = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(JANSSON_CFLAGS) \
	$(CMOCKA_CFLAGS)
plugin_unit_libs = spank_plugin/libplugin.la protocol/libprotocol.la \
	$(JANSSON_LIBS) $(CMOCKA_LIBS)

%C%_test_plugin_SOURCES = %D%/test_plugin.c $(plugin_unit_host)
%C%_test_plugin_CPPFLAGS = $(plugin_unit_flags)
%C%_test_plugin_LDADD = $(plugin_unit_libs)

%C%_test_submission_SOURCES = %D%/test_submission.c $(plugin_unit_host)
%C%_test_submission_CPPFLAGS = $(plugin_unit_flags)
%C%_test_submission_LDADD = $(plugin_unit_libs)
endif
