# SPDX-License-Identifier: GPL-2.0-or-later
# The queueing model and the policies: pure, no I/O, no clock, no globals.

noinst_LTLIBRARIES += %D%/libmodel.la

%C%_libmodel_la_SOURCES = \
	%D%/adaptive.c \
	%D%/adaptive.h \
	%D%/alike.c \
	%D%/alike.h \
	%D%/cache.c \
	%D%/cache.h \
	%D%/closed.c \
	%D%/closed.h \
	%D%/cputime.c \
	%D%/cputime.h \
	%D%/divide.c \
	%D%/divide.h \
	%D%/hash.h \
	%D%/hierarchy.c \
	%D%/hierarchy.h \
	%D%/kstest.c \
	%D%/kstest.h \
	%D%/layout.c \
	%D%/layout.h \
	%D%/loop.c \
	%D%/loop.h \
	%D%/loopperf.c \
	%D%/loopperf.h \
	%D%/lumped.c \
	%D%/lumped.h \
	%D%/machine.c \
	%D%/machine.h \
	%D%/maxmin.c \
	%D%/maxmin.h \
	%D%/moca.c \
	%D%/moca.h \
	%D%/mva.c \
	%D%/mva.h \
	%D%/network.c \
	%D%/network.h \
	%D%/placement.c \
	%D%/placement.h \
	%D%/policy.c \
	%D%/policy.h \
	%D%/policy/amdahl.c \
	%D%/policy/arrange.c \
	%D%/policy/arrange.h \
	%D%/policy/batch.c \
	%D%/policy/best_simple.c \
	%D%/policy/bounds.c \
	%D%/policy/chromosome.c \
	%D%/policy/chromosome.h \
	%D%/policy/climb.c \
	%D%/policy/climb.h \
	%D%/policy/corun.c \
	%D%/policy/describe.c \
	%D%/policy/equal.c \
	%D%/policy/evolution.c \
	%D%/policy/evolution.h \
	%D%/policy/fairness.c \
	%D%/policy/greedy.c \
	%D%/policy/hysteresis.c \
	%D%/policy/memo.c \
	%D%/policy/memo.h \
	%D%/policy/moca.c \
	%D%/policy/native.c \
	%D%/policy/nupoco.c \
	%D%/policy/options.c \
	%D%/policy/outlook.c \
	%D%/policy/outlook.h \
	%D%/policy/pace.c \
	%D%/policy/past.c \
	%D%/policy/past.h \
	%D%/policy/predict.c \
	%D%/policy/predict.h \
	%D%/policy/rules.h \
	%D%/policy/scalability.c \
	%D%/policy/shares.h \
	%D%/policy/state.c \
	%D%/policy/state.h \
	%D%/policy/workspace.c \
	%D%/policy/workspace.h \
	%D%/quadrature.c \
	%D%/quadrature.h \
	%D%/station.c \
	%D%/station.h \
	%D%/status.h \
	%D%/system.c \
	%D%/system.h \
	%D%/throughput.c \
	%D%/throughput.h \
	%D%/workload.c \
	%D%/workload.h
%C%_libmodel_la_LIBADD = -lm

# Apart from the rest, so that the agent needs no GSL.
if HAVE_GSL
noinst_LTLIBRARIES += %D%/libmodelfit.la
%C%_libmodelfit_la_SOURCES = %D%/fit.c %D%/fit.h
%C%_libmodelfit_la_CPPFLAGS = $(AM_CPPFLAGS) $(GSL_CFLAGS)
%C%_libmodelfit_la_LIBADD = %D%/libmodel.la $(GSL_LIBS)
endif

EXTRA_DIST += docs/model.md docs/model/loopperf.md \
	docs/model/validation.md \
	docs/model/validation.json docs/model/validation-speed.svg \
	docs/model/validation-loopperf.svg docs/model/nupoco-figures.svg
