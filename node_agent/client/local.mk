# SPDX-License-Identifier: GPL-2.0-or-later
# Client side of the agent's socket.  PIC, because the SPANK plugin links it.

noinst_LTLIBRARIES += %D%/libclient.la
%C%_libclient_la_SOURCES = \
	%D%/client.c \
	%D%/client.h \
	%D%/end_note.c \
	%D%/end_note.h \
	%D%/munge_credential.c \
	%D%/munge_credential.h
%C%_libclient_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(MUNGE_CFLAGS)
%C%_libclient_la_LIBADD = protocol/libprotocol.la $(MUNGE_LIBS)
