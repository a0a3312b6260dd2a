# SPDX-License-Identifier: GPL-2.0-or-later
# The simulators against what is known of queues by other means.

simulator_scripts = \
	%D%/test_coschedsim.py \
	%D%/test_history.py \
	%D%/test_mixes.py \
	%D%/test_order.py \
	%D%/test_recordings.py \
	%D%/test_reproduce.py \
	%D%/test_scenario_errors.py
TESTS += $(simulator_scripts)
EXTRA_DIST += $(simulator_scripts)

if HAVE_CMOCKA
simulator_units = \
	%D%/test_draw \
	%D%/test_memsys \
	%D%/test_progress \
	%D%/test_scenario \
	%D%/test_timeshare \
	%D%/test_vnode
check_PROGRAMS += $(simulator_units)
TESTS += $(simulator_units)

simulator_unit_flags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
simulator_unit_libs = simulator/libmemsys.la model/libmodel.la $(CMOCKA_LIBS)

%C%_test_draw_SOURCES = %D%/test_draw.c
%C%_test_draw_CPPFLAGS = $(simulator_unit_flags)
%C%_test_draw_LDADD = $(simulator_unit_libs)

%C%_test_memsys_SOURCES = %D%/test_memsys.c
%C%_test_memsys_CPPFLAGS = $(simulator_unit_flags)
%C%_test_memsys_LDADD = $(simulator_unit_libs)

%C%_test_progress_SOURCES = %D%/test_progress.c
%C%_test_progress_CPPFLAGS = $(simulator_unit_flags)
%C%_test_progress_LDADD = $(simulator_unit_libs)

%C%_test_scenario_SOURCES = %D%/test_scenario.c
%C%_test_scenario_CPPFLAGS = $(simulator_unit_flags) $(JANSSON_CFLAGS)
%C%_test_scenario_LDADD = simulator/libscenario.la $(simulator_unit_libs)

%C%_test_timeshare_SOURCES = %D%/test_timeshare.c \
	%D%/timeslices.c %D%/timeslices.h
%C%_test_timeshare_CPPFLAGS = $(simulator_unit_flags) $(JANSSON_CFLAGS)
%C%_test_timeshare_LDADD = simulator/libscenario.la $(simulator_unit_libs)

%C%_test_vnode_SOURCES = %D%/test_vnode.c
%C%_test_vnode_CPPFLAGS = $(simulator_unit_flags) $(JANSSON_CFLAGS)
%C%_test_vnode_LDADD = simulator/libvnode.la \
	model/analysis/libanalysis.la $(CMOCKA_LIBS)
endif

EXTRA_PROGRAMS += %D%/bench_sim
CLEANFILES += %D%/bench_sim$(EXEEXT) bench/bench-sim.json
%C%_bench_sim_SOURCES = %D%/bench_sim.c
%C%_bench_sim_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_bench_sim_LDADD = simulator/libvnode.la

bench-sim: %D%/bench_sim$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) bench
	$(AM_V_at)%D%/bench_sim$(EXEEXT) $(srcdir) bench/bench-sim.json
.PHONY: bench-sim
