# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_LIKWID: hardware counters.  --with-likwid and --without-likwid are for
# packages, which must not depend on what happens to be installed.
AC_DEFUN([X_AC_LIKWID], [
  AC_ARG_WITH([likwid],
    [AS_HELP_STRING([--with-likwid], [hardware counters by LIKWID (default: if it is there)])],
    [], [with_likwid=auto])
  x_ac_have_likwid=no
  AS_IF([test "$with_likwid" != no], [
    AC_CHECK_HEADER([likwid.h], [
      AC_CHECK_LIB([likwid], [perfmon_init], [x_ac_have_likwid=yes])])])
  AS_IF([test "$with_likwid:$x_ac_have_likwid" = yes:no], [
    AC_MSG_ERROR([--with-likwid: likwid.h or liblikwid was not found])])
  AS_IF([test "$x_ac_have_likwid" = yes], [
    AC_DEFINE([HAVE_LIKWID], [1], [liblikwid is there])
    LIKWID_LIBS=-llikwid])
  AC_SUBST([LIKWID_LIBS])
  AM_CONDITIONAL([HAVE_LIKWID], [test "$x_ac_have_likwid" = yes])
])
