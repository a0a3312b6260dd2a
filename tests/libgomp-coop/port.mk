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

# Stacks, and the tools that look at them.
stack_tests = \
	tests/libgomp-coop/test_gdb.py \
	tests/libgomp-coop/test_limits.py \
	tests/libgomp-coop/test_sanitizers.py \
	tests/libgomp-coop/test_stack.py
EXTRA_DIST += $(stack_tests) tests/libgomp-coop/test_stack.c
if HAVE_GCC_SOURCE
TESTS += $(stack_tests)
check_DATA += tests/libgomp-coop/test_stack
endif

stack_compile = $(AM_V_CC)$(MKDIR_P) tests/libgomp-coop && $(JOBS_CC) \
	-std=gnu17 -O1 -g -Wall -Wextra $(OPENMP_CFLAGS)

tests/libgomp-coop/test_stack: tests/libgomp-coop/test_stack.c
	$(stack_compile) -o $@ $(srcdir)/tests/libgomp-coop/test_stack.c
CLEANFILES += tests/libgomp-coop/test_stack
