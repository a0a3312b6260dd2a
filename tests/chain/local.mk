# SPDX-License-Identifier: GPL-2.0-or-later
# The chain without Slurm: agent, cooperative libgomp, unmodified programs.

EXTRA_DIST += tests/support/coschedtest.py tests/support/median.h \
	tests/support/programdocs.py %D%/bench_latency.py \
	%D%/test_share.py %D%/test_faults.py %D%/test_ranks.py \
	%D%/static_region.c

if HAVE_GCC_SOURCE
TESTS += %D%/test_share.py %D%/test_faults.py %D%/test_ranks.py
check_SCRIPTS = %D%/static_region
endif

# An ordinary OpenMP program, whatever compiles the rest.
%D%/static_region: %D%/static_region.c
	$(AM_V_CC)$(MKDIR_P) %D% && $(JOBS_CC) -O2 $(OPENMP_CFLAGS) -o $@ \
	  $(srcdir)/%D%/static_region.c
CLEANFILES += %D%/static_region

bench-latency: all %D%/static_region
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/bench_latency.py
.PHONY: bench-latency
