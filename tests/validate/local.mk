# SPDX-License-Identifier: GPL-2.0-or-later
# The model held to simulation: `make validate-model`.  What is committed under
# docs/model/ is a copy of its results.
validation = docs/model/validation

EXTRA_PROGRAMS += %D%/validate_model
CLEANFILES += %D%/validate_model$(EXEEXT) $(validation).json \
	$(validation).md $(validation)-speed.svg \
	$(validation)-loopperf.svg docs/model/nupoco-figures.svg
EXTRA_DIST += %D%/report.py

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

validate-model: %D%/validate_model$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) docs/model
	$(AM_V_at)%D%/validate_model$(EXEEXT) $(validation).json
	$(AM_V_at)$(srcdir)/%D%/report.py \
	  $(validation).json docs/model

.PHONY: validate-model
