# SPDX-License-Identifier: GPL-2.0-or-later
# The agent: parts by themselves, and the daemon with jobs of the test's own.

include tests/node_agent/counters/local.mk

# What these share.
EXTRA_DIST += %D%/daemon/state-0.1.json \
	tests/support/accountedagent.py \
	tests/support/fake_helper.py tests/support/fakeagent.py tests/support/fakes.py \
	tests/support/killpoints.py \
	tests/support/slurmhelper.py tests/support/slurmtree.py

# The daemon's clients and helpers.
client_scripts = \
	%D%/coschedctl/test_ctl.py \
	%D%/coschedctl/test_top.py \
	%D%/coschedctl/test_ks.py \
	%D%/helpers/test_collector.py \
	%D%/helpers/test_kill_deliver.py \
	%D%/helpers/test_record_helper.py \
	%D%/helpers/test_record_injected.py \
	%D%/helpers/test_slurm_helper.py
EXTRA_DIST += $(client_scripts)
TESTS += $(client_scripts)

check_LTLIBRARIES += %D%/helpers/fake_slurm.la
%C%_helpers_fake_slurm_la_SOURCES = %D%/helpers/fake_slurm.c
%C%_helpers_fake_slurm_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
# Never with a sanitizer: it is loaded into shells, too.
%C%_helpers_fake_slurm_la_CFLAGS = $(WARN_CFLAGS)
%C%_helpers_fake_slurm_la_LDFLAGS = -module -avoid-version -rpath /nowhere

agent_scripts = \
	%D%/calibrate/test_calibrate_node.py \
	%D%/coschedctl/test_ctl_counters.py \
	%D%/coschedctl/test_machine.py \
	%D%/daemon/test_agent_bare.py \
	%D%/daemon/test_agent_clock.py \
	%D%/daemon/test_agent_connections.py \
	%D%/daemon/test_agent_cpuset.py \
	%D%/daemon/test_agent_drain.py \
	%D%/daemon/test_agent_escape.py \
	%D%/daemon/test_agent_faults.py \
	%D%/daemon/test_agent_filter.py \
	%D%/daemon/test_agent_floods.py \
	%D%/daemon/test_agent_follow.py \
	%D%/daemon/test_agent_forged.py \
	%D%/daemon/test_agent_forgotten.py \
	%D%/daemon/test_agent_hold.py \
	%D%/daemon/test_agent_injected.py \
	%D%/daemon/test_agent_killed.py \
	%D%/daemon/test_agent_lends.py \
	%D%/daemon/test_agent_unpinned.py \
	%D%/daemon/test_agent_many.py \
	%D%/daemon/test_agent_munge.py \
	%D%/daemon/test_agent_names.py \
	%D%/daemon/test_agent_policies.py \
	%D%/daemon/test_agent_profile.py \
	%D%/daemon/test_agent_ranks.py \
	%D%/daemon/test_agent_share.py \
	%D%/daemon/test_agent_slurm.py \
	%D%/daemon/test_agent_state.py \
	%D%/daemon/test_agent_socket.py \
	%D%/daemon/test_agent_start.py \
	%D%/daemon/test_agent_stranger.py \
	%D%/daemon/test_agent_turns.py \
	%D%/daemon/test_agent_unit.py \
	%D%/daemon/test_agent_versions.py \
	%D%/recording/test_replay.py
EXTRA_DIST += $(agent_scripts) %D%/daemon/following.c

if HAVE_CMOCKA
units += %D%/client/unit
%C%_client_unit_SOURCES = \
	%D%/client/test_client.c \
	%D%/client/test_end_note.c
%C%_client_unit_CPPFLAGS = $(unit_flags)
%C%_client_unit_LDADD = node_agent/client/libclient.la $(unit_libs)

units += %D%/coschedctl/unit
%C%_coschedctl_unit_SOURCES = \
	%D%/coschedctl/test_frame.c \
	node_agent/coschedctl/ctl.c \
	node_agent/coschedctl/top/frame.c \
	node_agent/coschedctl/top/paint.c \
	node_agent/coschedctl/top/state.c \
	node_agent/coschedctl/top/view.c
%C%_coschedctl_unit_CPPFLAGS = $(unit_flags) $(HWLOC_CFLAGS)
%C%_coschedctl_unit_LDADD = $(coschedctl_LDADD) $(unit_libs)

units += %D%/names/unit
%C%_names_unit_SOURCES = \
	%D%/names/test_region_names.c \
	%D%/names/test_symbol_name.c
%C%_names_unit_CPPFLAGS = $(unit_flags)
%C%_names_unit_LDFLAGS = -Wl,--wrap=clock_gettime
%C%_names_unit_LDADD = node_agent/names/libnames.la $(unit_libs)

units += %D%/helpers/test_record_queue
%C%_helpers_test_record_queue_SOURCES = %D%/helpers/test_record_queue.c \
	node_agent/helpers/record_queue.c \
	tests/support/powercut.c tests/support/powercut.h
%C%_helpers_test_record_queue_CPPFLAGS = $(unit_flags)
%C%_helpers_test_record_queue_LDFLAGS = -Wl,--wrap=write,--wrap=fsync,--wrap=fdatasync \
	-Wl,--wrap=rename,--wrap=unlink
%C%_helpers_test_record_queue_LDADD = common/libjson.la $(unit_libs)
endif

if HAVE_LIBSYSTEMD
TESTS += $(agent_scripts)

check_PROGRAMS += %D%/daemon/fake_job
%C%_daemon_fake_job_SOURCES = %D%/daemon/fake_job.c
%C%_daemon_fake_job_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_daemon_fake_job_LDADD = model/libmodel.la protocol/libprotocol.la

# Each place of the agent's life, with each errno: hours.  In parts for several
# machines: make faults FAULTS="--part 1/4", or FAULTS="--only open".
faults: all
	$(MAKE) check TESTS=tests/node_agent/daemon/test_agent_injected.py
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/daemon/test_agent_injected.py --all $(FAULTS)

if HAVE_CMOCKA
agent_unit_flags = $(node_agent_daemon_libagent_la_CPPFLAGS) $(CMOCKA_CFLAGS)
agent_unit_libs = node_agent/daemon/libagent.la $(unit_libs)

units += %D%/unit
%C%_unit_SOURCES = \
	%D%/calibrate/test_calibrate.c \
	%D%/calibrate/test_power.c \
	%D%/core/test_caps.c \
	%D%/core/test_division.c \
	%D%/core/test_grants.c \
	%D%/core/test_growth.c \
	%D%/core/test_history.c \
	%D%/core/test_hot.c \
	%D%/core/test_plan.c \
	%D%/core/test_plan_fields.c \
	%D%/core/test_plan_nodes.c \
	%D%/core/test_thread_map.c \
	%D%/core/test_useful.c \
	%D%/core/test_process.c \
	%D%/core/test_record.c \
	%D%/core/test_report.c \
	%D%/core/test_standing.c \
	%D%/core/test_region.c \
	%D%/core/test_colocation_watch.c \
	%D%/core/test_stall_watch.c \
	%D%/core/test_trace.c \
	%D%/counters/test_askers.c \
	%D%/counters/test_attribute.c \
	%D%/counters/test_counters.c \
	%D%/counters/test_emulated.c \
	%D%/counters/test_energy.c \
	%D%/counters/test_perf.c \
	%D%/counters/test_perf_real.c \
	%D%/counters/test_perf_sysfs.c \
	%D%/counters/test_resctrl.c \
	%D%/daemon/test_host_event.c \
	%D%/daemon/test_kill_save.c \
	%D%/daemon/test_opening.c \
	%D%/daemon/test_slurm_link.c \
	%D%/daemon/test_state.c \
	%D%/daemon/test_users.c \
	%D%/enforce/test_cgroup.c \
	%D%/enforce/enforcer_stage.h \
	%D%/enforce/test_crowd.c \
	%D%/enforce/test_cpuset_holder.c \
	%D%/enforce/test_enforcer.c \
	%D%/enforce/test_follow_look.c \
	%D%/enforce/test_kill_points.c \
	%D%/enforce/test_owners.c \
	%D%/enforce/test_proc.c \
	%D%/enforce/test_stopping.c \
	%D%/enforce/test_supervisor.c \
	%D%/enforce/victims.h \
	%D%/enforce/test_threads.c \
	%D%/recording/test_recording.c \
	%D%/topology/test_topology.c \
	%D%/topology/test_topology_links.c \
	%D%/core/fake_plan.h \
	%D%/counters/fake_node.h \
	%D%/counters/fake_resctrl.h
%C%_unit_CPPFLAGS = $(agent_unit_flags)
%C%_unit_CFLAGS = $(AM_CFLAGS) -pthread
# test_plan counts allocations.
%C%_unit_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
%C%_unit_LDADD = node_agent/calibrate/libcalibrate.la $(agent_unit_libs) \
	$(HWLOC_LIBS)

# Programs of their own: what they put in place of the agent's functions is there
# for the whole program, and the thread sanitizer wants to see all of it.
units += \
	%D%/core/test_allotment \
	%D%/core/test_affinity \
	%D%/core/test_stretch \
	%D%/core/test_unattached \
	%D%/daemon/test_server \
	%D%/enforce/test_usage

# Includes what it tests, with a clock and users of its own.
%C%_daemon_test_server_SOURCES = %D%/daemon/test_server.c
%C%_daemon_test_server_CPPFLAGS = $(agent_unit_flags)
%C%_daemon_test_server_LDADD = $(agent_unit_libs)

%C%_core_test_allotment_SOURCES = %D%/core/test_allotment.c \
	node_agent/core/allotment.c
%C%_core_test_allotment_CPPFLAGS = $(unit_flags)
%C%_core_test_allotment_CFLAGS = $(AM_CFLAGS) $(THREAD_CFLAGS)
%C%_core_test_allotment_LDADD = protocol/libprotocol.la $(unit_libs) -lpthread

%C%_core_test_affinity_SOURCES = %D%/core/test_affinity.c
%C%_core_test_affinity_CPPFLAGS = $(agent_unit_flags)
%C%_core_test_affinity_LDFLAGS = -Wl,--wrap=enforcer_scan,--wrap=enforcer_hold \
	-Wl,--wrap=enforcer_move_strays,--wrap=enforcer_park \
	-Wl,--wrap=enforcer_let_go
%C%_core_test_affinity_LDADD = $(agent_unit_libs)

%C%_core_test_stretch_SOURCES = %D%/core/test_stretch.c
%C%_core_test_stretch_CPPFLAGS = $(agent_unit_flags)
%C%_core_test_stretch_LDFLAGS = -Wl,--wrap=enforcer_cpu_ns,--wrap=enforcer_waited_ns
%C%_core_test_stretch_LDADD = $(agent_unit_libs)

%C%_core_test_unattached_SOURCES = %D%/core/test_unattached.c
%C%_core_test_unattached_CPPFLAGS = $(agent_unit_flags)
%C%_core_test_unattached_LDFLAGS = -Wl,--wrap=enforcer_use \
	-Wl,--wrap=enforcer_cpu_ns,--wrap=enforcer_waited_ns
%C%_core_test_unattached_LDADD = $(agent_unit_libs)

%C%_enforce_test_usage_SOURCES = %D%/enforce/test_usage.c
%C%_enforce_test_usage_CPPFLAGS = $(agent_unit_flags)
%C%_enforce_test_usage_LDFLAGS = -Wl,--wrap=proc_waits,--wrap=proc_threads \
	-Wl,--wrap=proc_cpu_ns
%C%_enforce_test_usage_LDADD = $(agent_unit_libs)
endif
endif

if HAVE_LIBSYSTEMD
# Built by `make check`, so that it keeps up with the agent; not run.
check_PROGRAMS += %D%/daemon/bench_agent
CLEANFILES += bench/bench-agent.json
%C%_daemon_bench_agent_SOURCES = %D%/daemon/bench_agent.c %D%/daemon/virtual_time.c \
	%D%/daemon/virtual_time.h
%C%_daemon_bench_agent_CPPFLAGS = $(node_agent_daemon_libagent_la_CPPFLAGS)
%C%_daemon_bench_agent_CFLAGS = $(AM_CFLAGS) -pthread
%C%_daemon_bench_agent_LDFLAGS = -Wl,--wrap=cpuset_get_affinity \
	-Wl,--wrap=observer_update,--wrap=counters_sample,--wrap=plan_make \
	-Wl,--wrap=enforcer_scan,--wrap=enforcer_hold \
	-Wl,--wrap=enforcer_move_strays,--wrap=host_process_stopped \
	-Wl,--wrap=host_process_hold,--wrap=host_now_ns \
	-Wl,--wrap=host_timer_start,--wrap=host_timer_stop
%C%_daemon_bench_agent_LDADD = node_agent/daemon/libagent.la

bench-agent: %D%/daemon/bench_agent$(EXEEXT)
	$(AM_V_at)$(MKDIR_P) bench
	$(AM_V_at)%D%/daemon/bench_agent$(EXEEXT) bench/bench-agent.json
endif
EXTRA_DIST += %D%/enforce/bench_lender.py
bench-lender:
	$(AM_V_at)$(srcdir)/%D%/enforce/bench_lender.py
.PHONY: bench-agent bench-lender faults

# What users can cost, counted: with as many attached processes as a job may have, and so many
# threads of one process (of 32,768 that most kernels allow in all).
THREADS = 30000
bounds: all
	$(MAKE) check TESTS="%D%/test_owners %D%/test_crowd %D%/daemon/test_agent_many.py"
	COSCHED_THREADS=$(THREADS) %D%/unit$(EXEEXT) test_threads
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/daemon/test_agent_floods.py 1024
.PHONY: bounds

# The agent and its helper are killed at every system call, also where nothing can be
# different: minutes.
kill-points: all
	$(MAKE) check TESTS=%D%/test_kill_save
	COSCHED_KILL_ALL=1 %D%/unit$(EXEEXT) test_kill_points test_kill_save
	$(AM_TESTS_ENVIRONMENT) COSCHED_KILL_ALL=1 $(srcdir)/%D%/helpers/test_kill_deliver.py
	$(AM_TESTS_ENVIRONMENT) COSCHED_KILL_ALL=1 $(srcdir)/%D%/helpers/test_record_injected.py
	$(AM_TESTS_ENVIRONMENT) COSCHED_KILL_ALL=1 $(srcdir)/%D%/daemon/test_agent_killed.py
.PHONY: kill-points
