# SPDX-License-Identifier: GPL-2.0-or-later
# What touches other people's processes.

noinst_LTLIBRARIES += %D%/libenforce.la
%C%_libenforce_la_SOURCES = \
	%D%/cgroup.c \
	%D%/cgroup.h \
	%D%/cpuset_holder.c \
	%D%/cpuset_holder.h \
	%D%/enforcer.c \
	%D%/freezer.c \
	%D%/freezer.h \
	%D%/ledger.c \
	%D%/ledger.h \
	%D%/follow_look.c \
	%D%/follow_look.h \
	%D%/heirs.c \
	%D%/heirs.h \
	%D%/job_cgroup.c \
	%D%/job_cgroup.h \
	%D%/members.c \
	%D%/members.h \
	%D%/owners.c \
	%D%/owners.h \
	%D%/privilege.c \
	%D%/privilege.h \
	%D%/proc.c \
	%D%/proc.h \
	%D%/proc_table.c \
	%D%/proc_table.h \
	%D%/program_elf.c \
	%D%/program_elf.h \
	%D%/threads.c \
	%D%/threads.h \
	%D%/usage.c \
	%D%/usage.h \
	%D%/stopper.c \
	%D%/stopper.h \
	%D%/supervisor.c \
	%D%/supervisor.h
%C%_libenforce_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(HWLOC_CFLAGS)
%C%_libenforce_la_LIBADD = node_agent/core/libcore.la -lpthread
