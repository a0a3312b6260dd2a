# SPDX-License-Identifier: GPL-2.0-or-later
# What is published beside the packages; make check-release is in packaging/local.mk.

TESTS += %D%/test_completions.py %D%/test_recipes.py
EXTRA_DIST += %D%/check_release.py %D%/test_completions.py %D%/test_recipes.py
