# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_LIBDW: libdw of elfutils, and the C++ library's demangler, for the names of parallel regions.
AC_DEFUN([X_AC_LIBDW], [
  PKG_CHECK_MODULES([LIBDW], [libdw >= 0.170],
    [x_ac_have_libdw=yes
     AC_DEFINE([HAVE_LIBDW], [1], [libdw is there])],
    [x_ac_have_libdw=no])
  AC_CHECK_LIB([stdc++], [__cxa_demangle], [
    AC_DEFINE([HAVE_CXA_DEMANGLE], [1], [the C++ library demangles names])
    DEMANGLE_LIBS=-lstdc++])
  AC_SUBST([DEMANGLE_LIBS])
  AM_CONDITIONAL([HAVE_LIBDW], [test "$x_ac_have_libdw" = yes])
])
# X_AC_NCURSES: a terminal's screen, for coschedctl top.
AC_DEFUN([X_AC_NCURSES], [
  PKG_CHECK_MODULES([NCURSES], [ncursesw >= 6.0],
    [x_ac_have_ncurses=yes
     AC_DEFINE([HAVE_NCURSES], [1], [ncurses is there])],
    [x_ac_have_ncurses=no])
])
