# SPDX-License-Identifier: GPL-2.0-or-later
# The SPANK plugin without Slurm.

TESTS += %D%/plugin_symbols
EXTRA_DIST += %D%/plugin_symbols

# The client library is not linked: the test's host has those functions.
if HAVE_CMOCKA
units += %D%/unit
%C%_unit_SOURCES = \
	%D%/fake_host.c \
	%D%/fake_host.h \
	%D%/test_plugin.c \
	%D%/test_submission.c
%C%_unit_CPPFLAGS = $(unit_flags) $(SLURM_CPPFLAGS)
%C%_unit_LDADD = spank_plugin/libplugin.la protocol/libprotocol.la $(unit_libs)
endif
