# SPDX-License-Identifier: GPL-2.0-or-later
# Other releases of Debian, each with its compiler and its Slurm: make check-distros,
# DISTRO=trixie for one (root, debootstrap, network; the trees, 2 GB each, are kept in
# DISTRO_TREES).  The table of docs/versions.md is what they have found.

DISTRO =
DISTRO_STEPS =
DISTRO_TREES = distros
check-distros:
	$(MAKE) dist
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/check_distros.py \
	  --write $(srcdir)/docs/versions.md $(if $(DISTRO_STEPS),--only $(DISTRO_STEPS)) \
	  $(distdir).tar.xz $(DISTRO_TREES) $(DISTRO)
.PHONY: check-distros

EXTRA_DIST += tests/support/debtree.py %D%/check_distros.py
