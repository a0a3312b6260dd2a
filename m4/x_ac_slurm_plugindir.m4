# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SLURM_PLUGINDIR: where the SPANK plugin is installed.  --with-slurm-plugindir=DIR, else what
# Slurm says (pkg-config, a slurmctld that answers), else the directory that has its plugins; of
# these only one below the prefix: `make install` writes nowhere else.
AC_DEFUN([X_AC_SLURM_PLUGINDIR], [
  AC_ARG_WITH([slurm-plugindir],
    [AS_HELP_STRING([--with-slurm-plugindir=DIR], [Slurm's PluginDir])])
  AC_MSG_CHECKING([for Slurm's plugin directory])
  x_ac_prefix=$prefix
  test "x$x_ac_prefix" != xNONE || x_ac_prefix=$ac_default_prefix
  slurmlibdir=$with_slurm_plugindir
  AS_CASE([$slurmlibdir], [""|yes|no], [slurmlibdir=])
  x_ac_multiarch=`$CC -print-multiarch 2>/dev/null`
  AS_IF([test -z "$slurmlibdir"],
    [for x_ac_dir in \
       "`$PKG_CONFIG --variable=plugindir slurm 2>/dev/null`" \
       "`timeout 5 scontrol show config 2>/dev/null | sed -n 's/^PluginDir *= *//p'`" \
       "$x_ac_prefix/lib/$x_ac_multiarch/slurm-wlm" "$x_ac_prefix/lib/$x_ac_multiarch/slurm" \
       "$x_ac_prefix/lib64/slurm" "$x_ac_prefix/lib/slurm"; do
       AS_CASE([$x_ac_dir], ["$x_ac_prefix"/*], [], [continue])
       for x_ac_file in "$x_ac_dir"/select_*.so; do
         AS_IF([test -z "$slurmlibdir" && test -f "$x_ac_file"], [slurmlibdir=$x_ac_dir])
       done
     done])
  AS_IF([test -z "$slurmlibdir"], [slurmlibdir='${libdir}/slurm'])
  AC_MSG_RESULT([$slurmlibdir])
  AC_SUBST([slurmlibdir])
])
