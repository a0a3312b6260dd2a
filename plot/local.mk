# SPDX-License-Identifier: GPL-2.0-or-later
# Every chart of the package: a command, and the modules that others share.

plot_modules = \
	%D%/charts.py \
	%D%/coretrace.py \
	%D%/paraver.py \
	%D%/progress.py \
	%D%/svgchart.py
plotdatadir = $(pkgdatadir)/plot
plotdata_DATA = $(plot_modules)

# It finds its modules where they are installed.
CLEANFILES += %D%/installed/coschedplot
%D%/installed/coschedplot: %D%/coschedplot Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	  $(SED) 's,@plotdir@,$(plotdatadir),' $< >$@.tmp && \
	  chmod +x $@.tmp && mv $@.tmp $@
bin_SCRIPTS += %D%/installed/coschedplot
dist_man_MANS += docs/coschedplot.1
dist_bashcompletion_DATA += %D%/completions/coschedplot
EXTRA_DIST += $(plot_modules) %D%/coschedplot %D%/README.md
