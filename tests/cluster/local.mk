# SPDX-License-Identifier: GPL-2.0-or-later
# On a throw-away Slurm cluster; skipped where there is no Slurm or no root.

cluster_tests = \
	%D%/test_admin.py \
	%D%/test_cgroup.py \
	%D%/test_cluster.py \
	%D%/test_environment.py \
	%D%/test_history.py \
	%D%/test_jobs.py \
	%D%/test_programs.py \
	%D%/test_sharing.py \
	%D%/test_submit.py

if HAVE_GCC_SOURCE
TESTS += $(cluster_tests)
check_PROGRAMS += %D%/standin
%C%_standin_SOURCES = %D%/standin.c
%C%_standin_LDADD = -lpthread
endif
# These need no cluster.
report_tests = \
	%D%/test_report.py \
	%D%/test_report_mix.py \
	%D%/test_report_gains.py \
	%D%/test_report_page.py \
	%D%/test_soak.py
TESTS += $(report_tests)

# What takes longer than ./check has time for.
slurm_tests = \
	%D%/test_ansible.py \
	%D%/test_faults.py \
	%D%/test_hostile.py \
	%D%/test_nodes.py \
	%D%/test_operation.py \
	%D%/test_report_cluster.py \
	%D%/test_suspend.py \
	%D%/test_ways.py
EXTRA_DIST += $(slurm_tests)
check-slurm: all
	$(MAKE) check TESTS="$(slurm_tests)"
.PHONY: check-slurm

EXTRA_DIST += tests/support/coschedcluster.py tests/support/fakesacct.py \
	tests/support/namespaces.py \
	%D%/ends.py %D%/hybrid.c \
	$(cluster_tests) $(report_tests)

# Random jobs and faults for hours (docs/operate.md has what is promised then), on a
# build with sanitizers, too, if SOAK="--agent BUILD" names one: make soak HOURS=6
HOURS = 0
MINUTES = 0
EXTRA_DIST += %D%/soak.py %D%/soak_faults.py %D%/soak_jobs.py %D%/soak_node.py
soak: all
	$(MAKE) %D%/standin
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/soak.py --hours $(HOURS) \
	  --minutes $(MINUTES) $(SOAK)
.PHONY: soak

# Some minutes.
EXTRA_DIST += %D%/bench_records.py %D%/bench_slurm.py
bench-records: all
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/bench_records.py
bench-slurm: all
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/bench_slurm.py
.PHONY: bench-records bench-slurm

clean-local: clean-cluster
clean-cluster:
	rm -rf %D%/database %D%/database.*
.PHONY: clean-cluster
