# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_LIBSYSTEMD: sd-event is the agent's event loop, sd-notify its start-up
# report.  Required for the agent; the library runs without systemd as init.
AC_DEFUN([X_AC_LIBSYSTEMD], [
  PKG_CHECK_MODULES([LIBSYSTEMD], [libsystemd >= 239],
    [x_ac_have_libsystemd=yes], [x_ac_have_libsystemd=no])
  x_ac_save_LIBS=$LIBS
  LIBS="$LIBSYSTEMD_LIBS $LIBS"
  AC_CHECK_FUNCS([sd_event_add_time_relative])
  LIBS=$x_ac_save_LIBS
  AM_CONDITIONAL([HAVE_LIBSYSTEMD], [test "$x_ac_have_libsystemd" = yes])
])
