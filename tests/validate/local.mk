# SPDX-License-Identifier: GPL-2.0-or-later
# The model held to simulation: `make validate-model`.  What is committed under
# docs/model/ is a copy of its results.
validation = docs/model/validation

EXTRA_PROGRAMS += %D%/validate_model
CLEANFILES += %D%/validate_model$(EXEEXT) $(validation).json \
	$(validation).md $(validation)-speed.svg \
	$(validation)-loopperf.svg docs/model/nupoco-figures.svg
EXTRA_DIST += %D%/report.py %D%/memory_nodes.py %D%/schedules.py

%C%_validate_model_SOURCES = \
	%D%/figures.c \
	%D%/figures.h \
	%D%/loops.c \
	%D%/loops.h \
	%D%/mixes.c \
	%D%/mixes.h \
	%D%/predict.c \
	%D%/predict.h \
	%D%/speedups.c \
	%D%/speedups.h \
	%D%/truth.c \
	%D%/truth.h \
	%D%/validate.c \
	%D%/worlds.c \
	%D%/worlds.h
%C%_validate_model_CFLAGS = $(AM_CFLAGS) -pthread
%C%_validate_model_LDADD = tests/simulator/libmemsys.la \
	model/analysis/libanalysis.la

validate-model: %D%/validate_model$(EXEEXT) coschedmodel/coschedmodel$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) docs/model
	$(AM_V_at)%D%/validate_model$(EXEEXT) $(validation).json
	$(AM_V_at)$(srcdir)/%D%/report.py \
	  $(validation).json docs/model
	$(AM_V_at)$(srcdir)/%D%/memory_nodes.py coschedmodel/coschedmodel$(EXEEXT) \
	  $(abs_srcdir)/machines/amd-opteron-6380-8x8.json >>$(validation).md
	$(AM_V_at)$(srcdir)/%D%/schedules.py coschedmodel/coschedmodel$(EXEEXT) \
	  $(abs_srcdir)/machines/amd-opteron-6380-8x8.json >>$(validation).md

.PHONY: validate-model

# The model of time sharing held to real runs here; not for a busy machine.
EXTRA_PROGRAMS += %D%/timeshare_rates
CLEANFILES += %D%/timeshare_rates$(EXEEXT) bench/check-timeshare.json
EXTRA_DIST += %D%/check_timeshare.py
%C%_timeshare_rates_SOURCES = %D%/timeshare_rates.c
%C%_timeshare_rates_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_timeshare_rates_LDADD = simulator/libscenario.la -lm

check-timeshare: %D%/timeshare_rates$(EXEEXT) jobs/ep jobs/stream jobs/cg
	$(AM_V_at)$(MKDIR_P) bench
	$(AM_V_at)$(srcdir)/%D%/check_timeshare.py . bench/check-timeshare.json
.PHONY: check-timeshare
