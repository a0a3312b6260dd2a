# SPDX-License-Identifier: GPL-2.0-or-later
# Descriptions of machines, model/io/machine.schema.json says what is in them.

machinesdir = $(pkgdatadir)/machines
dist_machines_DATA = \
	%D%/amd-epyc-7763-2x64-nps4.json \
	%D%/amd-epyc-9754-2x128-nps4.json \
	%D%/amd-opteron-6380-2x4.json \
	%D%/amd-opteron-6380-4x4.json \
	%D%/amd-opteron-6380-8x8.json \
	%D%/intel-8280-2x28-snc2.json \
	%D%/intel-e7-8870v3-4x18.json \
	%D%/intel-e7-8870v3-4x2.json \
	%D%/intel-e7-8870v3-4x4.json \
	%D%/uma-1x2.json %D%/uma-1x8.json
