# SPDX-License-Identifier: GPL-2.0-or-later
# Other releases of Debian, each with its compiler and its Slurm: make check-distros,
# DISTRO=trixie for one (root, debootstrap, network; the trees, 2 GB each, are kept in
# DISTRO_TREES).  The table of docs/versions.md is what they have found.

DISTRO =
DISTRO_STEPS =
DISTRO_TREES = distros
DISTROS_TOGETHER = 1
check-distros:
	$(MAKE) dist
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/check_distros.py \
	  --write $(srcdir)/docs/versions.md $(if $(DISTRO_STEPS),--only $(DISTRO_STEPS)) \
	  --together $(DISTROS_TOGETHER) $(distdir).tar.xz $(DISTRO_TREES) $(DISTRO)

# From the packages of an older version in OLD, made for DISTRO, to the present ones, with jobs.
OLD =
check-upgrade:
	@test -n "$(OLD)" -a -n "$(DISTRO)" || \
	  { echo 'make check-upgrade DISTRO=bookworm OLD=DIRECTORY (of packages)' >&2; exit 1; }
	$(MAKE) dist
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/check_distros.py --only build,packages,upgrade \
	  --old $(OLD) $(distdir).tar.xz $(DISTRO_TREES) $(DISTRO)
.PHONY: check-distros check-upgrade

EXTRA_DIST += tests/support/debtree.py %D%/check_distros.py %D%/upgrade.py
