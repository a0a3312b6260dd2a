# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_CAIRO: coschedmodel's plots as PNG.
AC_DEFUN([X_AC_CAIRO], [
  PKG_CHECK_MODULES([CAIRO], [cairo-png],
    [x_ac_have_cairo=yes
     AC_DEFINE([HAVE_CAIRO], [1], [cairo is there])],
    [x_ac_have_cairo=no])
])
