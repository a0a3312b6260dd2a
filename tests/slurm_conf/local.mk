# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm's side without Slurm: the history, and job_submit.lua in Lua interpreters
# of their own (skipped where there is none).  fuzz_rows.py SECONDS goes on for longer.

slurm_conf_tests = \
	%D%/test_admin.py \
	%D%/fuzz_rows.py \
	%D%/test_history.py \
	%D%/test_job_submit.py \
	%D%/test_placement.py \
	%D%/test_python36.py
TESTS += $(slurm_conf_tests)
EXTRA_DIST += $(slurm_conf_tests) \
	%D%/bench_submit.lua \
	%D%/fake_slurm.py \
	%D%/slurm_stub.lua \
	%D%/test_job_submit.lua
