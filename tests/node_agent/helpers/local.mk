# SPDX-License-Identifier: GPL-2.0-or-later
# Client side of the agent's socket, coschedctl, and the helper for Slurm.

client_scripts = \
	%D%/test_ctl.py \
	%D%/test_ctl_docs.py \
	%D%/test_ks.py \
	%D%/test_slurm_helper.py \
	%D%/test_slurm_versions.py
EXTRA_DIST += $(client_scripts)
TESTS += $(client_scripts)

check_LTLIBRARIES += %D%/fake_slurm.la
%C%_fake_slurm_la_SOURCES = %D%/fake_slurm.c
%C%_fake_slurm_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
# Never with a sanitizer: it is loaded into shells, too.
%C%_fake_slurm_la_CFLAGS = $(WARN_CFLAGS)
%C%_fake_slurm_la_LDFLAGS = -module -avoid-version -rpath /nowhere

if HAVE_CMOCKA
client_units = %D%/test_client %D%/test_end_note
check_PROGRAMS += $(client_units)
TESTS += $(client_units)
%C%_test_client_SOURCES = %D%/test_client.c %D%/unit.h
%C%_test_client_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
%C%_test_client_LDADD = node_agent/client/libclient.la $(JANSSON_LIBS) $(CMOCKA_LIBS)

%C%_test_end_note_SOURCES = %D%/test_end_note.c %D%/unit.h
%C%_test_end_note_CPPFLAGS = $(%C%_test_client_CPPFLAGS)
%C%_test_end_note_LDADD = $(%C%_test_client_LDADD)
endif
