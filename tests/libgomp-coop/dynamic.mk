# SPDX-License-Identifier: GPL-2.0-or-later
# Dynamic loops, and tasks that wait unseen; included by local.mk.

EXTRA_DIST += tests/libgomp-coop/test_dynamic.py \
	tests/libgomp-coop/test_dynamic.c \
	tests/libgomp-coop/bench_dynamic.c \
	tests/libgomp-coop/test_preempt.py \
	tests/libgomp-coop/test_preempt.c \
	tests/libgomp-coop/test_spin.py \
	tests/libgomp-coop/test_spin.c

# By themselves: no libgomp needed.
if HAVE_CMOCKA
check_PROGRAMS += tests/libgomp-coop/test_dynamic_claims \
	tests/libgomp-coop/test_pages tests/libgomp-coop/test_placement
TESTS += tests/libgomp-coop/test_dynamic_claims \
	tests/libgomp-coop/test_pages tests/libgomp-coop/test_placement
endif
tests_libgomp_coop_test_pages_SOURCES = tests/libgomp-coop/test_pages.c \
	libgomp-coop/config/coop/pages.c libgomp-coop/config/coop/pages.h
tests_libgomp_coop_test_pages_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_libgomp_coop_test_pages_CFLAGS = $(AM_CFLAGS) $(THREAD_CFLAGS)
tests_libgomp_coop_test_pages_LDADD = $(CMOCKA_LIBS) -lpthread
tests_libgomp_coop_test_placement_SOURCES = \
	tests/libgomp-coop/test_placement.c \
	libgomp-coop/config/coop/domain.c \
	libgomp-coop/config/coop/domain.h \
	libgomp-coop/config/coop/hint.c \
	libgomp-coop/config/coop/hint.h \
	libgomp-coop/config/coop/placement.c \
	libgomp-coop/config/coop/placement.h
tests_libgomp_coop_test_placement_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_libgomp_coop_test_placement_LDADD = $(CMOCKA_LIBS)
tests_libgomp_coop_test_dynamic_claims_SOURCES = \
	tests/libgomp-coop/test_dynamic_claims.c \
	libgomp-coop/config/coop/dynloop.c \
	libgomp-coop/config/coop/dynloop.h
tests_libgomp_coop_test_dynamic_claims_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_libgomp_coop_test_dynamic_claims_CFLAGS = $(AM_CFLAGS) $(THREAD_CFLAGS)
tests_libgomp_coop_test_dynamic_claims_LDADD = $(CMOCKA_LIBS) -lpthread

if HAVE_GCC_SOURCE
TESTS += tests/libgomp-coop/test_dynamic.py \
	tests/libgomp-coop/test_preempt.py tests/libgomp-coop/test_spin.py
check_DATA += tests/libgomp-coop/test_dynamic \
	tests/libgomp-coop/bench_dynamic \
	tests/libgomp-coop/test_preempt tests/libgomp-coop/test_spin
endif

tests/libgomp-coop/test_dynamic: tests/libgomp-coop/test_dynamic.c
	$(probe_compile) -o $@ $(srcdir)/tests/libgomp-coop/test_dynamic.c

tests/libgomp-coop/bench_dynamic: tests/libgomp-coop/bench_dynamic.c
	$(probe_compile) -o $@ $(srcdir)/tests/libgomp-coop/bench_dynamic.c -lm

tests/libgomp-coop/test_preempt: tests/libgomp-coop/test_preempt.c
	$(probe_compile) -o $@ $(srcdir)/tests/libgomp-coop/test_preempt.c -lm

tests/libgomp-coop/test_spin: tests/libgomp-coop/test_spin.c common/clock.h
	$(probe_compile) -o $@ $(srcdir)/tests/libgomp-coop/test_spin.c

CLEANFILES += tests/libgomp-coop/test_dynamic \
	tests/libgomp-coop/bench_dynamic \
	tests/libgomp-coop/test_preempt tests/libgomp-coop/test_spin
