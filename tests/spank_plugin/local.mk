# SPDX-License-Identifier: GPL-2.0-or-later
# The SPANK plugin without Slurm.

TESTS += %D%/plugin_symbols
EXTRA_DIST += %D%/plugin_symbols

if HAVE_CMOCKA
check_PROGRAMS += %D%/test_plugin
TESTS += %D%/test_plugin
%C%_test_plugin_SOURCES = \
	%D%/fake_host.c \
	%D%/fake_host.h \
	%D%/test_plugin.c
%C%_test_plugin_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) \
	$(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
# The client library is not linked: the test's host has those functions.
%C%_test_plugin_LDADD = spank_plugin/libplugin.la protocol/libprotocol.la \
	$(JANSSON_LIBS) $(CMOCKA_LIBS)
endif
