# SPDX-License-Identifier: GPL-2.0-or-later
# Other releases of Debian, each with its compiler and its Slurm: make check-distros,
# DISTRO=trixie for one (root, debootstrap, network; the trees, 2 GB each, are kept in
# build/distros).  The table of docs/install.md is what they have found.

DISTRO =
check-distros:
	$(MAKE) dist
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/check_distros.py \
	  --write $(srcdir)/docs/install.md $(DISTROS) $(distdir).tar.xz distros $(DISTRO)
.PHONY: check-distros

EXTRA_DIST += tests/support/debtree.py %D%/check_distros.py
