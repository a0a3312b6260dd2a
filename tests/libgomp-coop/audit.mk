# SPDX-License-Identifier: GPL-2.0-or-later
# How programs find the cooperative libgomp; included by local.mk.

audit_tests = tests/libgomp-coop/test_audit.py tests/libgomp-coop/test_audit_bad.py \
	tests/libgomp-coop/test_setuid.py

EXTRA_DIST += $(audit_tests) tests/libgomp-coop/audit_programs.py \
	tests/libgomp-coop/audit_image.c \
	tests/libgomp-coop/check_containers.py \
	tests/libgomp-coop/check_wheels.py

if HAVE_GCC_SOURCE
TESTS += $(audit_tests)

audit_environment = abs_top_srcdir='$(abs_top_srcdir)' \
	abs_top_builddir='$(abs_top_builddir)'

# Wheels from PyPI; WHEELS="torch", which is large, or other names for others.
check-wheels: all
	$(audit_environment) $(srcdir)/tests/libgomp-coop/check_wheels.py \
	    tests/libgomp-coop/wheels $(WHEELS)

# Trees of other releases, kept in CONTAINERS; as root.
CONTAINERS = $(abs_top_builddir)/tests/libgomp-coop/containers
check-containers: all
	$(audit_environment) $(srcdir)/tests/libgomp-coop/check_containers.py \
	    '$(CONTAINERS)' $(SUITES)
endif

.PHONY: check-containers check-wheels
