# SPDX-License-Identifier: GPL-2.0-or-later
# The control tool.

bin_PROGRAMS += coschedctl
coschedctl_SOURCES = \
	%D%/calibrate.c \
	%D%/commands.h \
	%D%/coschedctl.c \
	%D%/counters.c \
	%D%/ctl.c \
	%D%/ctl.h \
	%D%/jobs.c \
	%D%/machine.c \
	%D%/named.c \
	%D%/named.h \
	%D%/node.c \
	%D%/node.h \
	%D%/operate.c \
	%D%/query.c \
	%D%/remote.c \
	%D%/remote.h \
	%D%/requests.c \
	%D%/run.c \
	%D%/selftest.c \
	%D%/top/frame.c \
	%D%/top/frame.h \
	%D%/top/paint.c \
	%D%/top/paint.h \
	%D%/top/screen.c \
	%D%/top/screen.h \
	%D%/top/state.c \
	%D%/top/state.h \
	%D%/top/top.c \
	%D%/top/view.c \
	%D%/top/view.h \
	%D%/why.c
coschedctl_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(HWLOC_CFLAGS) $(NCURSES_CFLAGS)
coschedctl_LDADD = node_agent/calibrate/libcalibrate.la common/libcli.la \
	node_agent/recording/librecording.la \
	node_agent/client/libclient.la node_agent/names/libnames.la $(JANSSON_LIBS) $(HWLOC_LIBS) \
	$(NCURSES_LIBS)

dist_man_MANS += docs/coschedctl.1
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = %D%/completions/coschedctl
