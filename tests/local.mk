# SPDX-License-Identifier: GPL-2.0-or-later

# The unit test program of a folder runs the groups of its files (unit.h).
units =
if HAVE_CMOCKA
check_LTLIBRARIES += %D%/support/libunit.la
%C%_support_libunit_la_SOURCES = %D%/support/unit.h %D%/support/unit_main.c \
	%D%/support/callpoints.c %D%/support/callpoints.h \
	%D%/support/tree.h %D%/support/uniform_machine.h
%C%_support_libunit_la_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) \
	-DUNIT_SOURCE='"$(abs_top_srcdir)"' -DUNIT_BUILD='"$(abs_top_builddir)"'
endif
# Kills a program, or lets a system call of it fail, at one of its calls.
check_PROGRAMS += %D%/support/at_call
%C%_support_at_call_SOURCES = %D%/support/at_call.c %D%/support/callpoints.c \
	%D%/support/callpoints.h

# Lets one call fail.  Never with a sanitizer: it is loaded into other programs, too.
check_LTLIBRARIES += %D%/support/failing.la
%C%_support_failing_la_SOURCES = %D%/support/failing.c
%C%_support_failing_la_CFLAGS = $(WARN_CFLAGS)
%C%_support_failing_la_LDFLAGS = -module -avoid-version -rpath /nowhere
%C%_support_failing_la_LIBADD = -ldl

# Another time of day, likewise.
check_LTLIBRARIES += %D%/support/shifted.la
%C%_support_shifted_la_SOURCES = %D%/support/shifted.c
%C%_support_shifted_la_CFLAGS = $(WARN_CFLAGS)
%C%_support_shifted_la_LDFLAGS = -module -avoid-version -rpath /nowhere

unit_flags = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
unit_libs = tests/support/libunit.la $(JANSSON_LIBS) $(CMOCKA_LIBS)

# Those that take long come first, so that they do not end last: make check -j4.
include tests/cluster/local.mk
include tests/chain/local.mk
include tests/emulator/local.mk
include tests/coschedeval/local.mk
include tests/common/local.mk
include tests/exporter/local.mk
include tests/protocol/local.mk
include tests/model/local.mk
include tests/simulator/local.mk
include tests/fuzz/local.mk
include tests/validate/local.mk
include tests/coschedmodel/local.mk
include tests/node_agent/local.mk
include tests/numa/local.mk
include tests/spank_plugin/local.mk
include tests/libgomp-coop/local.mk
include tests/jobs/local.mk
include tests/scripts/local.mk
include tests/plot/local.mk
include tests/slurm_conf/local.mk
include tests/distros/local.mk
include tests/packaging/local.mk

check_PROGRAMS += $(units)
TESTS += $(units)

# What another compiler and another Slurm may break; only what it needs is built.
check-units: all
	$(MAKE) check check_DATA= check_PROGRAMS="$(units) tests/support/at_call \
	  tests/node_agent/daemon/fake_job" \
	  TESTS="$(units) $(report_tests) $(slurm_conf_tests) \
	  $(filter %_munge.py %_share.py %_slurm.py %_versions.py,$(agent_scripts))"
check-cluster: all
	$(MAKE) check check_DATA= check_PROGRAMS=tests/cluster/standin TESTS="$(cluster_tests)"
.PHONY: check-units check-cluster

# Each log ends with the time that its test took.
LOG_COMPILER = $(SHELL) $(srcdir)/%D%/support/timed
EXTRA_DIST += %D%/support/timed

# What is not in TESTS: other scripts, and one group of a unit test program, as in
# make check TESTS=tests/model/test_station.
tests/%.log:
	@p='tests/$*'; $(am__check_pre) $(LOG_DRIVER) --test-name "$$f" \
	  --log-file "$$f.log" --trs-file "$$f.trs" $(am__common_driver_flags) -- \
	  $(LOG_COMPILE) $$(test -e "$$tst" && echo "$$tst" || \
	    echo "$(@D)/unit $${f##*/}")
