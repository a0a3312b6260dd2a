# SPDX-License-Identifier: GPL-2.0-or-later
# Programs of their own, so that a library that fails takes nothing with it.

# The only program with libslurm.
pkglibexec_PROGRAMS += coschedd-slurm
coschedd_slurm_SOURCES = \
	%D%/collector.c \
	%D%/collector.h \
	%D%/conf_files.c \
	%D%/conf_files.h \
	%D%/controller.c \
	%D%/controller.h \
	%D%/courier.c \
	%D%/courier.h \
	%D%/dbd_change.c \
	%D%/dbd_change.h \
	%D%/deliver.c \
	%D%/deliver.h \
	%D%/hand_over.c \
	%D%/hand_over.h \
	%D%/parcel.h \
	%D%/record_queue.c \
	%D%/record_queue.h \
	%D%/sacct_look.c \
	%D%/sacct_look.h \
	%D%/slurm_compat.h \
	%D%/slurm_helper.c
coschedd_slurm_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DCOSCHED_SLURM_SYSCONFDIR='"$(SLURM_SYSCONFDIR)"'
coschedd_slurm_LDADD = node_agent/client/libclient.la common/libjson.la \
	$(SLURM_LIBS) $(JANSSON_LIBS)

# The only program with liblikwid.
if HAVE_LIKWID
pkglibexec_PROGRAMS += coschedd-likwid
coschedd_likwid_SOURCES = %D%/likwid_helper.c
coschedd_likwid_LDADD = protocol/libprotocol.la $(LIKWID_LIBS)
endif
