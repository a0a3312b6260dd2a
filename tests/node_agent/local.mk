# SPDX-License-Identifier: GPL-2.0-or-later
# The agent: parts by themselves, and the daemon with jobs of the test's own.

EXTRA_DIST += %D%/fakes.py

if HAVE_LIBSYSTEMD
check_PROGRAMS += %D%/fake_job
%C%_fake_job_SOURCES = %D%/fake_job.c
%C%_fake_job_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_fake_job_LDADD = protocol/libprotocol.la

cosched_agent_tests = \
	%D%/test_agent_hold.py \
	%D%/test_agent_share.py \
	%D%/test_agent_socket.py \
	%D%/test_agent_turns.py
TESTS += $(cosched_agent_tests)
endif
EXTRA_DIST += \
	%D%/test_agent_hold.py \
	%D%/test_agent_share.py \
	%D%/test_agent_socket.py \
	%D%/test_agent_turns.py
