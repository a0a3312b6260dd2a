# SPDX-License-Identifier: GPL-2.0-or-later
# The queueing model and the policies: pure, no I/O, no clock, no globals.

noinst_LTLIBRARIES += %D%/libmodel.la

%C%_libmodel_la_SOURCES = \
	%D%/adaptive.c \
	%D%/adaptive.h \
	%D%/cache_power.c \
	%D%/cache_power.h \
	%D%/colocation.c \
	%D%/colocation.h \
	%D%/concurrency.c \
	%D%/concurrency.h \
	%D%/cputime.c \
	%D%/cputime.h \
	%D%/greater.h \
	%D%/hierarchy.c \
	%D%/hierarchy.h \
	%D%/layout.c \
	%D%/layout.h \
	%D%/link_demand.c \
	%D%/link_demand.h \
	%D%/locality.c \
	%D%/locality.h \
	%D%/loop.c \
	%D%/loop.h \
	%D%/aggregated_mva.c \
	%D%/aggregated_mva.h \
	%D%/machine.c \
	%D%/machine.h \
	%D%/mapping.c \
	%D%/mapping.h \
	%D%/maxmin.c \
	%D%/maxmin.h \
	%D%/network.c \
	%D%/network.h \
	%D%/policy.h \
	%D%/policy_fields.h \
	%D%/stall_factor.c \
	%D%/stall_factor.h \
	%D%/station.c \
	%D%/station.h \
	%D%/status.h \
	%D%/throughput.c \
	%D%/throughput.h \
	%D%/workload.c \
	%D%/workload.h \
	%D%/policy/bounds.c \
	%D%/policy/corun.c \
	%D%/policy/describe.c \
	%D%/policy/equal.c \
	%D%/policy/fairness.c \
	%D%/policy/greedy.c \
	%D%/policy/hysteresis.c \
	%D%/policy/moca.c \
	%D%/policy/nupoco.c \
	%D%/policy/options.c \
	%D%/policy/relative_speed.c \
	%D%/policy/policy.c \
	%D%/policy/power.c \
	%D%/policy/power.h \
	%D%/policy/rules.h \
	%D%/policy/shares.h \
	%D%/policy/state.c \
	%D%/policy/state.h \
	%D%/policy/baseline/amdahl.c \
	%D%/policy/baseline/batch.c \
	%D%/policy/baseline/best_simple.c \
	%D%/policy/baseline/native.c \
	%D%/policy/baseline/scalability.c \
	%D%/policy/search/arrange.c \
	%D%/policy/search/arrange.h \
	%D%/policy/search/chromosome.c \
	%D%/policy/search/chromosome.h \
	%D%/policy/search/local_search.c \
	%D%/policy/search/local_search.h \
	%D%/policy/search/divide.c \
	%D%/policy/search/divide.h \
	%D%/policy/search/evolution.c \
	%D%/policy/search/evolution.h \
	%D%/policy/search/memo.c \
	%D%/policy/search/memo.h \
	%D%/policy/search/completion.c \
	%D%/policy/search/completion.h \
	%D%/policy/search/prediction_cache.c \
	%D%/policy/search/prediction_cache.h \
	%D%/policy/search/placement.c \
	%D%/policy/search/placement.h \
	%D%/policy/search/predict.c \
	%D%/policy/search/predict.h \
	%D%/policy/search/sampling.c \
	%D%/policy/search/sampling.h \
	%D%/policy/search/workspace.c \
	%D%/policy/search/workspace.h
%C%_libmodel_la_LIBADD = -lm

include model/analysis/local.mk
include model/io/local.mk

EXTRA_DIST += docs/model.md docs/model/loopperf.md \
	docs/model/validation.md \
	docs/model/validation.json docs/model/validation-speed.svg \
	docs/model/validation-loopperf.svg docs/model/nupoco-figures.svg
