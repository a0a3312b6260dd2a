# SPDX-License-Identifier: GPL-2.0-or-later
# coschedd: all of the agent but main(), for the tests to link.

noinst_LTLIBRARIES += %D%/libagent.la
%C%_libagent_la_SOURCES = \
	%D%/agent.c \
	%D%/agent.h \
	%D%/agent_counters.c \
	%D%/agent_counters.h \
	%D%/answer.c \
	%D%/answer.h \
	%D%/caller.c \
	%D%/caller.h \
	%D%/connections.c \
	%D%/connections.h \
	%D%/delivery.c \
	%D%/delivery.h \
	%D%/ending.c \
	%D%/ending.h \
	%D%/event.h \
	%D%/host_event.c \
	%D%/host_event.h \
	%D%/listener.c \
	%D%/listener.h \
	%D%/looks.c \
	%D%/looks.h \
	%D%/munge_decoder.c \
	%D%/munge_decoder.h \
	%D%/namer.c \
	%D%/namer.h \
	%D%/node_config.c \
	%D%/node_config.h \
	%D%/opening.c \
	%D%/opening.h \
	%D%/pending.c \
	%D%/pending.h \
	%D%/replies.c \
	%D%/replies.h \
	%D%/request.c \
	%D%/request.h \
	%D%/server.c \
	%D%/server.h \
	%D%/settings.c \
	%D%/settings.h \
	%D%/slurm_link.c \
	%D%/slurm_link.h \
	%D%/state.c \
	%D%/state.h \
	%D%/turns.c \
	%D%/turns.h \
	%D%/users.c \
	%D%/users.h
%C%_libagent_la_CPPFLAGS = $(AM_CPPFLAGS) \
	$(JANSSON_CFLAGS) $(HWLOC_CFLAGS) $(LIBSYSTEMD_CFLAGS)
%C%_libagent_la_LIBADD = node_agent/enforce/libenforce.la \
	node_agent/recording/librecording.la \
	node_agent/client/libclient.la \
	$(JANSSON_LIBS) $(HWLOC_LIBS) $(LIBSYSTEMD_LIBS) -lpthread

sbin_PROGRAMS += coschedd
coschedd_SOURCES = %D%/main.c
coschedd_CPPFLAGS = $(%C%_libagent_la_CPPFLAGS)
coschedd_LDADD = %D%/libagent.la
