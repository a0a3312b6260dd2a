# SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1
# Copyright (C) 2026 The coschedule developers
# Sources of the entry points of libomp.

KMP_SOURCES = \
	aliases.S \
	invoke-aarch64.S \
	invoke-x86_64.S \
	kmp_api.c \
	kmp_atomic.c \
	kmp_control.c \
	kmp_depend.c \
	kmp_dispatch.c \
	kmp_doacross.c \
	kmp_fork.c \
	kmp_lock.c \
	kmp_loop.c \
	kmp_private.c \
	kmp_reduce.c \
	kmp_sync.c \
	kmp_task.c \
	kmp_taskloop.c \
	kmp_taskred.c \
	kmp_thread.c
