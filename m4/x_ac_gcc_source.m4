# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_GCC_SOURCE: GCC's sources, from which the cooperative libgomp is built.
# --with-gcc-source=PATH: an unpacked tree, a tarball, or a directory that has
# one (Debian's gcc-12-source puts it in /usr/src/gcc-12); no: leave it out.
AC_DEFUN([X_AC_GCC_SOURCE], [
  AC_ARG_WITH([gcc-source],
    [AS_HELP_STRING([--with-gcc-source=PATH],
      [GCC source tree, tarball or directory with one @<:@/usr/src/gcc-12@:>@])],
    [GCC_SOURCE=$withval], [GCC_SOURCE=/usr/src/gcc-12])
  AS_CASE([$host_cpu], [x86_64], [], [GCC_SOURCE=no])
  AS_IF([test "$GCC_SOURCE" = no], [x_ac_gcc_source_text="no"],
        [test -d "$GCC_SOURCE/libgomp" || test -f "$GCC_SOURCE" ||
         ls "$GCC_SOURCE"/gcc-*.tar.* >/dev/null 2>&1],
        [x_ac_gcc_source_text="from $GCC_SOURCE"],
        [AS_IF([test -n "$with_gcc_source"],
           [AC_MSG_ERROR([--with-gcc-source=$GCC_SOURCE: no GCC source there])])
         GCC_SOURCE=no
         x_ac_gcc_source_text="no (install gcc-12-source or use --with-gcc-source)"])
  AC_SUBST([GCC_SOURCE])
  AM_CONDITIONAL([HAVE_GCC_SOURCE], [test "$GCC_SOURCE" != no])
])
