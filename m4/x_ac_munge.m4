# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_MUNGE: credentials for privileged requests.
AC_DEFUN([X_AC_MUNGE], [
  PKG_CHECK_MODULES([MUNGE], [munge],
    [x_ac_have_munge=yes
     AC_DEFINE([HAVE_MUNGE], [1], [libmunge is there])],
    [x_ac_have_munge=no])
])
