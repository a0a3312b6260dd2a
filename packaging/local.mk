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

# For those who install into a prefix: a modulefile, recipes, and completions of zsh and fish, which
# are bash's.
recipes = %D%/recipes/easybuild.eb.in %D%/recipes/modulefile.in %D%/recipes/spack.py.in
completions = %D%/completions/_coschedule %D%/completions/__cosched_complete.fish
EXTRA_DIST += $(recipes) $(completions:=.in) %D%/make-release
prefix_edit = $(AM_V_GEN)$(MKDIR_P) $(@D) && $(SED) -e 's,@VERSION@,$(PACKAGE_VERSION),g' \
	-e 's,@bindir@,$(bindir),g' -e 's,@mandir@,$(mandir),g' -e 's,@datadir@,$(datadir),g' \
	-e 's,@bashcompletiondir@,$(bashcompletiondir),g'
CLEANFILES += %D%/modulefile $(completions) $(fish_completions)
%D%/modulefile: %D%/recipes/modulefile.in Makefile
	$(prefix_edit) $(srcdir)/%D%/recipes/modulefile.in >$@
$(completions): %: %.in Makefile
	$(prefix_edit) $(srcdir)/$@.in >$@
pkgdata_DATA += %D%/modulefile
zshcompletiondir = $(datadir)/zsh/site-functions
zshcompletion_DATA = %D%/completions/_coschedule
fishfunctiondir = $(datadir)/fish/vendor_functions.d
fishfunction_DATA = %D%/completions/__cosched_complete.fish
fishcompletiondir = $(datadir)/fish/vendor_completions.d
fish_completions = $(patsubst %,packaging/completions/%.fish, \
	$(notdir $(dist_bashcompletion_DATA)))
nodist_fishcompletion_DATA = $(fish_completions)
$(fish_completions): Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	  echo 'complete -c $(basename $(@F)) -f -a "(__cosched_complete)"' >$@

# The archive has the same bytes whenever and wherever it is made: times are that of the last
# commit, or, where the tree is an archive's, of its configure.ac.
am__tar = $${TAR-tar} --format=ustar --sort=name --owner=0 --group=0 --numeric-owner \
	--mode=u=rwX,go=rX --mtime=@$$(if test -e $(srcdir)/.git; \
	  then git -C $(srcdir) log -1 --format=%ct; else date -r $(srcdir)/configure.ac +%s; fi) \
	-chf - "$$tardir"

# What is published: packages/release.
release:
	$(MAKE) dist
	$(srcdir)/%D%/make-release $(distdir).tar.xz packages/release

# Two archives, of which the second is made from the first, elsewhere, by somebody with other
# habits: half a minute, and that of an old release runs beside the new one.
check-release: release
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/packaging/check_release.py $(distdir).tar.xz \
	  packages/release
.PHONY: release check-release

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
