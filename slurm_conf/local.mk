# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm's side: routing, configuration, throw-away cluster, reports.

slurm_conf_data = \
	%D%/job_submit.lua \
	%D%/plugstack.conf \
	%D%/slurm.conf.fragment
pkgdata_DATA += $(slurm_conf_data)

EXTRA_DIST += $(slurm_conf_data) \
	%D%/cluster \
	%D%/corechart.py \
	%D%/demo.py \
	%D%/turnaround.py
