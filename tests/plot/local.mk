# SPDX-License-Identifier: GPL-2.0-or-later
# Charts: the module that draws, and the command.

plot_scripts = \
	%D%/test_coschedplot.py \
	%D%/test_pictures.py \
	%D%/test_traces.py \
	%D%/test_svgchart.py
TESTS += $(plot_scripts)
EXTRA_DIST += $(plot_scripts)
