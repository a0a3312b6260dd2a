# SPDX-License-Identifier: GPL-2.0-or-later
# The command: golden numbers, every refusal.

coschedmodel_scripts = \
	%D%/test_golden.py \
	%D%/test_refusals.py
TESTS += $(coschedmodel_scripts)
EXTRA_DIST += $(coschedmodel_scripts) \
	%D%/golden/station.json \
	%D%/golden/station.table \
	%D%/golden/sweep.table \
	%D%/golden/uma.json
