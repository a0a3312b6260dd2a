# SPDX-License-Identifier: GPL-2.0-or-later
# The agent: parts by themselves, and the daemon with jobs of the test's own.

include tests/node_agent/client.mk
include tests/node_agent/likwid.mk

agent_scripts = \
	%D%/test_agent_cpuset.py \
	%D%/test_agent_docs.py \
	%D%/test_agent_drain.py \
	%D%/test_agent_forged.py \
	%D%/test_agent_faults.py \
	%D%/test_agent_forgotten.py \
	%D%/test_agent_hold.py \
	%D%/test_agent_loose.py \
	%D%/test_agent_munge.py \
	%D%/test_agent_policies.py \
	%D%/test_agent_profile.py \
	%D%/test_agent_ranks.py \
	%D%/test_agent_share.py \
	%D%/test_agent_slurm.py \
	%D%/test_agent_socket.py \
	%D%/test_agent_start.py \
	%D%/test_agent_turns.py \
	%D%/test_agent_unit.py \
	%D%/test_agent_versions.py \
	%D%/test_ctl_counters.py \
	%D%/test_calibrate_node.py \
	%D%/test_machine.py \
	%D%/test_replay.py
EXTRA_DIST += %D%/fake_helper.py %D%/fakes.py %D%/slurmtree.py $(agent_scripts)

if HAVE_LIBSYSTEMD
TESTS += $(agent_scripts)

check_PROGRAMS += %D%/fake_job
%C%_fake_job_SOURCES = %D%/fake_job.c
%C%_fake_job_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_fake_job_LDADD = model/libmodel.la protocol/libprotocol.la

if HAVE_CMOCKA
agent_units = \
	%D%/test_allotment \
	%D%/test_attribute \
	%D%/test_calibrate \
	%D%/test_cgroup \
	%D%/test_counters \
	%D%/test_division \
	%D%/test_energy \
	%D%/test_enforcer \
	%D%/test_history \
	%D%/test_keeper \
	%D%/test_perf \
	%D%/test_perf_real \
	%D%/test_perf_sysfs \
	%D%/test_plan \
	%D%/test_plan_nodes \
	%D%/test_proc \
	%D%/test_record \
	%D%/test_recording \
	%D%/test_report \
	%D%/test_resctrl \
	%D%/test_section \
	%D%/test_state \
	%D%/test_threads \
	%D%/test_topology \
	%D%/test_topology_links \
	%D%/test_trace \
	%D%/test_unattached \
	%D%/test_usage \
	%D%/test_user_time
check_PROGRAMS += $(agent_units)
TESTS += $(agent_units)
THREAD_TESTS += %D%/test_allotment

agent_unit_flags = $(node_agent_daemon_libagent_la_CPPFLAGS) $(CMOCKA_CFLAGS)
agent_unit_libs = node_agent/daemon/libagent.la $(CMOCKA_LIBS)

%C%_test_allotment_SOURCES = %D%/test_allotment.c %D%/unit.h
%C%_test_allotment_CPPFLAGS = $(agent_unit_flags)
%C%_test_allotment_LDADD = $(agent_unit_libs)

%C%_test_attribute_SOURCES = %D%/test_attribute.c %D%/unit.h
%C%_test_attribute_CPPFLAGS = $(agent_unit_flags)
%C%_test_attribute_LDADD = $(agent_unit_libs)

%C%_test_calibrate_SOURCES = %D%/test_calibrate.c %D%/unit.h %D%/tree.h
%C%_test_calibrate_CPPFLAGS = $(agent_unit_flags)
%C%_test_calibrate_LDADD = node_agent/calibrate/libcalibrate.la $(agent_unit_libs)

%C%_test_cgroup_SOURCES = %D%/test_cgroup.c %D%/unit.h %D%/tree.h
%C%_test_cgroup_CPPFLAGS = $(agent_unit_flags)
%C%_test_cgroup_LDADD = $(agent_unit_libs)

%C%_test_counters_SOURCES = %D%/test_counters.c %D%/unit.h %D%/tree.h
%C%_test_counters_CPPFLAGS = $(agent_unit_flags)
%C%_test_counters_LDADD = $(agent_unit_libs)

%C%_test_division_SOURCES = %D%/test_division.c %D%/unit.h
%C%_test_division_CPPFLAGS = $(agent_unit_flags)
%C%_test_division_LDADD = $(agent_unit_libs)

%C%_test_energy_SOURCES = %D%/test_energy.c %D%/fake_node.h %D%/unit.h \
	%D%/tree.h
%C%_test_energy_CPPFLAGS = $(agent_unit_flags)
%C%_test_energy_LDADD = $(agent_unit_libs)

%C%_test_enforcer_SOURCES = %D%/test_enforcer.c %D%/unit.h
%C%_test_enforcer_CPPFLAGS = $(agent_unit_flags)
%C%_test_enforcer_LDADD = $(agent_unit_libs)

%C%_test_history_SOURCES = %D%/test_history.c %D%/unit.h
%C%_test_history_CPPFLAGS = $(agent_unit_flags)
%C%_test_history_LDADD = $(agent_unit_libs)

%C%_test_keeper_SOURCES = %D%/test_keeper.c %D%/unit.h
%C%_test_keeper_CPPFLAGS = $(agent_unit_flags)
%C%_test_keeper_LDFLAGS = -Wl,--wrap=enforcer_scan,--wrap=enforcer_hold \
	-Wl,--wrap=enforcer_move_strays,--wrap=enforcer_park \
	-Wl,--wrap=enforcer_let_go
%C%_test_keeper_LDADD = $(agent_unit_libs)

%C%_test_perf_SOURCES = %D%/test_perf.c %D%/unit.h %D%/tree.h
%C%_test_perf_CPPFLAGS = $(agent_unit_flags)
%C%_test_perf_LDADD = $(agent_unit_libs)

%C%_test_perf_real_SOURCES = %D%/test_perf_real.c %D%/fake_node.h %D%/unit.h \
	%D%/tree.h
%C%_test_perf_real_CPPFLAGS = $(agent_unit_flags)
%C%_test_perf_real_LDADD = $(agent_unit_libs)

%C%_test_perf_sysfs_SOURCES = %D%/test_perf_sysfs.c %D%/unit.h %D%/tree.h
%C%_test_perf_sysfs_CPPFLAGS = $(agent_unit_flags)
%C%_test_perf_sysfs_LDADD = $(agent_unit_libs)

%C%_test_plan_SOURCES = %D%/test_plan.c %D%/fake_plan.h %D%/unit.h
%C%_test_plan_CPPFLAGS = $(agent_unit_flags)
# Counts allocations.
%C%_test_plan_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
%C%_test_plan_LDADD = $(agent_unit_libs)

%C%_test_plan_nodes_SOURCES = %D%/test_plan_nodes.c %D%/fake_plan.h \
	%D%/unit.h
%C%_test_plan_nodes_CPPFLAGS = $(agent_unit_flags)
%C%_test_plan_nodes_LDADD = $(agent_unit_libs)

%C%_test_proc_SOURCES = %D%/test_proc.c %D%/unit.h
%C%_test_proc_CPPFLAGS = $(agent_unit_flags)
%C%_test_proc_CFLAGS = $(AM_CFLAGS) -pthread
%C%_test_proc_LDADD = $(agent_unit_libs)

%C%_test_record_SOURCES = %D%/test_record.c %D%/unit.h
%C%_test_record_CPPFLAGS = $(agent_unit_flags)
%C%_test_record_LDADD = $(agent_unit_libs)

%C%_test_recording_SOURCES = %D%/test_recording.c %D%/unit.h %D%/tree.h
%C%_test_recording_CPPFLAGS = $(agent_unit_flags)
%C%_test_recording_LDADD = $(agent_unit_libs)

%C%_test_report_SOURCES = %D%/test_report.c %D%/unit.h
%C%_test_report_CPPFLAGS = $(agent_unit_flags)
%C%_test_report_LDADD = $(agent_unit_libs)

%C%_test_resctrl_SOURCES = %D%/test_resctrl.c %D%/fake_resctrl.h \
	%D%/fake_node.h %D%/unit.h %D%/tree.h
%C%_test_resctrl_CPPFLAGS = $(agent_unit_flags)
%C%_test_resctrl_LDADD = $(agent_unit_libs)

%C%_test_section_SOURCES = %D%/test_section.c %D%/unit.h
%C%_test_section_CPPFLAGS = $(agent_unit_flags)
%C%_test_section_LDADD = $(agent_unit_libs)

%C%_test_state_SOURCES = %D%/test_state.c %D%/unit.h
%C%_test_state_CPPFLAGS = $(agent_unit_flags)
%C%_test_state_LDADD = $(agent_unit_libs)

%C%_test_threads_SOURCES = %D%/test_threads.c %D%/unit.h
%C%_test_threads_CPPFLAGS = $(agent_unit_flags)
%C%_test_threads_CFLAGS = $(AM_CFLAGS) -pthread
%C%_test_threads_LDADD = $(agent_unit_libs)

%C%_test_topology_SOURCES = %D%/test_topology.c %D%/unit.h
%C%_test_topology_CPPFLAGS = $(agent_unit_flags)
%C%_test_topology_LDADD = $(agent_unit_libs)

%C%_test_topology_links_SOURCES = %D%/test_topology_links.c %D%/unit.h
%C%_test_topology_links_CPPFLAGS = $(agent_unit_flags)
%C%_test_topology_links_LDADD = $(agent_unit_libs) $(HWLOC_LIBS)

%C%_test_unattached_SOURCES = %D%/test_unattached.c %D%/unit.h
%C%_test_unattached_CPPFLAGS = $(agent_unit_flags)
%C%_test_unattached_LDFLAGS = -Wl,--wrap=enforcer_use
%C%_test_unattached_LDADD = $(agent_unit_libs)

%C%_test_usage_SOURCES = %D%/test_usage.c %D%/unit.h
%C%_test_usage_CPPFLAGS = $(agent_unit_flags)
%C%_test_usage_LDFLAGS = -Wl,--wrap=proc_waits,--wrap=proc_threads
%C%_test_usage_LDADD = $(agent_unit_libs)

%C%_test_user_time_SOURCES = %D%/test_user_time.c %D%/unit.h
%C%_test_user_time_CPPFLAGS = $(agent_unit_flags)
%C%_test_user_time_LDADD = $(agent_unit_libs)

%C%_test_trace_SOURCES = %D%/test_trace.c %D%/unit.h
%C%_test_trace_CPPFLAGS = $(agent_unit_flags)
%C%_test_trace_LDADD = $(agent_unit_libs)
endif
endif

if HAVE_LIBSYSTEMD
# Built by `make check`, so that it keeps up with the agent; not run.
check_PROGRAMS += %D%/bench_agent
CLEANFILES += bench/bench-agent.json
%C%_bench_agent_SOURCES = %D%/bench_agent.c %D%/virtual_time.c \
	%D%/virtual_time.h
%C%_bench_agent_CPPFLAGS = $(node_agent_daemon_libagent_la_CPPFLAGS)
%C%_bench_agent_CFLAGS = $(AM_CFLAGS) -pthread
%C%_bench_agent_LDFLAGS = -Wl,--wrap=cpuset_get_affinity \
	-Wl,--wrap=observer_update,--wrap=counters_sample,--wrap=plan_make \
	-Wl,--wrap=enforcer_scan,--wrap=enforcer_hold \
	-Wl,--wrap=enforcer_move_strays,--wrap=host_process_stopped \
	-Wl,--wrap=host_process_hold,--wrap=host_now_ns \
	-Wl,--wrap=host_timer_start,--wrap=host_timer_stop
%C%_bench_agent_LDADD = node_agent/daemon/libagent.la

bench-agent: %D%/bench_agent$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) bench
	$(AM_V_at)%D%/bench_agent$(EXEEXT) bench/bench-agent.json
endif
.PHONY: bench-agent
