# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_CMOCKA: unit tests.
AC_DEFUN([X_AC_CMOCKA], [
  PKG_CHECK_MODULES([CMOCKA], [cmocka >= 1.1],
    [x_ac_have_cmocka=yes], [x_ac_have_cmocka=no])
  AM_CONDITIONAL([HAVE_CMOCKA], [test "$x_ac_have_cmocka" = yes])
])
