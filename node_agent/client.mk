# SPDX-License-Identifier: GPL-2.0-or-later
# Client side of the agent's socket.  PIC, because the SPANK plugin links it.

noinst_LTLIBRARIES += %D%/libclient.la

%C%_libclient_la_SOURCES = \
	%D%/client.c \
	%D%/client.h \
	%D%/end_note.c \
	%D%/end_note.h \
	%D%/munge_credential.c \
	%D%/munge_credential.h
%C%_libclient_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(MUNGE_CFLAGS)
%C%_libclient_la_LIBADD = protocol/libprotocol.la $(MUNGE_LIBS)

bin_PROGRAMS += coschedctl
coschedctl_SOURCES = \
	%D%/calibrate/plot.c \
	%D%/calibrate/plot.h \
	%D%/coschedctl.c \
	%D%/ctl.h \
	%D%/ctl_counters.c \
	%D%/ctl_counters.h \
	%D%/ctl_calibrate.c \
	%D%/ctl_ks.c \
	%D%/ctl_machine.c \
	%D%/ctl_operate.c \
	%D%/ctl_query.c \
	%D%/ctl_run.c \
	%D%/ctl_selftest.c
coschedctl_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(HWLOC_CFLAGS)
coschedctl_LDADD = %D%/libcalibrate.la coschedmodel/libcli.la \
	coschedmodel/libplot.la \
	%D%/libnode.la %D%/libclient.la protocol/libprotocol.la \
	$(JANSSON_LIBS) $(HWLOC_LIBS)

dist_man_MANS += docs/coschedctl.1
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = %D%/completions/coschedctl

# The only program with libslurm; on its own when that one fails.
pkglibexec_PROGRAMS += coschedd-slurm
coschedd_slurm_SOURCES = %D%/slurm_helper.c %D%/slurm_partitions.c \
	%D%/slurm_compat.h %D%/slurm_partitions.h
coschedd_slurm_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(JANSSON_CFLAGS)
coschedd_slurm_LDADD = $(SLURM_LIBS) $(JANSSON_LIBS)
