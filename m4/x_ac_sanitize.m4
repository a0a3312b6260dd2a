# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SANITIZE: --enable-sanitize=address,undefined or thread, for the model,
# protocol, agent and their tests (never the plugin or the runtime library,
# which are loaded into foreign processes).  Sets SANITIZE_CFLAGS.
AC_DEFUN([X_AC_SANITIZE], [
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST], [sanitizers for agent and tests])],
    [AS_IF([test "$enableval" != no], [x_ac_sanitize=$enableval])])
  AS_IF([test -n "$x_ac_sanitize"],
    [SANITIZE_CFLAGS="-fsanitize=$x_ac_sanitize -fno-omit-frame-pointer -fno-sanitize-recover=all"])
  AC_SUBST([SANITIZE_CFLAGS])
])
