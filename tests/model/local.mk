# SPDX-License-Identifier: GPL-2.0-or-later
# The model by itself: golden numbers, laws, the policies' rules.

if HAVE_CMOCKA
units += %D%/unit
%C%_unit_SOURCES = \
	%D%/test_adaptive.c \
	%D%/test_local_search.c \
	%D%/test_cache_power.c \
	%D%/test_closed.c \
	%D%/test_concurrency.c \
	%D%/test_cputime.c \
	%D%/test_evolution.c \
	%D%/test_hierarchy.c \
	%D%/test_kstest.c \
	%D%/test_locality.c \
	%D%/test_loop.c \
	%D%/test_loopperf.c \
	%D%/test_aggregated_mva.c \
	%D%/test_machine.c \
	%D%/test_mapping.c \
	%D%/test_maxmin.c \
	%D%/test_memo.c \
	%D%/moca_reference.c \
	%D%/moca_reference.h \
	%D%/test_moca.c \
	%D%/test_mva.c \
	%D%/test_network.c \
	%D%/test_colocation.c \
	%D%/test_completion.c \
	%D%/test_prediction_cache.c \
	%D%/test_placement.c \
	%D%/test_policy.c \
	%D%/test_policy_corun.c \
	%D%/test_policy_each.c \
	%D%/test_policy_moca.c \
	%D%/test_policy_nupoco.c \
	%D%/test_policy_power.c \
	%D%/test_policy_rules.c \
	%D%/test_sampling.c \
	%D%/test_system_laws.c \
	%D%/test_stall_factor.c \
	%D%/test_station.c \
	%D%/test_system.c \
	%D%/test_throughput.c \
	%D%/known.h \
	%D%/mix.h \
	%D%/near.h \
	%D%/parts.h
%C%_unit_CPPFLAGS = $(unit_flags)
# test_policy counts allocations.
%C%_unit_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc
%C%_unit_LDADD = model/analysis/libanalysis.la protocol/libprotocol.la $(unit_libs)
if HAVE_GSL
%C%_unit_SOURCES += %D%/test_fit.c %D%/test_train.c
%C%_unit_LDADD += model/analysis/libfit.la
endif
endif

EXTRA_PROGRAMS += %D%/bench_model %D%/bench_policy %D%/bench_search
CLEANFILES += %D%/bench_model$(EXEEXT) bench/bench-model.json \
	%D%/bench_policy$(EXEEXT) bench/bench-policy.json \
	%D%/bench_search$(EXEEXT) bench/bench-search.json
%C%_bench_model_SOURCES = %D%/bench_model.c tests/support/median.h
%C%_bench_model_LDADD = model/analysis/libanalysis.la
%C%_bench_policy_SOURCES = %D%/bench_policy.c tests/support/median.h
%C%_bench_policy_LDADD = model/analysis/libanalysis.la

bench-model: %D%/bench_model$(EXEEXT) %D%/bench_policy$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) bench
	$(AM_V_at)%D%/bench_model$(EXEEXT) bench/bench-model.json
	$(AM_V_at)%D%/bench_policy$(EXEEXT) bench/bench-policy.json

%C%_bench_search_SOURCES = %D%/bench_search.c
%C%_bench_search_LDADD = model/analysis/libanalysis.la

bench-search: %D%/bench_search$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) bench
	$(AM_V_at)%D%/bench_search$(EXEEXT) bench/bench-search.json

.PHONY: bench-model bench-search
