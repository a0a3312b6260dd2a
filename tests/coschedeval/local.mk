# SPDX-License-Identifier: GPL-2.0-or-later

TESTS += %D%/test_coschedeval.py
EXTRA_DIST += %D%/test_coschedeval.py %D%/check_pack.py

# The pack as a user without rights on old and new systems (root, debootstrap, network).
check-pack: all
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/check_pack.py $(abs_builddir)/check-pack
.PHONY: check-pack
