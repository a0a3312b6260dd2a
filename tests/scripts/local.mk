# SPDX-License-Identifier: GPL-2.0-or-later
# The rules of the tree.

TESTS += %D%/test_check_tree.py
EXTRA_DIST += %D%/test_check_tree.py
