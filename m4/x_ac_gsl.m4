# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_GSL: fits of the model's numbers to measurements.
AC_DEFUN([X_AC_GSL], [
  PKG_CHECK_MODULES([GSL], [gsl >= 2.3],
    [x_ac_have_gsl=yes
     AC_DEFINE([HAVE_GSL], [1], [GSL is there])],
    [x_ac_have_gsl=no])
  AM_CONDITIONAL([HAVE_GSL], [test "$x_ac_have_gsl" = yes])
])
