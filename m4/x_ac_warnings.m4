# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_WARNINGS: warning flags in WARN_CFLAGS; --enable-werror for CI.
AC_DEFUN([X_AC_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings as errors])])
  WARN_CFLAGS="-std=gnu17 -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wshadow"
  AS_IF([test "$enable_werror" = yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
  AC_SUBST([WARN_CFLAGS])
])
