# SPDX-License-Identifier: GPL-2.0-or-later
# The simulators against what is known of queues by other means.

simulator_scripts = \
	%D%/test_bound.py \
	%D%/test_coschedsim.py \
	%D%/test_hindsight.py \
	%D%/test_history.py \
	%D%/test_loans.py \
	%D%/test_mixes.py \
	%D%/test_order.py \
	%D%/test_pages_follow.py \
	%D%/test_recordings.py \
	%D%/test_reproduce.py \
	%D%/test_samples.py \
	%D%/test_scenario_errors.py
TESTS += $(simulator_scripts)
EXTRA_DIST += $(simulator_scripts) %D%/recording-0.1/record.jsonl \
	%D%/recording-0.1/topology.xml

# Memory, request by request: the truth that the model is held to.
check_LTLIBRARIES += %D%/libmemsys.la
%C%_libmemsys_la_SOURCES = \
	%D%/choice.c \
	%D%/choice.h \
	%D%/events.c \
	%D%/events.h \
	%D%/memsys.c \
	%D%/memsys.h
%C%_libmemsys_la_LIBADD = model/libmodel.la -lm

if HAVE_CMOCKA
units += %D%/unit
%C%_unit_SOURCES = \
	%D%/test_covering.c \
	%D%/test_draw.c \
	%D%/test_memsys.c \
	%D%/test_progress.c \
	%D%/test_scenario.c \
	%D%/test_timeshare.c \
	%D%/test_vnode.c \
	%D%/test_vpages.c \
	%D%/timeslices.c \
	%D%/timeslices.h \
	simulator/covering.c
%C%_unit_CPPFLAGS = $(unit_flags)
%C%_unit_LDADD = %D%/libmemsys.la simulator/libscenario.la \
	simulator/libvnode.la model/analysis/libanalysis.la $(unit_libs)
endif

EXTRA_PROGRAMS += %D%/bench_sim
CLEANFILES += %D%/bench_sim$(EXEEXT) bench/bench-sim.json
%C%_bench_sim_SOURCES = %D%/bench_sim.c
%C%_bench_sim_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_bench_sim_LDADD = %D%/libmemsys.la simulator/libvnode.la

bench-sim: %D%/bench_sim$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) bench
	$(AM_V_at)%D%/bench_sim$(EXEEXT) $(srcdir) bench/bench-sim.json
.PHONY: bench-sim
