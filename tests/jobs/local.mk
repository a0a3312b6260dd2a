# SPDX-License-Identifier: GPL-2.0-or-later

check_LTLIBRARIES += %D%/losing.la
%C%_losing_la_SOURCES = %D%/losing.c
%C%_losing_la_LDFLAGS = -module -avoid-version -rpath /nowhere
%C%_losing_la_LIBADD = -ldl

TESTS += %D%/test_programs.py
EXTRA_DIST += %D%/test_programs.py

TESTS += %D%/test_demo.py
EXTRA_DIST += %D%/test_demo.py
