# SPDX-License-Identifier: GPL-2.0-or-later
# Counters by LIKWID: event sets, and the backend over a library of the test's.

likwid_series = \
	%D%/series/haswellEP.series \
	%D%/series/haswellEX.series \
	%D%/series/icelakeX.series \
	%D%/series/interlagos.series \
	%D%/series/sapphirerapids.series \
	%D%/series/skylakeX.series \
	%D%/series/zen2.series \
	%D%/series/zen3.series \
	%D%/series/zen4.series
EXTRA_DIST += $(likwid_series)

EXTRA_DIST += %D%/test_events_names.py %D%/likwid_names.txt
TESTS += %D%/test_events_names.py

if HAVE_CMOCKA
units += %D%/unit
%C%_unit_SOURCES = \
	%D%/test_events.c \
	%D%/test_events_formula.c \
	%D%/test_likwid_values.c
%C%_unit_CPPFLAGS = $(unit_flags)
%C%_unit_LDADD = node_agent/recording/librecording.la $(unit_libs)

if HAVE_LIKWID
check_LTLIBRARIES += %D%/fake_likwid.la
%C%_fake_likwid_la_SOURCES = %D%/fake_likwid.c
# Never with a sanitizer: whoever it is loaded into brings his own.
%C%_fake_likwid_la_CFLAGS = $(WARN_CFLAGS)
%C%_fake_likwid_la_LDFLAGS = -module -avoid-version -rpath /nowhere

check_LTLIBRARIES += %D%/fake_likwid_msr.la
%C%_fake_likwid_msr_la_SOURCES = %D%/fake_likwid_msr.c
%C%_fake_likwid_msr_la_CFLAGS = $(WARN_CFLAGS)
%C%_fake_likwid_msr_la_LDFLAGS = -module -avoid-version -rpath /nowhere
%C%_fake_likwid_msr_la_LIBADD = -ldl

%C%_unit_SOURCES += \
	%D%/test_likwid.c \
	%D%/test_likwid_lost.c \
	%D%/test_likwid_real.c \
	%D%/test_likwid_stage.c \
	%D%/test_likwid_stage.h
endif
endif
