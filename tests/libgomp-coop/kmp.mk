# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that clang compiled, which the test itself has it do; included by
# local.mk.

EXTRA_DIST += tests/libgomp-coop/test_kmp_tasks.py \
	tests/libgomp-coop/test_kmp.h \
	tests/libgomp-coop/test_kmp_events.cc \
	tests/libgomp-coop/test_kmp_groups.cc \
	tests/libgomp-coop/test_kmp_tasks.cc \
	tests/libgomp-coop/test_events.c

if HAVE_GCC_SOURCE
TESTS += tests/libgomp-coop/test_kmp_tasks.py
endif
