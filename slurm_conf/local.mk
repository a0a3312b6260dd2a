# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm's side: routing, configuration, throw-away cluster, reports.

slurm_conf_data = \
	%D%/job_submit.lua \
	%D%/plugstack.conf \
	%D%/slurm.conf.fragment
pkgdata_DATA += $(slurm_conf_data)
bin_SCRIPTS += %D%/coschedreport
dist_man_MANS += docs/coschedreport.1
dist_bashcompletion_DATA += %D%/completions/coschedreport

EXTRA_DIST += $(slurm_conf_data) \
	%D%/cluster \
	%D%/corechart.py \
	%D%/coschedreport \
	%D%/demo.py \
	%D%/turnaround.py
