# SPDX-License-Identifier: GPL-2.0-or-later
# Machines with several memory nodes, emulated: `make check-numa`.

EXTRA_DIST += %D%/check-numa %D%/inside-agent.sh %D%/inside-cgroup.sh \
	%D%/inside-systemd.sh %D%/inside-tap.sh %D%/inside-topology.sh \
	%D%/numa-vm

EXTRA_PROGRAMS += %D%/look
CLEANFILES += %D%/look$(EXEEXT)
%C%_look_SOURCES = %D%/look.c
%C%_look_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
%C%_look_LDADD = node_agent/libnode.la $(HWLOC_LIBS) $(NUMA_LIBS)

if HAVE_NUMA
if HAVE_LIBSYSTEMD
check-numa: all %D%/look$(EXEEXT)
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) tests/node_agent/fake_job$(EXEEXT)
	$(AM_V_at)$(srcdir)/%D%/check-numa .
else
check-numa:
	@echo "check-numa: configured without libsystemd: there is no agent" >&2
	@exit 1
endif
else
check-numa:
	@echo "check-numa: configured without libnuma (package libnuma-dev)" >&2
	@exit 1
endif

.PHONY: check-numa
