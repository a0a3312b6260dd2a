# SPDX-License-Identifier: GPL-2.0-or-later
# How programs find the cooperative libgomp; included by local.mk.

audit_tests = tests/libgomp-coop/test_audit.py tests/libgomp-coop/test_audit_bad.py

EXTRA_DIST += $(audit_tests) tests/libgomp-coop/audit_programs.py \
	tests/libgomp-coop/audit_image.c

if HAVE_GCC_SOURCE
TESTS += $(audit_tests)
endif
