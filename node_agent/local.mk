# SPDX-License-Identifier: GPL-2.0-or-later
include node_agent/node.mk
include node_agent/likwid.mk
include node_agent/client.mk

if HAVE_LIBSYSTEMD
# All of the agent but main(), for the tests to link.
noinst_LTLIBRARIES += %D%/libagent.la

%C%_libagent_la_SOURCES = \
	%D%/agent.c \
	%D%/agent.h \
	%D%/agent_config.c \
	%D%/cgroup.c \
	%D%/cgroup.h \
	%D%/cpuset_holder.c \
	%D%/cpuset_holder.h \
	%D%/daemon.c \
	%D%/daemon.h \
	%D%/enforcer.c \
	%D%/enforcer_park.c \
	%D%/enforcer_private.h \
	%D%/host_event.c \
	%D%/host_event.h \
	%D%/munge_decoder.c \
	%D%/munge_decoder.h \
	%D%/partitioner.c \
	%D%/partitioner.h \
	%D%/privilege.c \
	%D%/privilege.h \
	%D%/proc.c \
	%D%/proc.h \
	%D%/proc_table.c \
	%D%/proc_table.h \
	%D%/request.c \
	%D%/server.c \
	%D%/server.h \
	%D%/server_guard.c \
	%D%/server_private.h \
	%D%/settings.c \
	%D%/settings.h \
	%D%/slurm_link.c \
	%D%/slurm_link.h \
	%D%/state.c \
	%D%/state.h \
	%D%/status.c \
	%D%/status.h \
	%D%/threads.c \
	%D%/threads.h \
	%D%/usage.c \
	%D%/usage.h \
	%D%/user_time.c \
	%D%/user_time.h \
	%D%/warden.c \
	%D%/warden.h
%C%_libagent_la_CPPFLAGS = $(AM_CPPFLAGS) \
	$(JANSSON_CFLAGS) $(HWLOC_CFLAGS) $(LIBSYSTEMD_CFLAGS)
%C%_libagent_la_LIBADD = %D%/libcore.la %D%/libnode.la node_agent/libclient.la \
	$(JANSSON_LIBS) $(HWLOC_LIBS) $(LIBSYSTEMD_LIBS) -lpthread

sbin_PROGRAMS += coschedd
coschedd_SOURCES = %D%/main.c
coschedd_CPPFLAGS = $(%C%_libagent_la_CPPFLAGS)
coschedd_LDADD = %D%/libagent.la
endif

dist_man_MANS += docs/coschedd.8
CLEANFILES += %D%/cosched-health
pkglibexec_SCRIPTS += %D%/cosched-health
EXTRA_DIST += %D%/cosched-health.in
%D%/cosched-health: %D%/cosched-health.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && $(SED) -e 's,[@]bindir[@],$(bindir),g' \
	  $(srcdir)/%D%/cosched-health.in >$@ && chmod +x $@
unit_files = %D%/coschedd.service
likwid_unit_files = %D%/coschedd-likwid.socket %D%/coschedd-likwid@.service
if HAVE_LIKWID
unit_files += $(likwid_unit_files)
endif
pkgdata_DATA += $(unit_files)
EXTRA_DIST += %D%/coschedd.service.in %D%/coschedd-likwid.socket.in \
	%D%/coschedd-likwid@.service.in
CLEANFILES += %D%/coschedd.service $(likwid_unit_files)
unit_edit = $(MKDIR_P) %D% && $(SED) -e 's,[@]sbindir[@],$(sbindir),g' \
	-e 's,[@]pkglibexecdir[@],$(pkglibexecdir),g' \
	-e 's,[@]runstatedir[@],$(runstatedir),g'
%D%/coschedd.service: %D%/coschedd.service.in Makefile
	$(AM_V_GEN)$(unit_edit) $(srcdir)/%D%/coschedd.service.in >$@
%D%/coschedd-likwid.socket: %D%/coschedd-likwid.socket.in Makefile
	$(AM_V_GEN)$(unit_edit) $(srcdir)/%D%/coschedd-likwid.socket.in >$@
%D%/coschedd-likwid@.service: %D%/coschedd-likwid@.service.in Makefile
	$(AM_V_GEN)$(unit_edit) $(srcdir)/%D%/coschedd-likwid@.service.in >$@
