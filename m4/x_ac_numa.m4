# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_NUMA: libnuma, for memory placement in calibration and jobs.
AC_DEFUN([X_AC_NUMA], [
  AC_CHECK_HEADER([numa.h], [
    AC_CHECK_LIB([numa], [numa_available], [x_ac_have_numa=yes], [x_ac_have_numa=no])],
    [x_ac_have_numa=no])
  AS_IF([test "$x_ac_have_numa" = yes], [
    AC_DEFINE([HAVE_NUMA], [1], [libnuma is there])
    NUMA_LIBS=-lnuma])
  AC_SUBST([NUMA_LIBS])
  AM_CONDITIONAL([HAVE_NUMA], [test "$x_ac_have_numa" = yes])
])
