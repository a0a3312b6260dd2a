# SPDX-License-Identifier: GPL-2.0-or-later
# On a throw-away Slurm cluster; skipped where there is no Slurm or no root.

if HAVE_GCC_SOURCE
TESTS += %D%/test_cluster.py
endif
EXTRA_DIST += tests/support/coschedcluster.py %D%/test_cluster.py
