# SPDX-License-Identifier: GPL-2.0-or-later
# The rules of the tree, and packaging.

TESTS += %D%/test_check_tree.py %D%/test_packages.py %D%/test_plugindir.py \
	%D%/test_progress.py
EXTRA_DIST += %D%/test_check_tree.py %D%/test_packages.py %D%/test_plugindir.py \
	%D%/test_progress.py
