# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_OPENMP: the programs in jobs/ need a compiler whose OpenMP runtime is
# GNU libgomp, whatever compiles the rest.  Sets JOBS_CC, OPENMP_CFLAGS, and JOBS_FC for the
# one that is in Fortran (empty: it is not built).
AC_DEFUN([X_AC_OPENMP], [
  AC_ARG_VAR([JOBS_CC], [compiler with GNU OpenMP for jobs/ and libgomp-coop/ (gcc)])
  AC_CHECK_PROGS([JOBS_CC], [gcc-12 gcc])
  AS_IF([test -z "$JOBS_CC"], [AC_MSG_ERROR([jobs/ needs gcc: install gcc or set JOBS_CC])])
  AC_ARG_VAR([JOBS_FC], [Fortran compiler with GNU OpenMP for jobs/mg (gfortran)])
  AC_CHECK_PROGS([JOBS_FC], [gfortran-12 gfortran])
  AM_CONDITIONAL([HAVE_FORTRAN], [test -n "$JOBS_FC"])
  AC_SUBST([OPENMP_CFLAGS], [-fopenmp])
])
