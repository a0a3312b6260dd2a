# SPDX-License-Identifier: GPL-2.0-or-later
# The cooperative libgomp and, from the same source, the stock one to compare it
# with.  Both are built by libgomp's own makefiles; build-libgomp says how.

libgomp_coop_port = $(wildcard $(srcdir)/%D%/config/*/*)
libgomp_coop_libraries = %D%/lib-coop/libgomp.so.1 %D%/lib-stock/libgomp.so.1

# Other names of it: those of LLVM's and Intel's libraries, and some for
# libraries that were renamed, as in Python's wheels.
libgomp_coop_names = libomp.so libomp.so.5 libiomp5.so \
	$(patsubst %,coschedule-alias-%.so,0 1 2 3 4 5 6 7 8 9 10 11)
libgomp_coop_aliases = $(addprefix %D%/lib-coop/,$(libgomp_coop_names))

dist_man_MANS += docs/libgomp-coop.7

EXTRA_DIST += \
	$(libgomp_coop_port) \
	%D%/README.md \
	%D%/THREADS.md \
	%D%/build-libgomp \
	%D%/old-gcc.h \
	%D%/conformance \
	%D%/conformance-gcc \
	%D%/conformance-llvm \
	%D%/conformance-llvm.accepted \
	%D%/PORTING.md \
	%D%/coop.mk \
	%D%/fetch-gcc-source \
	%D%/fetch-llvm \
	%D%/gdb/coschedule.py \
	%D%/hooks-check \
	tests/libgomp-coop/bench-figures \
	tests/libgomp-coop/bench-runtime \
	tests/libgomp-coop/bench-standalone \
	tests/libgomp-coop/bench_constructs.c \
	tests/libgomp-coop/bench_moves.c \
	tests/libgomp-coop/bench_spin.c \
	tests/libgomp-coop/bench_start.c \
	tests/libgomp-coop/bench_overhead.c \
	tests/libgomp-coop/gcc_releases \
	tests/libgomp-coop/llvm_releases \
	tests/libgomp-coop/test_flang.f90 \
	tests/libgomp-coop/libgomp_conformance \
	tests/libgomp-coop/libgomp_symbols \
	tests/libgomp-coop/stress/program.py \
	tests/libgomp-coop/stress/threads.py \
	tests/libgomp-coop/stress/stress \
	tests/libgomp-coop/stress/test_stress

if HAVE_GCC_SOURCE
coschedlibgompdir = $(cosched_libgompdir)
coschedlibgomp_DATA = %D%/lib-coop/libgomp.so.1 $(libgomp_coop_aliases) \
	%D%/gdb/coschedule.py
noinst_DATA += %D%/lib-stock/libgomp.so.1

# The directory is a prerequisite because a file that goes away counts, too.
%D%/settings: $(srcdir)/%D%/config/coop $(srcdir)/%D%/config/kmp \
	    $(libgomp_coop_port) \
	    $(srcdir)/%D%/build-libgomp $(srcdir)/%D%/coop.mk \
	    $(srcdir)/%D%/audit/make-aliases \
	    $(srcdir)/%D%/hooks-check \
	    $(top_srcdir)/protocol/layout.h $(top_srcdir)/protocol/near_share.h \
	    $(top_srcdir)/protocol/tasks_per_cpu.h Makefile
	@MAKE='$(MAKE)' $(srcdir)/%D%/build-libgomp --source '$(GCC_SOURCE)' \
	    --port $(srcdir)/%D%/config/coop --top $(top_srcdir) --build %D% \
	    --cc '$(JOBS_CC)' --aliases '$(libgomp_coop_names)' \
	    $(if $(filter -Werror,$(WARN_CFLAGS)),--werror)

$(libgomp_coop_libraries) $(libgomp_coop_aliases): | %D%/settings

# The fake agent for libgomp's testsuite under changing allotments.
check_PROGRAMS += tests/libgomp-coop/toggler
tests_libgomp_coop_toggler_SOURCES = tests/libgomp-coop/toggler.c

check_DATA += tests/libgomp-coop/bench_overhead
tests/libgomp-coop/bench_overhead: tests/libgomp-coop/bench_overhead.c
	@$(MKDIR_P) tests/libgomp-coop
	$(AM_V_GEN)$(JOBS_CC) -std=gnu17 -O2 $(OPENMP_CFLAGS) \
	    $(srcdir)/tests/libgomp-coop/bench_overhead.c -o $@
CLEANFILES += tests/libgomp-coop/bench_overhead

runtime_benches = tests/libgomp-coop/bench_constructs \
	tests/libgomp-coop/bench_moves \
	tests/libgomp-coop/bench_spin \
	tests/libgomp-coop/bench_start
$(runtime_benches): %: %.c
	@$(MKDIR_P) tests/libgomp-coop
	$(AM_V_GEN)$(JOBS_CC) -std=gnu17 -O2 -Wall -Wextra $(OPENMP_CFLAGS) \
	    $< -o $@
CLEANFILES += $(runtime_benches)

TESTS += \
	tests/libgomp-coop/libgomp_symbols \
	tests/libgomp-coop/libgomp_conformance \
	tests/libgomp-coop/stress/test_stress

# All suites and modes, with and without a fake agent: about 20 minutes.  With
# GCC=N: that release, in automatic mode, compiled by its own compiler.
conformance: tests/libgomp-coop/toggler $(if $(GCC),,$(libgomp_coop_libraries))
	$(if $(GCC),$(srcdir)/%D%/conformance-gcc --gcc $(GCC) \
		$(CONFORMANCE_OPTIONS), \
	    $(srcdir)/%D%/conformance --build %D% --suite all --mode all \
		--allotment all --json conformance.json)

# Each release of GCC, or those named by GCC="11 14": four minutes.
check-gcc-releases: tests/libgomp-coop/gcc_releases
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/libgomp-coop/gcc_releases \
	    --cc '$(JOBS_CC)' $(GCC)

# Each release of LLVM in this Debian, or those named by LLVM="16 19": five minutes.
check-llvm-releases: $(libgomp_coop_libraries) $(libgomp_coop_aliases)
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/libgomp-coop/llvm_releases $(LLVM)

# LLVM's own tests of its runtime, with libomp and ours: about 15 minutes.  With
# LLVM=N: that release's.
conformance-llvm: $(libgomp_coop_libraries) tests/libgomp-coop/toggler
	$(srcdir)/%D%/conformance-llvm --build %D% --allotment all \
	    --json conformance-llvm.json $(if $(LLVM),--llvm $(LLVM))

# All constructs and all programs of jobs/; a part of it, or less exactly, with
# BENCH_OPTIONS="--jobs lu,cg --rounds 5".
bench-standalone: $(libgomp_coop_libraries) $(jobs_programs) \
	    tests/libgomp-coop/bench_overhead
	@$(MKDIR_P) bench
	$(srcdir)/tests/libgomp-coop/bench-standalone --build %D% \
	    --jobs "$$(echo $(notdir $(jobs_programs)) | tr ' ' ,)" \
	    $(BENCH_OPTIONS) --json bench/bench-standalone.json

# The thesis's figures of its runtime, five minutes; BENCH_OPTIONS="--rounds 3 2.8" is an example.
bench-figures: $(libgomp_coop_libraries) $(jobs_programs) $(jobs_dynamic)
	abs_top_srcdir=$(abs_top_srcdir) $(srcdir)/tests/libgomp-coop/bench-figures \
	    $(BENCH_OPTIONS)

# About three minutes; a part of it with BENCH_OPTIONS="--quick --only barrier".
bench-runtime: $(libgomp_coop_libraries) $(runtime_benches) \
	    tests/libgomp-coop/toggler tests/libgomp-coop/bench_donors \
	    tests/libgomp-coop/test_switch \
	    tests/libgomp-coop/probe tests/libgomp-coop/clang/bench_constructs
	@$(MKDIR_P) bench
	$(srcdir)/tests/libgomp-coop/bench-runtime $(BENCH_OPTIONS) \
	    --json bench/bench-runtime.json

# Random programs, disturbed: other ones each time, for ten minutes, unless
# STRESS_OPTIONS says else.
stress: $(libgomp_coop_libraries) tests/libgomp-coop/toggler
	$(srcdir)/tests/libgomp-coop/stress/stress --cc '$(JOBS_CC)' \
	    $(if $(STRESS_OPTIONS),$(STRESS_OPTIONS),--seconds 600)

CLEANFILES += conformance.json conformance-llvm.json bench/bench-standalone.json \
	bench/bench-runtime.json
endif

include libgomp-coop/audit/local.mk

clean-local:
	rm -rf $(addprefix %D%/,src src.new conf stock coop lib-stock lib-coop \
	    conformance.work conformance-llvm.work mkl stress.work settings sources.sha256 build.log \
	    .unpacked .configured .hooks .lock) gcc-releases llvm-releases

.PHONY: bench-figures bench-runtime bench-standalone check-gcc-releases \
	check-llvm-releases conformance conformance-llvm stress
