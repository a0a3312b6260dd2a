# SPDX-License-Identifier: GPL-2.0-or-later
# What co-scheduling gains on a node, measured: a command and its modules.

evaluation_modules = \
	%D%/evaluation/__init__.py \
	%D%/evaluation/intervals.py \
	%D%/evaluation/load.py \
	%D%/evaluation/mixes.py \
	%D%/evaluation/modes.py \
	%D%/evaluation/pack.py \
	%D%/evaluation/page.py \
	%D%/evaluation/prediction.py \
	%D%/evaluation/records.py \
	%D%/evaluation/run.py \
	%D%/evaluation/verdict.py \
	%D%/evaluation/weights.py
evaldir = $(pkgdatadir)/coschedeval
evalmodulesdir = $(evaldir)/evaluation
evalmodules_DATA = $(evaluation_modules)

# It finds what it runs where it is installed.
CLEANFILES += %D%/installed/coschedeval
%D%/installed/coschedeval: %D%/coschedeval Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	  $(SED) -e 's,@evaldir@,$(evaldir),;s,@plotdir@,$(plotdatadir),' \
	    -e 's,@bindir@,$(bindir),;s,@sbindir@,$(sbindir),' \
	    -e 's,@jobsdir@,$(jobsexecdir),;s,@libgompdir@,$(cosched_libgompdir),' \
	    $< >$@.tmp && chmod +x $@.tmp && mv $@.tmp $@
bin_SCRIPTS += %D%/installed/coschedeval
dist_man_MANS += docs/coschedeval.1
dist_bashcompletion_DATA += %D%/completions/coschedeval
EXTRA_DIST += $(evaluation_modules) %D%/coschedeval %D%/measured.py %D%/README.md

# docs/evaluation.md with what `coschedeval --set node2 --json $(MEASURED)` found.
measured:
	$(AM_V_at)$(srcdir)/%D%/measured.py $(MEASURED) $(srcdir)/docs/evaluation.md
.PHONY: measured
