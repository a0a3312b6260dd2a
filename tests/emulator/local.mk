# SPDX-License-Identifier: GPL-2.0-or-later
# The emulator: what it refuses, and one run of 4 CPUs.

TESTS += %D%/test_emulate_refuses.py %D%/test_emulate.py %D%/test_evaluate.py
EXTRA_DIST += %D%/test_emulate_refuses.py %D%/test_emulate.py %D%/test_evaluate.py \
	%D%/bench-homes %D%/check-emulator %D%/check-lends %D%/check-many %D%/emulation.py %D%/many.sh

# Guests that hang, panic or are killed: some minutes.
check-emulator: all
	$(AM_V_at)abs_top_builddir='$(abs_top_builddir)' abs_top_srcdir='$(abs_top_srcdir)' \
	  $(srcdir)/%D%/check-emulator
.PHONY: check-emulator

# Random programs on 16 emulated CPUs; MANY="--seed 100 --programs 200 DIR": others.
check-many: all tests/libgomp-coop/toggler
	$(AM_V_at)abs_top_builddir='$(abs_top_builddir)' $(srcdir)/%D%/check-many $(MANY)
.PHONY: check-many

# Tasks that run away from their data, on 16 emulated CPUs: HOMES="SEED TASKS...".
bench-homes: all tests/libgomp-coop/toggler
	$(AM_V_at)$(srcdir)/%D%/bench-homes . $(HOMES)
.PHONY: bench-homes

# A test of the agent that needs more CPUs than two.
check-lends: all tests/node_agent/daemon/fake_job
	$(AM_V_at)$(srcdir)/%D%/check-lends . $(srcdir)
.PHONY: check-lends

# Of the machine, what needs no QEMU.

if HAVE_CMOCKA
units += %D%/unit
%C%_unit_SOURCES = \
	%D%/test_cache.c \
	%D%/test_quantum.c \
	%D%/test_settings.c \
	%D%/test_stations.c
%C%_unit_CPPFLAGS = $(unit_flags)
%C%_unit_LDADD = emulator/libmachine.la $(unit_libs)
endif
