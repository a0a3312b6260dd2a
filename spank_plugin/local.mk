# SPDX-License-Identifier: GPL-2.0-or-later
# The SPANK plugin.  Not linked with libslurm: its host has those symbols.

# All of it but the client library, for the tests to link.
noinst_LTLIBRARIES += %D%/libplugin.la
%C%_libplugin_la_SOURCES = \
	%D%/args.c \
	%D%/dispatch.c \
	%D%/epilog.c \
	%D%/plugin.h \
	%D%/submit.c \
	%D%/summary.c \
	%D%/task.c
%C%_libplugin_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(JANSSON_CFLAGS)
# Never with a sanitizer: it is loaded into a foreign process.
%C%_libplugin_la_CFLAGS = $(WARN_CFLAGS) -fstack-protector-strong
%C%_libplugin_la_LDFLAGS =

slurmlib_LTLIBRARIES = spank_cosched.la
spank_cosched_la_SOURCES =
spank_cosched_la_LDFLAGS = -module -avoid-version -shared \
	-Wl,-z,now,-z,relro,-z,noexecstack \
	-Wl,--version-script=$(srcdir)/%D%/spank_cosched.map
spank_cosched_la_LIBADD = %D%/libplugin.la node_agent/client/libclient.la
spank_cosched_la_DEPENDENCIES = %D%/spank_cosched.map \
	%D%/libplugin.la node_agent/client/libclient.la

EXTRA_DIST += %D%/spank_cosched.map
