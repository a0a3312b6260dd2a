# SPDX-License-Identifier: GPL-2.0-or-later
# The runtime against an agent in the test's own hands (fake_agent.py).

include tests/libgomp-coop/audit.mk
include tests/libgomp-coop/dynamic.mk
include tests/libgomp-coop/kmp.mk
include tests/libgomp-coop/shapes.mk
include tests/libgomp-coop/port.mk
include tests/libgomp-coop/llvm.mk
include tests/libgomp-coop/kmp_core.mk

runtime_tests = \
	%D%/test_counts.py \
	%D%/test_donor.py \
	%D%/test_foreign.py \
	%D%/test_home.py \
	%D%/test_homes.py \
	%D%/test_lost.py \
	%D%/test_needs.py \
	%D%/test_runtime_agent_dies.py \
	%D%/test_runtime_attach.py \
	%D%/test_runtime_garbage.py \
	%D%/test_runtime_modes.py \
	%D%/test_runtime_revoke.py \
	%D%/test_starve.py \
	%D%/test_tls.py

EXTRA_DIST += %D%/fake_agent.py %D%/driven.h %D%/probe.c $(runtime_tests)

if HAVE_GCC_SOURCE
TESTS += $(runtime_tests)
check_DATA += %D%/pages %D%/probe %D%/probe_kill %D%/probe_data %D%/test_lost \
	%D%/test_counts
endif

# Ordinary OpenMP programs, whatever compiles the rest.
probe_compile = $(AM_V_CC)$(MKDIR_P) %D% && $(JOBS_CC) -std=gnu17 -O2 \
	-Wall -Wextra $(OPENMP_CFLAGS) -Wl,--build-id

%D%/probe: %D%/probe.c
	$(probe_compile) -o $@ $(srcdir)/%D%/probe.c

# The same, but importing a function that only kernel threads do justice.
%D%/probe_kill: %D%/probe.c
	$(probe_compile) -DPROBE_KILL -o $@ $(srcdir)/%D%/probe.c

# The same, but calling syscall(): in such a program no task is preempted.
%D%/probe_data: %D%/probe.c
	$(probe_compile) -DPROBE_DATA -o $@ $(srcdir)/%D%/probe.c

CLEANFILES += %D%/probe %D%/probe_kill %D%/probe_data

# For machines of several NUMA nodes.
%D%/pages: %D%/pages.c
	$(probe_compile) -o $@ $(srcdir)/%D%/pages.c

EXTRA_DIST += %D%/pages.c
CLEANFILES += %D%/pages

%D%/test_lost: %D%/test_lost.c
	$(probe_compile) -o $@ $(srcdir)/%D%/test_lost.c

%D%/test_counts: %D%/test_counts.c
	$(probe_compile) -o $@ $(srcdir)/%D%/test_counts.c

EXTRA_DIST += %D%/test_counts.c %D%/test_lost.c
CLEANFILES += %D%/test_counts %D%/test_lost

%D%/test_donor: %D%/test_donor.c
	$(probe_compile) -o $@ $(srcdir)/%D%/test_donor.c

# Printed by benchmarks: what many threads cost.
%D%/bench_donors: %D%/bench_donors.c
	$(probe_compile) -o $@ $(srcdir)/%D%/bench_donors.c

EXTRA_DIST += %D%/bench_donors.c
CLEANFILES += %D%/bench_donors

%D%/test_foreign: %D%/test_foreign.c
	$(probe_compile) -o $@ $(srcdir)/%D%/test_foreign.c

# Programs with and without MPI; the MPI is our own.
home_programs = %D%/test_home %D%/test_home_mpi %D%/libtest_home_mpi.so

%D%/test_home: %D%/test_home.c
	$(probe_compile) -o $@ $(srcdir)/%D%/test_home.c

%D%/libtest_home_mpi.so: %D%/test_home.c
	$(probe_compile) -DHOME_LIBRARY -fPIC -shared \
	    -Wl,-soname,libtest_home_mpi.so -o $@ \
	    $(srcdir)/%D%/test_home.c

%D%/test_home_mpi: %D%/test_home.c %D%/libtest_home_mpi.so
	$(probe_compile) -DHOME_MPI -o $@ $(srcdir)/%D%/test_home.c \
	    %D%/libtest_home_mpi.so

# What belongs to a thread (test_tls.py); C++ only where there is a compiler.
tls_programs = %D%/test_donor %D%/test_foreign %D%/test_tls \
	%D%/test_tls_module.so %D%/test_tls_cxx
tls_cxx = $(subst gcc,g++,$(JOBS_CC))

%D%/test_tls: %D%/test_tls.c
	$(probe_compile) -o $@ $(srcdir)/%D%/test_tls.c -ldl

%D%/test_tls_module.so: %D%/test_tls_module.c
	$(probe_compile) -fPIC -shared -o $@ $(srcdir)/%D%/test_tls_module.c

%D%/test_tls_cxx: %D%/test_tls_cxx.cc
	$(AM_V_GEN)$(MKDIR_P) %D%; \
	if command -v $(firstword $(tls_cxx)) >/dev/null; then \
	    $(tls_cxx) -std=gnu++17 -O2 -Wall -Wextra $(OPENMP_CFLAGS) -o $@ \
		$(srcdir)/%D%/test_tls_cxx.cc; \
	fi

if HAVE_GCC_SOURCE
check_DATA += $(home_programs) $(tls_programs)
endif
EXTRA_DIST += %D%/test_donor.c %D%/test_foreign.c %D%/test_home.c \
	%D%/test_tls.c %D%/test_tls_module.c %D%/test_tls_cxx.cc
CLEANFILES += $(home_programs) $(tls_programs)
