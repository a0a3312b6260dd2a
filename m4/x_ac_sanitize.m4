# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SANITIZE: --enable-sanitize=address,undefined or other lists, for the model,
# protocol, agent and their tests (never the plugin or the runtime library, which
# are loaded into foreign processes).  Sets SANITIZE_CFLAGS.
#
# With fuzzer-no-link in the list (clang), the conditional FUZZ holds: tests/fuzz.
#
# Without it, tests of what threads share are compiled with THREAD_CFLAGS, the
# thread sanitizer where programs with it run.
AC_DEFUN([X_AC_SANITIZE], [
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST], [sanitizers for agent and tests])],
    [AS_IF([test "$enableval" != no], [x_ac_sanitize=$enableval])])
  x_ac_sanitize_more="-fno-omit-frame-pointer -fno-sanitize-recover=all"
  AS_IF([test -n "$x_ac_sanitize"],
    [SANITIZE_CFLAGS="-fsanitize=$x_ac_sanitize $x_ac_sanitize_more"],
    [AC_MSG_CHECKING([whether the thread sanitizer works])
     x_ac_sanitize_save=$CFLAGS
     CFLAGS="$CFLAGS -fsanitize=thread"
     AC_RUN_IFELSE([AC_LANG_PROGRAM],
       [AC_MSG_RESULT([yes])
        THREAD_CFLAGS="-fsanitize=thread $x_ac_sanitize_more"],
       [AC_MSG_RESULT([no])], [AC_MSG_RESULT([not tried])])
     CFLAGS=$x_ac_sanitize_save])
  AM_CONDITIONAL([FUZZ],
    [case $x_ac_sanitize in *fuzzer-no-link*) : ;; *) false ;; esac])
  AC_SUBST([SANITIZE_CFLAGS])
  AC_SUBST([THREAD_CFLAGS])
])
