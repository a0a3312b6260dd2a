# SPDX-License-Identifier: GPL-2.0-or-later
# Machines with several NUMA nodes, emulated: `make check-numa`, and with a
# Slurm cluster on version 2 of cgroups: `make check-numa-slurm`.

EXTRA_DIST += %D%/check-numa %D%/inside-agent.sh %D%/inside-cgroup.sh \
	%D%/inside-mapping.sh %D%/inside-slurm.sh %D%/inside-systemd.sh %D%/inside-tap.sh \
	%D%/inside-topology.sh \
	%D%/numa-vm

EXTRA_PROGRAMS += %D%/look
CLEANFILES += %D%/look$(EXEEXT)
%C%_look_SOURCES = %D%/look.c
%C%_look_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
%C%_look_LDADD = node_agent/daemon/libagent.la $(HWLOC_LIBS) $(NUMA_LIBS)

EXTRA_LTLIBRARIES = %D%/pages.la
CLEANFILES += %D%/pages.la
%C%_pages_la_SOURCES = %D%/pages.c
# Never with a sanitizer: whoever it is loaded into brings his own.
%C%_pages_la_CFLAGS = $(WARN_CFLAGS)
%C%_pages_la_LDFLAGS = -module -avoid-version -rpath /nowhere
%C%_pages_la_LIBADD = $(NUMA_LIBS) -ldl

# Machines by name: make check-numa MACHINES='agent cgroup2'.
MACHINES =
numa_programs = %D%/look$(EXEEXT) %D%/pages.la \
	tests/node_agent/daemon/fake_job$(EXEEXT)

if HAVE_NUMA
if HAVE_LIBSYSTEMD
check-numa: all
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) $(numa_programs)
	$(AM_V_at)$(srcdir)/%D%/check-numa . $(MACHINES)
check-numa-slurm: all
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) $(numa_programs)
	$(AM_V_at)$(srcdir)/%D%/check-numa . slurm2
else
check-numa check-numa-slurm:
	@echo "$@: configured without libsystemd: there is no agent" >&2
	@exit 1
endif
else
check-numa check-numa-slurm:
	@echo "$@: configured without libnuma (package libnuma-dev)" >&2
	@exit 1
endif

.PHONY: check-numa check-numa-slurm
