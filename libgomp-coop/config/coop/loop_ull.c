/* SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1 */
/* Copyright (C) 2026 The coschedule developers */
/* Upstream's loop_ull.c, wrapped as loop.c is.  */

#include "libgomp.h"
#include "looprun.h"

#define GOMP_loop_ull_runtime_start upstream_loop_ull_runtime_start
#define GOMP_loop_ull_dynamic_start upstream_loop_ull_dynamic_start
#define GOMP_loop_ull_guided_start upstream_loop_ull_guided_start
#define GOMP_loop_ull_nonmonotonic_dynamic_start \
  upstream_loop_ull_n_dynamic_start
#define GOMP_loop_ull_nonmonotonic_guided_start upstream_loop_ull_n_guided_start
#define GOMP_loop_ull_nonmonotonic_runtime_start \
  upstream_loop_ull_n_runtime_start
#define GOMP_loop_ull_maybe_nonmonotonic_runtime_start \
  upstream_loop_ull_m_runtime_start
#include "../../loop_ull.c"
#undef GOMP_loop_ull_runtime_start
#undef GOMP_loop_ull_dynamic_start
#undef GOMP_loop_ull_guided_start
#undef GOMP_loop_ull_nonmonotonic_dynamic_start
#undef GOMP_loop_ull_nonmonotonic_guided_start
#undef GOMP_loop_ull_nonmonotonic_runtime_start
#undef GOMP_loop_ull_maybe_nonmonotonic_runtime_start

#define ITERATOR gomp_ull
#define IS_ULL true
#define BOUNDS bool up, gomp_ull start, gomp_ull end, gomp_ull incr
#define GIVEN up, start, end, incr
#define INIT gomp_loop_ull_init
#define NEXT(sched) gomp_iter_ull_##sched##_next
#define START(name) GOMP_loop_ull_##name##_start
#define STOCK(sched) gomp_loop_ull_##sched##_start
#define STOCK_RUNTIME upstream_loop_ull_runtime_start
#include "loopwrap.h"
