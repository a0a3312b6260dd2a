# SPDX-License-Identifier: GPL-2.0-or-later
# What depends on the processor, on GCC's sources and on the tools round a
# program; included by local.mk.

# The context switch by itself, here and emulated: no libgomp needed.
EXTRA_DIST += tests/libgomp-coop/test_switch_aarch64
TESTS += tests/libgomp-coop/test_switch_aarch64

switch_sources = \
	tests/libgomp-coop/test_switch.c \
	tests/libgomp-coop/switch_registers.S \
	libgomp-coop/config/coop/switch-aarch64.S \
	libgomp-coop/config/coop/switch-x86_64.S

if HAVE_COOP_SWITCH
check_PROGRAMS += tests/libgomp-coop/test_switch
TESTS += tests/libgomp-coop/test_switch
tests_libgomp_coop_test_switch_SOURCES = $(switch_sources)
tests_libgomp_coop_test_switch_LDADD = -lm -lpthread
else
EXTRA_DIST += $(switch_sources)
endif

# Hooks in GCC's sources; which of them configure takes.
EXTRA_DIST += tests/libgomp-coop/test_porting
if HAVE_GCC_SOURCE
TESTS += tests/libgomp-coop/test_porting
endif
