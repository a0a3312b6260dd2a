# SPDX-License-Identifier: GPL-2.0-or-later
# The contracts between the programs: bytes, messages, options.

if HAVE_CMOCKA
units += %D%/unit
%C%_unit_SOURCES = \
	%D%/test_cpulist.c \
	%D%/test_fields.c \
	%D%/test_follow.c \
	%D%/test_job_defaults.c \
	%D%/test_job_library.c \
	%D%/test_layout.c \
	%D%/test_near_share.c \
	%D%/test_message.c \
	%D%/test_options.c \
	%D%/test_packet.c \
	%D%/unit.h
%C%_unit_CPPFLAGS = $(unit_flags)
%C%_unit_LDADD = protocol/libprotocol.la $(unit_libs)
endif
