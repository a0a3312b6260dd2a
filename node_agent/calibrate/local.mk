# SPDX-License-Identifier: GPL-2.0-or-later
# Measuring the node; only coschedctl and its tests need libnuma and GSL.

noinst_LTLIBRARIES += %D%/libcalibrate.la
%C%_libcalibrate_la_SOURCES = \
	%D%/calibrate.h \
	%D%/fit.c \
	%D%/kernels.c \
	%D%/kernels.h \
	%D%/power.c \
	%D%/power.h \
	%D%/power_cores.c \
	%D%/run.c
%C%_libcalibrate_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(GSL_CFLAGS)
%C%_libcalibrate_la_LIBADD = node_agent/counters/libcounters.la \
	model/analysis/libanalysis.la $(NUMA_LIBS) -lpthread
if HAVE_GSL
%C%_libcalibrate_la_LIBADD += model/analysis/libfit.la
endif
