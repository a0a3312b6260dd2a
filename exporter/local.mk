# SPDX-License-Identifier: GPL-2.0-or-later
# What the agent does, for monitoring.

exporter_data = \
	%D%/cosched-exporter.service \
	%D%/dashboard.json \
	%D%/rules.test.yml \
	%D%/rules.yml
exporterdir = $(pkgdatadir)/exporter
exporter_DATA = %D%/coschedmetrics.py $(exporter_data)

# It finds its module where that is installed.
CLEANFILES += %D%/installed/cosched-exporter
%D%/installed/cosched-exporter: %D%/cosched-exporter Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	  $(SED) 's,@exporterdir@,$(exporterdir),' $< >$@.tmp && \
	  chmod +x $@.tmp && mv $@.tmp $@
sbin_SCRIPTS += %D%/installed/cosched-exporter
dist_man_MANS += docs/cosched-exporter.8
dist_bashcompletion_DATA += %D%/completions/cosched-exporter
EXTRA_DIST += $(exporter_data) %D%/README.md %D%/cosched-exporter %D%/coschedmetrics.py
