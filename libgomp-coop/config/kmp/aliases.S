/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Libgomp's functions under libomp's symbol version, where both have the same
   interface: omp_* functions for C and Fortran, and GOMP_* functions, which
   programs of GCC that are linked with libomp or libiomp5 call.  */

#ifdef __aarch64__
#define JUMP b
#define FUNCTION %function
#else
#define JUMP jmp
#define FUNCTION @function
#endif

#define BOTH(name) /* for C and Fortran */ \
	alias_to omp_##name, omp_##name; \
	alias_to omp_##name##_, omp_##name##_;
#define OLD(name) /* what older compilers have C programs call */ \
	stub ompc_##name, omp_##name;
#define FORMAT(name) /* without underscore for Fortran, too; C has ompc_* */ \
	alias_to omp_##name, omp_##name##_; \
	alias_to omp_##name##_, omp_##name##_; \
	OLD (name)
#define KMPC(name) /* likewise */ \
	stub kmpc_##name, kmp_##name;
#define GOMP(name) \
	alias_to GOMP_##name, GOMP_##name;

	.text

	/* NAME jumps to TARGET.  */
	.macro	stub name, target
	.p2align 4
	.globl	\name
	.type	\name, FUNCTION
\name:
	.cfi_startproc
	JUMP	\target
	.cfi_endproc
	.size	\name, .-\name
	.endm

	/* The same with NAME@VERSION.  */
	.macro	alias_to name, target
	stub	kmpv_\name, \target
	.symver	kmpv_\name, \name\()@VERSION
	.endm

BOTH (get_active_level) BOTH (get_ancestor_thread_num) BOTH (get_cancellation)
BOTH (get_default_device) BOTH (get_dynamic) BOTH (get_initial_device)
BOTH (get_level) BOTH (get_max_active_levels) BOTH (get_max_task_priority)
BOTH (get_max_threads) BOTH (get_nested) BOTH (get_num_devices)
BOTH (get_num_places) BOTH (get_num_procs) BOTH (get_num_teams)
BOTH (get_num_threads) BOTH (get_partition_num_places)
BOTH (get_partition_place_nums) BOTH (get_place_num)
BOTH (get_place_num_procs) BOTH (get_place_proc_ids) BOTH (get_proc_bind)
BOTH (get_supported_active_levels) BOTH (get_team_num) BOTH (get_team_size)
 BOTH (get_thread_limit) BOTH (get_thread_num)
BOTH (get_wtick) BOTH (get_wtime) BOTH (in_final) BOTH (in_parallel)
BOTH (is_initial_device) BOTH (set_default_device) BOTH (set_dynamic)
BOTH (set_max_active_levels) BOTH (set_nested) BOTH (set_num_threads)

FORMAT (capture_affinity) FORMAT (display_affinity)
FORMAT (get_affinity_format) FORMAT (set_affinity_format)

OLD (get_ancestor_thread_num) OLD (get_team_size) OLD (set_dynamic)
OLD (set_max_active_levels) OLD (set_nested) OLD (set_num_threads)
OLD (set_schedule)

KMPC (aligned_malloc) KMPC (calloc) KMPC (free) KMPC (get_affinity_mask_proc)
KMPC (malloc) KMPC (realloc) KMPC (set_affinity_mask_proc)
KMPC (set_blocktime) KMPC (set_defaults) KMPC (set_disp_num_buffers)
KMPC (set_library) KMPC (set_stacksize) KMPC (set_stacksize_s)
KMPC (unset_affinity_mask_proc)

GOMP (alloc) GOMP (atomic_end) GOMP (atomic_start) GOMP (barrier)
GOMP (barrier_cancel) GOMP (cancel) GOMP (cancellation_point)
GOMP (critical_end) GOMP (critical_name_end) GOMP (critical_name_start)
GOMP (critical_start) GOMP (doacross_post) GOMP (doacross_ull_post)
GOMP (doacross_ull_wait) GOMP (doacross_wait) GOMP (free)
GOMP (loop_doacross_dynamic_start) GOMP (loop_doacross_guided_start)
GOMP (loop_doacross_runtime_start) GOMP (loop_doacross_start)
GOMP (loop_doacross_static_start) GOMP (loop_dynamic_next)
GOMP (loop_dynamic_start) GOMP (loop_end) GOMP (loop_end_cancel)
GOMP (loop_end_nowait) GOMP (loop_guided_next) GOMP (loop_guided_start)
GOMP (loop_maybe_nonmonotonic_runtime_next)
GOMP (loop_maybe_nonmonotonic_runtime_start)
GOMP (loop_nonmonotonic_dynamic_next) GOMP (loop_nonmonotonic_dynamic_start)
GOMP (loop_nonmonotonic_guided_next) GOMP (loop_nonmonotonic_guided_start)
GOMP (loop_nonmonotonic_runtime_next) GOMP (loop_nonmonotonic_runtime_start)
GOMP (loop_ordered_dynamic_next) GOMP (loop_ordered_dynamic_start)
GOMP (loop_ordered_guided_next) GOMP (loop_ordered_guided_start)
GOMP (loop_ordered_runtime_next) GOMP (loop_ordered_runtime_start)
GOMP (loop_ordered_start) GOMP (loop_ordered_static_next)
GOMP (loop_ordered_static_start) GOMP (loop_runtime_next)
GOMP (loop_runtime_start) GOMP (loop_start) GOMP (loop_static_next)
GOMP (loop_static_start) GOMP (loop_ull_doacross_dynamic_start)
GOMP (loop_ull_doacross_guided_start) GOMP (loop_ull_doacross_runtime_start)
GOMP (loop_ull_doacross_start) GOMP (loop_ull_doacross_static_start)
GOMP (loop_ull_dynamic_next) GOMP (loop_ull_dynamic_start)
GOMP (loop_ull_guided_next) GOMP (loop_ull_guided_start)
GOMP (loop_ull_maybe_nonmonotonic_runtime_next)
GOMP (loop_ull_maybe_nonmonotonic_runtime_start)
GOMP (loop_ull_nonmonotonic_dynamic_next)
GOMP (loop_ull_nonmonotonic_dynamic_start)
GOMP (loop_ull_nonmonotonic_guided_next)
GOMP (loop_ull_nonmonotonic_guided_start)
GOMP (loop_ull_nonmonotonic_runtime_next)
GOMP (loop_ull_nonmonotonic_runtime_start)
GOMP (loop_ull_ordered_dynamic_next) GOMP (loop_ull_ordered_dynamic_start)
GOMP (loop_ull_ordered_guided_next) GOMP (loop_ull_ordered_guided_start)
GOMP (loop_ull_ordered_runtime_next) GOMP (loop_ull_ordered_runtime_start)
GOMP (loop_ull_ordered_start) GOMP (loop_ull_ordered_static_next)
GOMP (loop_ull_ordered_static_start) GOMP (loop_ull_runtime_next)
GOMP (loop_ull_runtime_start) GOMP (loop_ull_start)
GOMP (loop_ull_static_next) GOMP (loop_ull_static_start) GOMP (ordered_end)
GOMP (ordered_start) GOMP (parallel) GOMP (parallel_end)
GOMP (parallel_loop_dynamic) GOMP (parallel_loop_dynamic_start)
GOMP (parallel_loop_guided) GOMP (parallel_loop_guided_start)
GOMP (parallel_loop_maybe_nonmonotonic_runtime)
GOMP (parallel_loop_nonmonotonic_dynamic)
GOMP (parallel_loop_nonmonotonic_guided)
GOMP (parallel_loop_nonmonotonic_runtime) GOMP (parallel_loop_runtime)
GOMP (parallel_loop_runtime_start) GOMP (parallel_loop_static)
GOMP (parallel_loop_static_start) GOMP (parallel_reductions)
GOMP (parallel_sections) GOMP (parallel_sections_start) GOMP (parallel_start)
GOMP (sections2_start) GOMP (sections_end) GOMP (sections_end_cancel)
GOMP (sections_end_nowait) GOMP (sections_next) GOMP (sections_start)
GOMP (single_copy_end) GOMP (single_copy_start) GOMP (single_start)
GOMP (target) GOMP (target_data) GOMP (target_end_data) GOMP (target_update)
GOMP (task) GOMP (task_reduction_remap) GOMP (taskgroup_end)
GOMP (taskgroup_reduction_register) GOMP (taskgroup_reduction_unregister)
GOMP (taskgroup_start) GOMP (taskloop) GOMP (taskloop_ull) GOMP (taskwait)
GOMP (taskwait_depend) GOMP (taskyield) GOMP (teams) GOMP (teams_reg)
GOMP (workshare_task_reduction_unregister)

#ifdef __aarch64__
	.section .note.GNU-stack, "", %progbits
#else
	.section .note.GNU-stack, "", @progbits
#endif
