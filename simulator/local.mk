# SPDX-License-Identifier: GPL-2.0-or-later
# Discrete-event simulators: the truth that the model is held to.

noinst_LTLIBRARIES += %D%/libmemsys.la

%C%_libmemsys_la_SOURCES = \
	%D%/choice.c \
	%D%/choice.h \
	%D%/events.c \
	%D%/events.h \
	%D%/memsys.c \
	%D%/memsys.h \
	%D%/random.c \
	%D%/random.h
%C%_libmemsys_la_LIBADD = model/libmodel.la -lm
