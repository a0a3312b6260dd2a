# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SLURM: headers for the SPANK plugin, libslurm for the accounting helper.
# --with-slurm=PREFIX for a Slurm outside the default paths.
AC_DEFUN([X_AC_SLURM], [
  AC_ARG_WITH([slurm], [AS_HELP_STRING([--with-slurm=PREFIX], [Slurm's prefix])],
    [SLURM_CPPFLAGS="-I$withval/include"
     SLURM_LIBS="-L$withval/lib -lslurm"
     SLURM_SYSCONFDIR="$withval/etc"],
    [SLURM_CPPFLAGS=
     SLURM_LIBS=-lslurm
     SLURM_SYSCONFDIR='${sysconfdir}/slurm'])
  x_ac_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
  AC_CHECK_HEADER([slurm/spank.h], [],
    [AC_MSG_ERROR([slurm/spank.h not found: install libslurm-dev or use --with-slurm])])
  AC_COMPUTE_INT([x_ac_slurm_number], [SLURM_VERSION_NUMBER],
    [#include <slurm/slurm.h>], [x_ac_slurm_number=0])
  x_ac_slurm_version=$(printf '%d.%02d.%d' $((x_ac_slurm_number >> 16)) \
    $((x_ac_slurm_number >> 8 & 255)) $((x_ac_slurm_number & 255)))
  AC_CHECK_MEMBERS([job_desc_msg_t.job_id, slurm_job_info_t.job_id], [], [],
    [#include <slurm/slurm.h>])
  CPPFLAGS=$x_ac_save_CPPFLAGS
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([SLURM_LIBS])
  AC_SUBST([SLURM_SYSCONFDIR])
])
