# SPDX-License-Identifier: GPL-2.0-or-later
# What people ask and no decision needs.

noinst_LTLIBRARIES += %D%/libanalysis.la
%C%_libanalysis_la_SOURCES = \
	%D%/closed.c \
	%D%/closed.h \
	%D%/kstest.c \
	%D%/kstest.h \
	%D%/loopperf.c \
	%D%/loopperf.h \
	%D%/mva.c \
	%D%/mva.h \
	%D%/system.c \
	%D%/system.h
%C%_libanalysis_la_LIBADD = model/libmodel.la

# Apart from the rest, as only it needs GSL.
if HAVE_GSL
noinst_LTLIBRARIES += %D%/libfit.la
%C%_libfit_la_SOURCES = %D%/fit.c %D%/fit.h %D%/train.c %D%/train.h
%C%_libfit_la_CPPFLAGS = $(AM_CPPFLAGS) $(GSL_CFLAGS)
%C%_libfit_la_LIBADD = %D%/libanalysis.la $(GSL_LIBS)
endif
