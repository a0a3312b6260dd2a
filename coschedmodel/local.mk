# SPDX-License-Identifier: GPL-2.0-or-later
# coschedmodel: the model as a filter for people and tests.

bin_PROGRAMS += coschedmodel/coschedmodel
%C%_coschedmodel_SOURCES = \
	%D%/command.h \
	%D%/fit.c \
	%D%/input.c \
	%D%/ks.c \
	%D%/machine.c \
	%D%/main.c \
	%D%/map.c \
	%D%/mix.c \
	%D%/mix.h \
	%D%/output.c \
	%D%/output.h \
	%D%/speedup.c \
	%D%/station.c \
	%D%/train.c \
	%D%/utilisation.c
%C%_coschedmodel_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(GSL_CFLAGS)
%C%_coschedmodel_LDADD = common/libcli.la \
	model/analysis/libanalysis.la model/io/libdescribe.la
if HAVE_GSL
%C%_coschedmodel_LDADD += model/analysis/libfit.la
endif

dist_man_MANS += docs/coschedmodel.1
dist_bashcompletion_DATA += %D%/completions/coschedmodel
