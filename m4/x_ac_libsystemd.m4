# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_LIBSYSTEMD: sd-event is the agent's event loop, sd-notify its start-up
# report.  Required for the agent; the library runs without systemd as init.
AC_DEFUN([X_AC_LIBSYSTEMD], [
  PKG_CHECK_MODULES([LIBSYSTEMD], [libsystemd >= 246],
    [x_ac_have_libsystemd=yes], [x_ac_have_libsystemd=no])
  AM_CONDITIONAL([HAVE_LIBSYSTEMD], [test "$x_ac_have_libsystemd" = yes])
])
