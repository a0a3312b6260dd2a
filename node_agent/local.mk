# SPDX-License-Identifier: GPL-2.0-or-later
# The agent of a node, its helpers, and the control tool.

include node_agent/topology/local.mk
include node_agent/counters/local.mk
include node_agent/recording/local.mk
include node_agent/core/local.mk
include node_agent/client/local.mk
include node_agent/calibrate/local.mk
include node_agent/names/local.mk
include node_agent/coschedctl/local.mk
include node_agent/helpers/local.mk
if HAVE_LIBSYSTEMD
include node_agent/enforce/local.mk
include node_agent/daemon/local.mk
endif

dist_man_MANS += docs/coschedd.8
CLEANFILES += %D%/daemon/cosched-health
pkglibexec_SCRIPTS += %D%/daemon/cosched-health
EXTRA_DIST += %D%/daemon/cosched-health.in
%D%/daemon/cosched-health: %D%/daemon/cosched-health.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D%/daemon %D%/helpers && $(SED) -e 's,[@]bindir[@],$(bindir),g' \
	  $(srcdir)/%D%/daemon/cosched-health.in >$@ && chmod +x $@
names_unit_files = %D%/names/coschedd-names.socket %D%/names/coschedd-names@.service
unit_files = %D%/daemon/coschedd.service %D%/helpers/coschedd-collector.service \
	$(names_unit_files)
likwid_unit_files = %D%/helpers/coschedd-likwid.socket %D%/helpers/coschedd-likwid@.service
if HAVE_LIKWID
unit_files += $(likwid_unit_files)
endif
pkgdata_DATA += $(unit_files)
EXTRA_DIST += %D%/daemon/coschedd.service.in %D%/helpers/coschedd-likwid.socket.in \
	%D%/helpers/coschedd-collector.service.in \
	%D%/helpers/coschedd-likwid@.service.in \
	%D%/names/coschedd-names.socket.in %D%/names/coschedd-names@.service.in
CLEANFILES += %D%/daemon/coschedd.service %D%/helpers/coschedd-collector.service \
	$(likwid_unit_files) $(names_unit_files)
unit_edit = $(MKDIR_P) %D%/daemon %D%/helpers %D%/names && \
	$(SED) -e 's,[@]sbindir[@],$(sbindir),g' \
	-e 's,[@]pkglibexecdir[@],$(pkglibexecdir),g' \
	-e 's,[@]runstatedir[@],$(runstatedir),g'
%D%/daemon/coschedd.service: %D%/daemon/coschedd.service.in Makefile
	$(AM_V_GEN)$(unit_edit) $(srcdir)/%D%/daemon/coschedd.service.in >$@
%D%/helpers/coschedd-collector.service: %D%/helpers/coschedd-collector.service.in Makefile
	$(AM_V_GEN)$(unit_edit) $(srcdir)/%D%/helpers/coschedd-collector.service.in >$@
%D%/helpers/coschedd-likwid.socket: %D%/helpers/coschedd-likwid.socket.in Makefile
	$(AM_V_GEN)$(unit_edit) $(srcdir)/%D%/helpers/coschedd-likwid.socket.in >$@
%D%/helpers/coschedd-likwid@.service: %D%/helpers/coschedd-likwid@.service.in Makefile
	$(AM_V_GEN)$(unit_edit) $(srcdir)/%D%/helpers/coschedd-likwid@.service.in >$@
%D%/names/coschedd-names.socket: %D%/names/coschedd-names.socket.in Makefile
	$(AM_V_GEN)$(unit_edit) $(srcdir)/%D%/names/coschedd-names.socket.in >$@
%D%/names/coschedd-names@.service: %D%/names/coschedd-names@.service.in Makefile
	$(AM_V_GEN)$(unit_edit) $(srcdir)/%D%/names/coschedd-names@.service.in >$@
