# SPDX-License-Identifier: GPL-2.0-or-later
# Programs to share a node with, and the batch script that submits them.  They
# stand for users' programs: built by JOBS_CC with GNU OpenMP and nothing of
# ours, whatever compiles the rest, so automake's own rules do not serve.

jobs_flow = %D%/bt %D%/sp %D%/lu
jobs_single = %D%/blackscholes %D%/ft %D%/is %D%/kmeans %D%/sparselu %D%/stream \
	%D%/streamcluster %D%/ua
jobs_programs = %D%/cg %D%/ep %D%/pinned $(jobs_flow) $(jobs_single) $(jobs_fortran)
if HAVE_FORTRAN
jobs_fortran = %D%/mg
endif
jobs_scripts = %D%/job.sh

# ep with its OpenMP runtime inside, which no LD_LIBRARY_PATH replaces; left out
# where the compiler has no static libgomp.
jobs_libgomp_a := $(filter /%,$(shell $(JOBS_CC) -print-file-name=libgomp.a))
jobs_static = $(if $(jobs_libgomp_a),%D%/ep-static)

jobsexecdir = $(pkglibexecdir)/jobs
jobsexec_SCRIPTS = $(jobs_programs) %D%/learn.py
jobsdatadir = $(pkgdatadir)/jobs
jobsdata_SCRIPTS = $(jobs_scripts)
noinst_DATA += $(jobs_static)

jobs_sources = \
	%D%/blackscholes.c \
	%D%/bt.c \
	%D%/cfd.c %D%/cfd.h \
	%D%/cg.c \
	%D%/ep.c \
	%D%/ft.c \
	%D%/gauss.c %D%/gauss.h \
	%D%/is.c \
	%D%/kmeans.c \
	%D%/lu.c \
	%D%/matrix.c %D%/matrix.h \
	%D%/mg.c %D%/mg_grids.f90 \
	%D%/pinned.c \
	%D%/program.c %D%/program.h \
	%D%/random.h \
	%D%/sp.c \
	%D%/sparselu.c \
	%D%/stream.c \
	%D%/streamcluster.c \
	%D%/ua.c

jobs_headers = $(filter %.h,$(jobs_sources))

JOBS_COMPILE = $(JOBS_CC) $(WARN_CFLAGS) -D_GNU_SOURCE -O3 -g $(OPENMP_CFLAGS) \
	-I$(top_srcdir)
AM_V_JOBS = $(AM_V_JOBS_@AM_V@)
AM_V_JOBS_ = $(AM_V_JOBS_@AM_DEFAULT_V@)
AM_V_JOBS_0 = @echo "  JOBS_CC " $@;

%D%/ep: %D%/ep.c %D%/gauss.c
%D%/pinned: %D%/pinned.c %D%/gauss.c
%D%/cg: %D%/cg.c %D%/matrix.c
$(jobs_flow): %D%/cfd.c
$(jobs_flow) $(jobs_single): %D%/%: %D%/%.c
%D%/mg: %D%/mg.c %D%/mg_grids.o
$(jobs_programs): %D%/program.c $(jobs_headers)
	@$(MKDIR_P) %D%
	$(AM_V_JOBS)$(JOBS_COMPILE) $(filter %.c %.o,$^) -o $@ \
	    $(if $(filter %.o,$^),-lgfortran) -lm

# Programs whose static loops are made dynamic, for bench-figures.  Not is: it needs the same
# iterations on the same threads.
jobs_dynamic = $(addprefix %D%/dynamic/,bt cg ft lu sp) $(jobs_fortran:%D%/%=%D%/dynamic/%)
%D%/dynamic/cg: %D%/matrix.c
%D%/dynamic/mg: %D%/mg_grids.f90
%D%/dynamic/bt %D%/dynamic/lu %D%/dynamic/sp: %D%/cfd.c
$(jobs_dynamic): %D%/dynamic/%: %D%/%.c %D%/program.c $(jobs_headers)
	@$(MKDIR_P) $@.src
	@for f in $(filter %.c %.f90,$^); do \
	    sed 's/schedule(static)/schedule(dynamic)/' $$f >$@.src/$${f##*/} || exit; \
	done
	$(if $(filter %.f90,$^),$(AM_V_at)$(JOBS_FC) -Wall -O3 -g $(OPENMP_CFLAGS) -J$@.src \
	    -c $@.src/mg_grids.f90 -o $@.src/mg_grids.o)
	$(AM_V_JOBS)$(JOBS_COMPILE) $@.src/*.c \
	    $(if $(filter %.f90,$^),$@.src/mg_grids.o -lgfortran) -o $@ -lm

clean-local: clean-dynamic
clean-dynamic:
	-rm -rf %D%/dynamic
.PHONY: clean-dynamic

# The module file is of no use to anybody else.
%D%/mg_grids.o: %D%/mg_grids.f90
	@$(MKDIR_P) %D%
	$(AM_V_JOBS)$(JOBS_FC) -Wall -O3 -g $(OPENMP_CFLAGS) -J%D% -c $< -o $@

# Compiled and linked in two steps: the compiler's own -lgomp is the shared one.
%D%/ep-static: %D%/ep.c %D%/gauss.c %D%/program.c $(jobs_headers)
	@$(MKDIR_P) %D%
	$(AM_V_JOBS)$(JOBS_COMPILE) -r -nostdlib $(filter %.c,$^) -o $@.o && \
	    $(JOBS_CC) $@.o $(jobs_libgomp_a) -o $@ -pthread -ldl -lm

$(jobs_scripts): %.sh: %.sh.in Makefile
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(SED) 's,@jobsexecdir[@],$(jobsexecdir),' $< >$@.tmp && \
	    chmod +x $@.tmp && mv $@.tmp $@

EXTRA_DIST += $(jobs_sources) $(jobs_scripts:=.in) %D%/learn.py %D%/README.md
CLEANFILES += $(jobs_programs) $(jobs_scripts) %D%/ep-static %D%/ep-static.o \
	%D%/mg_grids.o %D%/mg_grids.mod
