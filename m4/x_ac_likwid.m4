# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_LIKWID: hardware counters.
AC_DEFUN([X_AC_LIKWID], [
  AC_CHECK_HEADER([likwid.h], [
    AC_CHECK_LIB([likwid], [perfmon_init], [x_ac_have_likwid=yes], [x_ac_have_likwid=no])],
    [x_ac_have_likwid=no])
  AS_IF([test "$x_ac_have_likwid" = yes], [
    AC_DEFINE([HAVE_LIKWID], [1], [liblikwid is there])
    LIKWID_LIBS=-llikwid])
  AC_SUBST([LIKWID_LIBS])
  AM_CONDITIONAL([HAVE_LIKWID], [test "$x_ac_have_likwid" = yes])
])
