# SPDX-License-Identifier: GPL-2.0-or-later
# Client side of the agent's socket, coschedctl, and the helper for Slurm.

client_scripts = \
	%D%/test_ctl.py \
	%D%/test_ctl_docs.py
EXTRA_DIST += $(client_scripts)
TESTS += $(client_scripts)
