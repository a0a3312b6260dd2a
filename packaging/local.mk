# SPDX-License-Identifier: GPL-2.0-or-later
# Packages for Debian and for RPM distributions, from the archive of `make dist`.

EXTRA_DIST += \
	%D%/ansible/roles/coschedule/defaults/main.yml \
	%D%/ansible/roles/coschedule/handlers/main.yml \
	%D%/ansible/roles/coschedule/meta/main.yml \
	%D%/ansible/roles/coschedule/tasks/absent.yml \
	%D%/ansible/roles/coschedule/tasks/main.yml \
	%D%/ansible/roles/coschedule/tasks/present.yml \
	%D%/ansible/site.yml \
	%D%/check-deb \
	%D%/check-rpm \
	%D%/coschedule.spec.in \
	%D%/debian/changelog.in \
	%D%/debian/control \
	%D%/debian/copyright \
	%D%/debian/coschedule-agent.install \
	%D%/debian/coschedule-libgomp.install \
	%D%/debian/coschedule-libgomp.lintian-overrides \
	%D%/debian/coschedule-slurm.docs \
	%D%/debian/coschedule-slurm.install \
	%D%/debian/coschedule-tools.install \
	%D%/debian/rules \
	%D%/debian/source/format \
	%D%/make-deb \
	%D%/make-rpm \
	%D%/rpmlintrc \
	%D%/tree.sh

# What is made is left in packages/deb and packages/rpm.  What is missing is told
# before the archive is made.
deb:
	$(srcdir)/%D%/make-deb --check
	$(MAKE) dist
	$(srcdir)/%D%/make-deb $(distdir).tar.xz packages/deb

rpm:
	$(srcdir)/%D%/make-rpm --check $(RPMBUILD_OPTIONS)
	$(MAKE) dist
	$(srcdir)/%D%/make-rpm $(distdir).tar.xz packages/rpm $(RPMBUILD_OPTIONS)

.PHONY: deb rpm

clean-local: clean-packages
clean-packages:
	rm -rf packages
