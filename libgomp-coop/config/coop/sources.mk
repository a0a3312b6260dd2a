# SPDX-License-Identifier: GPL-3.0-or-later WITH GCC-exception-3.1
# Copyright (C) 2026 The coschedule developers
# Sources of the port that replace no file of libgomp.

COOP_SOURCES = \
	allot.c \
	attach.c \
	base.c \
	batch.c \
	birth.c \
	blocking.c \
	dispatch.c \
	donor.c \
	domain.c \
	dynloop.c \
	fiber.c \
	foreign.c \
	hint.c \
	hold.c \
	home.c \
	host.c \
	idle.c \
	inherit.c \
	interleave.c \
	kthread.c \
	launch.c \
	looprun.c \
	membarrier.c \
	monitor.c \
	near.c \
	needs.c \
	order.c \
	overflow.c \
	pages.c \
	park.c \
	placement.c \
	preempt.c \
	preemptible.c \
	runq.c \
	region.c \
	sample.c \
	settings.c \
	setxid.c \
	spinloop.c \
	share.c \
	stack.c \
	start.c \
	starve.c \
	stray.c \
	switch-aarch64.S \
	switch-x86_64.S \
	threadstat.c \
	ult.c \
	watchdog.c \
	worker.c
