# SPDX-License-Identifier: GPL-2.0-or-later
# Shapes of real programs, and new constructs; included by local.mk.

EXTRA_DIST += tests/libgomp-coop/test_openmp5.py \
	tests/libgomp-coop/test_openmp5.c \
	tests/libgomp-coop/test_shapes.py \
	tests/libgomp-coop/test_shapes.c \
	tests/libgomp-coop/test_shapes_common.f90

if HAVE_GCC_SOURCE
TESTS += tests/libgomp-coop/test_openmp5.py tests/libgomp-coop/test_shapes.py
check_DATA += tests/libgomp-coop/test_openmp5 tests/libgomp-coop/test_shapes
endif

tests/libgomp-coop/test_shapes: tests/libgomp-coop/test_shapes.c
	$(probe_compile) -o $@ $(srcdir)/tests/libgomp-coop/test_shapes.c

tests/libgomp-coop/test_openmp5: tests/libgomp-coop/test_openmp5.c
	$(probe_compile) -o $@ $(srcdir)/tests/libgomp-coop/test_openmp5.c

CLEANFILES += tests/libgomp-coop/test_openmp5 tests/libgomp-coop/test_shapes
