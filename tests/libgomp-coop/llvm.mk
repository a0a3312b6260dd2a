# SPDX-License-Identifier: GPL-2.0-or-later
# Programs of clang, which call libomp; included by local.mk.

EXTRA_DIST += tests/libgomp-coop/check_mkl.py \
	tests/libgomp-coop/test_clang.py

# Left out where there is no clang, or none with libomp.
CLANG = clang
clang_compile = $(AM_V_GEN)$(MKDIR_P) tests/libgomp-coop/clang; \
	$(CLANG) -fopenmp -E -include omp.h -x c /dev/null >/dev/null 2>&1 || \
	    exit 0; \
	$(CLANG) -std=gnu17 -O2 -Wall -Wextra -fopenmp
clang_programs = $(addprefix tests/libgomp-coop/clang/,probe test_shapes \
	bench_constructs)
clang_jobs = $(addprefix tests/libgomp-coop/clang/,ep stream cg)

$(clang_programs): tests/libgomp-coop/clang/%: tests/libgomp-coop/%.c
	$(clang_compile) $< -o $@

tests/libgomp-coop/clang/ep: jobs/ep.c jobs/gauss.c
tests/libgomp-coop/clang/stream: jobs/stream.c
tests/libgomp-coop/clang/cg: jobs/cg.c jobs/matrix.c
$(clang_jobs): jobs/program.c $(jobs_headers)
	$(clang_compile) -D_GNU_SOURCE -I$(top_srcdir) $(filter %.c,$^) \
	    -o $@ -lm

if HAVE_GCC_SOURCE
TESTS += tests/libgomp-coop/test_clang.py
check_DATA += $(clang_programs) $(clang_jobs)

# Installs mkl and numpy from PyPI (1.1 GB) below the build tree.
check-mkl: all
	$(srcdir)/tests/libgomp-coop/check_mkl.py
endif
CLEANFILES += $(clang_programs) $(clang_jobs)
.PHONY: check-mkl
