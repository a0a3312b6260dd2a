# SPDX-License-Identifier: GPL-2.0-or-later
# What runs on a virtual node, and what the kernel's scheduler makes of it.
noinst_LTLIBRARIES += %D%/libscenario.la

%C%_libscenario_la_SOURCES = \
	%D%/json_line.c \
	%D%/json_line.h \
	%D%/random.h \
	%D%/scenario.c \
	%D%/scenario.h \
	%D%/scenario_json.c \
	%D%/timeshare.c \
	%D%/timeshare.h
%C%_libscenario_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_libscenario_la_LIBADD = model/io/libdescribe.la \
	model/libmodel.la \
	$(JANSSON_LIBS) -lm

# A node in virtual time: the agent's own state machine with simulated jobs.
noinst_LTLIBRARIES += %D%/libvnode.la

%C%_libvnode_la_SOURCES = \
	%D%/virtual_counters.c \
	%D%/virtual_counters.h \
	%D%/virtual_enforcer.c \
	%D%/virtual_host.c \
	%D%/virtual_host.h \
	%D%/virtual_memory.c \
	%D%/virtual_memory.h \
	%D%/vjob.c \
	%D%/vjob.h \
	%D%/vnode.c \
	%D%/vnode.h \
	%D%/vnode_private.h \
	%D%/vnode_rates.c \
	%D%/vpages.c \
	%D%/vpages.h
%C%_libvnode_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(HWLOC_CFLAGS)
%C%_libvnode_la_LIBADD = %D%/libscenario.la \
	node_agent/recording/librecording.la

bin_PROGRAMS += %D%/coschedsim
%C%_coschedsim_SOURCES = \
	%D%/coschedsim.c \
	%D%/coschedsim.h \
	%D%/coschedsim_compare.c \
	%D%/coschedsim_recording.c \
	%D%/coschedsim_run.c \
	%D%/coschedsim_samples.c \
	%D%/coschedsim_world.c \
	%D%/variation.c \
	%D%/variation.h
%C%_coschedsim_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_coschedsim_LDADD = common/libcli.la %D%/libvnode.la
dist_man_MANS += docs/coschedsim.1
dist_bashcompletion_DATA += %D%/completions/coschedsim

# What to run, for those who have the package only.
scenariosdir = $(pkgdatadir)/scenarios
dist_scenarios_DATA = \
	%D%/scenarios/big.json \
	%D%/scenarios/all-programs.json \
	%D%/scenarios/case-study.json \
	%D%/scenarios/moca.json \
	%D%/scenarios/nupoco.json \
	%D%/scenarios/thesis.json
workloadsdir = $(pkgdatadir)/workloads
dist_workloads_DATA = \
	%D%/workloads/amd-opteron-6380.json \
	%D%/workloads/intel-e7-8870v3.json
EXTRA_DIST += %D%/workloads/programs.json %D%/scenarios/make_scenarios.py

# The least makespan that any division of cores could have, for hindsight.py.
noinst_PROGRAMS += %D%/bound
%C%_bound_SOURCES = \
	%D%/bound.c \
	%D%/covering.c \
	%D%/covering.h
%C%_bound_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_bound_LDADD = %D%/libvnode.la

# Programs of the papers, fitted to their published scalings: the libraries in
# the tree are what `make fit-workloads` puts into simulator/workloads/.
EXTRA_PROGRAMS += %D%/workloads/fit_workloads
CLEANFILES += %D%/workloads/fit_workloads$(EXEEXT)
%C%_workloads_fit_workloads_SOURCES = %D%/workloads/fit_workloads.c
%C%_workloads_fit_workloads_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_workloads_fit_workloads_LDADD = model/io/libdescribe.la \
	model/libmodel.la $(JANSSON_LIBS) -lm

workloads_opteron = $(srcdir)/machines/amd-opteron-6380-8x8.json
workloads_xeon = $(srcdir)/machines/intel-e7-8870v3-4x18.json
fit-workloads: %D%/workloads/fit_workloads$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) %D%/workloads
	%D%/workloads/fit_workloads$(EXEEXT) \
	  $(srcdir)/%D%/workloads/programs.json $(workloads_opteron) \
	  $(workloads_opteron) 1 1 >%D%/workloads/amd-opteron-6380.json
	%D%/workloads/fit_workloads$(EXEEXT) \
	  $(srcdir)/%D%/workloads/programs.json $(workloads_opteron) \
	  $(workloads_xeon) 3 0.9 >%D%/workloads/intel-e7-8870v3.json
.PHONY: fit-workloads

# The papers' scenarios under every policy: evaluation-simulated.md and evaluation.{json,svg}
# below evaluation/ in the build tree.  What is committed under docs/ is a copy.
EXTRA_DIST += %D%/reproduce.py %D%/runs.py %D%/evaluation.py %D%/placement_day.py \
	%D%/hindsight.py
reproduce: %D%/coschedsim$(EXEEXT)
	$(AM_V_at)PYTHONDONTWRITEBYTECODE=1 $(srcdir)/%D%/reproduce.py . \
	  $(srcdir) evaluation $(REPRODUCE)
clean-local: clean-evaluation
clean-evaluation:
	-rm -rf evaluation
.PHONY: reproduce clean-evaluation

# How much better the papers' sets could be divided: hours, but goes on where it was.
hindsight: %D%/coschedsim$(EXEEXT) %D%/bound$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) evaluation
	$(AM_V_at)PYTHONDONTWRITEBYTECODE=1 $(srcdir)/%D%/hindsight.py . \
	  $(srcdir) evaluation/hindsight.json $(HINDSIGHT)
.PHONY: hindsight
