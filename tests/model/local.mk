# SPDX-License-Identifier: GPL-2.0-or-later
# The model by itself: golden numbers, laws, the policies' rules.

if HAVE_CMOCKA
model_units = \
	%D%/test_adaptive \
	%D%/test_climb \
	%D%/test_closed \
	%D%/test_cputime \
	%D%/test_evolution \
	%D%/test_hierarchy \
	%D%/test_kstest \
	%D%/test_loop \
	%D%/test_loopperf \
	%D%/test_lumped \
	%D%/test_machine \
	%D%/test_maxmin \
	%D%/test_memo \
	%D%/test_moca \
	%D%/test_mva \
	%D%/test_network \
	%D%/test_placement \
	%D%/test_policy \
	%D%/test_policy_each \
	%D%/test_policy_moca \
	%D%/test_policy_nupoco \
	%D%/test_policy_rules \
	%D%/test_outlook \
	%D%/test_past \
	%D%/test_predict \
	%D%/test_station \
	%D%/test_system \
	%D%/test_throughput
check_PROGRAMS += $(model_units)
TESTS += $(model_units)

model_unit_flags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
model_unit_libs = model/analysis/libanalysis.la $(CMOCKA_LIBS)

%C%_test_adaptive_SOURCES = %D%/test_adaptive.c %D%/near.h
%C%_test_adaptive_CPPFLAGS = $(model_unit_flags)
%C%_test_adaptive_LDADD = $(model_unit_libs)


%C%_test_climb_SOURCES = %D%/test_climb.c %D%/near.h
%C%_test_climb_CPPFLAGS = $(model_unit_flags)
%C%_test_climb_LDADD = $(model_unit_libs)

%C%_test_closed_SOURCES = %D%/test_closed.c %D%/near.h
%C%_test_closed_CPPFLAGS = $(model_unit_flags)
%C%_test_closed_LDADD = $(model_unit_libs)

%C%_test_cputime_SOURCES = %D%/test_cputime.c %D%/near.h
%C%_test_cputime_CPPFLAGS = $(model_unit_flags)
%C%_test_cputime_LDADD = $(model_unit_libs)

%C%_test_evolution_SOURCES = %D%/test_evolution.c %D%/near.h
%C%_test_evolution_CPPFLAGS = $(model_unit_flags)
%C%_test_evolution_LDADD = $(model_unit_libs)

%C%_test_hierarchy_SOURCES = %D%/test_hierarchy.c %D%/near.h
%C%_test_hierarchy_CPPFLAGS = $(model_unit_flags)
%C%_test_hierarchy_LDADD = $(model_unit_libs)

%C%_test_kstest_SOURCES = %D%/test_kstest.c %D%/near.h
%C%_test_kstest_CPPFLAGS = $(model_unit_flags)
%C%_test_kstest_LDADD = $(model_unit_libs)

%C%_test_loop_SOURCES = %D%/test_loop.c %D%/near.h
%C%_test_loop_CPPFLAGS = $(model_unit_flags)
%C%_test_loop_LDADD = $(model_unit_libs)

%C%_test_loopperf_SOURCES = %D%/test_loopperf.c %D%/near.h
%C%_test_loopperf_CPPFLAGS = $(model_unit_flags)
%C%_test_loopperf_LDADD = $(model_unit_libs)

%C%_test_lumped_SOURCES = %D%/test_lumped.c %D%/near.h
%C%_test_lumped_CPPFLAGS = $(model_unit_flags)
%C%_test_lumped_LDADD = $(model_unit_libs)

%C%_test_machine_SOURCES = %D%/test_machine.c %D%/near.h
%C%_test_machine_CPPFLAGS = $(model_unit_flags)
%C%_test_machine_LDADD = $(model_unit_libs)

%C%_test_maxmin_SOURCES = %D%/test_maxmin.c %D%/near.h
%C%_test_maxmin_CPPFLAGS = $(model_unit_flags)
%C%_test_maxmin_LDADD = $(model_unit_libs)
%C%_test_memo_SOURCES = %D%/test_memo.c %D%/near.h
%C%_test_memo_CPPFLAGS = $(model_unit_flags)
%C%_test_memo_LDADD = $(model_unit_libs)
%C%_test_moca_SOURCES = %D%/test_moca.c %D%/near.h
%C%_test_moca_CPPFLAGS = $(model_unit_flags)
%C%_test_moca_LDADD = $(model_unit_libs)

%C%_test_mva_SOURCES = %D%/test_mva.c %D%/near.h
%C%_test_mva_CPPFLAGS = $(model_unit_flags)
%C%_test_mva_LDADD = $(model_unit_libs)

%C%_test_network_SOURCES = %D%/test_network.c %D%/near.h
%C%_test_network_CPPFLAGS = $(model_unit_flags)
%C%_test_network_LDADD = $(model_unit_libs)

%C%_test_placement_SOURCES = %D%/test_placement.c %D%/near.h %D%/parts.h
%C%_test_placement_CPPFLAGS = $(model_unit_flags)
%C%_test_placement_LDADD = $(model_unit_libs)

%C%_test_policy_SOURCES = %D%/test_policy.c %D%/mix.h %D%/near.h \
	%D%/parts.h
%C%_test_policy_CPPFLAGS = $(model_unit_flags)
# Counts allocations.
%C%_test_policy_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc
%C%_test_policy_LDADD = $(model_unit_libs) protocol/libprotocol.la

%C%_test_policy_each_SOURCES = %D%/test_policy_each.c %D%/mix.h %D%/near.h
%C%_test_policy_each_CPPFLAGS = $(model_unit_flags)
%C%_test_policy_each_LDADD = $(model_unit_libs)

%C%_test_policy_moca_SOURCES = %D%/test_policy_moca.c %D%/near.h
%C%_test_policy_moca_CPPFLAGS = $(model_unit_flags)
%C%_test_policy_moca_LDADD = $(model_unit_libs)

%C%_test_policy_nupoco_SOURCES = %D%/test_policy_nupoco.c %D%/near.h
%C%_test_policy_nupoco_CPPFLAGS = $(model_unit_flags)
%C%_test_policy_nupoco_LDADD = $(model_unit_libs)

%C%_test_policy_rules_SOURCES = %D%/test_policy_rules.c %D%/mix.h %D%/near.h
%C%_test_policy_rules_CPPFLAGS = $(model_unit_flags)
%C%_test_policy_rules_LDADD = $(model_unit_libs)

%C%_test_outlook_SOURCES = %D%/test_outlook.c %D%/mix.h %D%/near.h
%C%_test_outlook_CPPFLAGS = $(model_unit_flags)
%C%_test_outlook_LDADD = $(model_unit_libs)
%C%_test_past_SOURCES = %D%/test_past.c %D%/mix.h %D%/near.h
%C%_test_past_CPPFLAGS = $(model_unit_flags)
%C%_test_past_LDADD = $(model_unit_libs)
%C%_test_predict_SOURCES = %D%/test_predict.c %D%/near.h
%C%_test_predict_CPPFLAGS = $(model_unit_flags)
%C%_test_predict_LDADD = $(model_unit_libs)

%C%_test_station_SOURCES = %D%/test_station.c %D%/near.h
%C%_test_station_CPPFLAGS = $(model_unit_flags)
%C%_test_station_LDADD = $(model_unit_libs)

%C%_test_system_SOURCES = %D%/test_system.c %D%/near.h
%C%_test_system_CPPFLAGS = $(model_unit_flags)
%C%_test_system_LDADD = $(model_unit_libs)

%C%_test_throughput_SOURCES = %D%/test_throughput.c %D%/near.h
%C%_test_throughput_CPPFLAGS = $(model_unit_flags)
%C%_test_throughput_LDADD = $(model_unit_libs)

if HAVE_GSL
check_PROGRAMS += %D%/test_fit
TESTS += %D%/test_fit
%C%_test_fit_SOURCES = %D%/test_fit.c %D%/near.h
%C%_test_fit_CPPFLAGS = $(model_unit_flags)
%C%_test_fit_LDADD = model/analysis/libfit.la $(model_unit_libs)
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
