# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_GCC_SOURCE: GCC's sources, from which the cooperative libgomp is built.
# --with-gcc-source=PATH: an unpacked tree, a tarball, or a directory that has
# one; no: leave it out.  Without the option the newest of the distribution's
# packages gcc-N-source (/usr/src/gcc-N) is taken; it must not be older than the
# compiler, whose programs need a libgomp of its version or a later one.
AC_DEFUN([X_AC_GCC_SOURCE], [
  AC_ARG_WITH([gcc-source],
    [AS_HELP_STRING([--with-gcc-source=PATH],
      [GCC source tree, tarball or directory with one @<:@newest /usr/src/gcc-N@:>@])],
    [GCC_SOURCE=$withval], [GCC_SOURCE=auto])
  : "${x_ac_gcc_dir=/usr/src}"
  x_ac_gcc_version=`$JOBS_CC -dumpversion 2>/dev/null | sed 's/[[^0-9]].*//'`
  AS_IF([test "$GCC_SOURCE" = yes], [GCC_SOURCE=auto])
  AS_IF([test "$GCC_SOURCE" = auto], [
    GCC_SOURCE=no x_ac_gcc_newest=0
    x_ac_gcc_source_text="no (install gcc-${x_ac_gcc_version:-N}-source or use --with-gcc-source)"
    for x_ac_dir in "$x_ac_gcc_dir"/gcc-*; do
      x_ac_n=`expr "X$x_ac_dir" : '.*/gcc-\(@<:@0-9@:>@*\)$'`
      AS_IF([test -n "$x_ac_n" && test "$x_ac_n" -gt "$x_ac_gcc_newest" &&
             { test -d "$x_ac_dir/libgomp" ||
               ls "$x_ac_dir"/gcc-*.tar.* >/dev/null 2>&1; }],
        [x_ac_gcc_newest=$x_ac_n GCC_SOURCE=$x_ac_dir])
    done
    AS_IF([test "$GCC_SOURCE" != no &&
           test "$x_ac_gcc_newest" -lt "${x_ac_gcc_version:-0}"],
      [x_ac_gcc_source_text="no ($GCC_SOURCE is older than $JOBS_CC,"
       x_ac_gcc_source_text="$x_ac_gcc_source_text install gcc-$x_ac_gcc_version-source)"
       GCC_SOURCE=no])
  ], [test "$GCC_SOURCE" != no], [
    AS_IF([test -d "$GCC_SOURCE/libgomp" || test -f "$GCC_SOURCE" ||
           ls "$GCC_SOURCE"/gcc-*.tar.* >/dev/null 2>&1], [],
      [AC_MSG_ERROR([--with-gcc-source=$GCC_SOURCE: no GCC source there])])
  ], [x_ac_gcc_source_text=no])
  # Processors that have a context switch.
  AS_CASE([$host_cpu], [x86_64|aarch64], [x_ac_have_coop_switch=yes],
    [x_ac_have_coop_switch=no
     x_ac_gcc_source_text="no (no context switch for $host_cpu)"
     GCC_SOURCE=no])
  AS_IF([test "$GCC_SOURCE" != no], [x_ac_gcc_source_text="from $GCC_SOURCE"])
  AC_SUBST([GCC_SOURCE])
  AM_CONDITIONAL([HAVE_GCC_SOURCE], [test "$GCC_SOURCE" != no])
  AM_CONDITIONAL([HAVE_COOP_SWITCH], [test "$x_ac_have_coop_switch" = yes])
])
