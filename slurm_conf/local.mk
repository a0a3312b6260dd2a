# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm's side: routing, configuration, throw-away cluster, reports.

slurm_conf_data = \
	%D%/cosched_guard.lua \
	%D%/coschedhistory.service \
	%D%/coschedhistory.timer \
	%D%/job_submit.lua \
	%D%/plugstack.conf \
	%D%/slurm.conf.fragment
pkgdata_DATA += $(slurm_conf_data)

# The scripts find their modules where they are installed.
installed_scripts = %D%/installed/coscheduleadm %D%/installed/coschedhistory \
	%D%/installed/coschedreport
CLEANFILES += $(installed_scripts)
$(installed_scripts): %D%/installed/%: %D%/% Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	  $(SED) 's,@pythondir@,$(pkgdatadir)/python,;s,@pkgdatadir@,$(pkgdatadir),' $< | \
	  $(SED) 's,@plotdir@,$(plotdatadir),' >$@.tmp && \
	  chmod +x $@.tmp && mv $@.tmp $@
bin_SCRIPTS += %D%/installed/coschedreport
sbin_SCRIPTS += %D%/installed/coscheduleadm %D%/installed/coschedhistory
admin_modules = \
	%D%/admin/__init__.py \
	%D%/admin/host.py \
	%D%/admin/installation.py \
	%D%/admin/plugstack.py \
	%D%/admin/requirement.py \
	%D%/admin/slurmconf.py \
	%D%/admin/smoke.py
report_modules = \
	%D%/reporting/__init__.py \
	%D%/reporting/accounting.py \
	%D%/reporting/chart.py \
	%D%/reporting/commandline.py \
	%D%/reporting/gains.py \
	%D%/reporting/group.py \
	%D%/reporting/heat.py \
	%D%/reporting/job.py \
	%D%/reporting/listing.py \
	%D%/reporting/mix.py \
	%D%/reporting/page.py \
	%D%/reporting/programs.py \
	%D%/reporting/summary.py
shared_modules = \
	%D%/jobrecord.py \
	%D%/placement.py \
	%D%/plainclass.py \
	%D%/slurmrows.py \
	%D%/turnaround.py
pythondatadir = $(pkgdatadir)/python
pythondata_DATA = $(shared_modules)
reportingdir = $(pythondatadir)/reporting
reporting_DATA = $(report_modules)
admindir = $(pythondatadir)/admin
admin_DATA = $(admin_modules)
dist_man_MANS += docs/coschedreport.1 docs/coschedule.7 docs/coschedhistory.8 \
	docs/coscheduleadm.8
dist_bashcompletion_DATA += %D%/completions/coschedreport \
	%D%/completions/coschedhistory %D%/completions/coscheduleadm

EXTRA_DIST += $(slurm_conf_data) \
	$(admin_modules) \
	$(report_modules) \
	$(shared_modules) \
	%D%/coschedhistory \
	%D%/coschedreport \
	%D%/coscheduleadm \
	%D%/testcluster/cluster \
	%D%/testcluster/demo.py \
	%D%/testcluster/rounds.py
