# SPDX-License-Identifier: GPL-2.0-or-later
# The SPANK plugin.  Not linked with libslurm: its host has those symbols.

slurmlibdir = $(libdir)/slurm
slurmlib_LTLIBRARIES = spank_cosched.la

spank_cosched_la_SOURCES = \
	%D%/args.c \
	%D%/dispatch.c \
	%D%/epilog.c \
	%D%/plugin.h \
	%D%/submit.c \
	%D%/task.c
spank_cosched_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(JANSSON_CFLAGS)
# Never with a sanitizer: it is loaded into a foreign process.
spank_cosched_la_CFLAGS = $(WARN_CFLAGS) -fstack-protector-strong
spank_cosched_la_LDFLAGS = -module -avoid-version -shared \
	-Wl,-z,now,-z,relro,-z,noexecstack \
	-Wl,--version-script=$(srcdir)/%D%/spank_cosched.map
spank_cosched_la_LIBADD = node_agent/libclient.la
spank_cosched_la_DEPENDENCIES = %D%/spank_cosched.map node_agent/libclient.la

EXTRA_DIST += %D%/spank_cosched.map
