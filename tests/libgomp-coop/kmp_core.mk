# SPDX-License-Identifier: GPL-2.0-or-later
# The entry points of libomp; included by local.mk after llvm.mk.

EXTRA_DIST += tests/libgomp-coop/test_kmp.py \
	tests/libgomp-coop/test_kmp_invoke \
	tests/libgomp-coop/kmp/atomics.c \
	tests/libgomp-coop/kmp/constructs.c \
	tests/libgomp-coop/kmp/invoke.c \
	tests/libgomp-coop/kmp/loops.c

TESTS += tests/libgomp-coop/test_kmp_invoke

kmp_programs = $(addprefix tests/libgomp-coop/clang/kmp_,atomics constructs \
	loops private)

tests/libgomp-coop/clang/kmp_%: tests/libgomp-coop/kmp/%.c
	$(clang_compile) -fopenmp-version=51 -Wno-unused $< -o $@

# Threadprivate variables as Intel's compilers have them.
tests/libgomp-coop/clang/kmp_private: tests/libgomp-coop/kmp/constructs.c
	$(clang_compile) -fopenmp-version=51 -Wno-unused -fnoopenmp-use-tls \
	    $< -o $@

if HAVE_GCC_SOURCE
TESTS += tests/libgomp-coop/test_kmp.py
check_DATA += $(kmp_programs)
endif
CLEANFILES += $(kmp_programs)
