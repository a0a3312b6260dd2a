# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Read after libgomp's own Makefile (make -f Makefile -f coop.mk): adds the
# port's new sources to the library, and those of the entry points of libomp.
# Files of the port that replace upstream's need nothing here; libgomp finds them
# by config_path.

kmp_port = $(coop_port)/../kmp

include $(coop_port)/sources.mk
include $(kmp_port)/sources.mk

# For release.h; gcc_version is libgomp's, of the source, not of the compiler.
DEFS += -DCOOP_RELEASE=$(firstword $(subst ., ,$(gcc_version)))

coop_objects = $(patsubst %,coop-%.lo,$(basename $(COOP_SOURCES))) \
	$(patsubst %,kmp-%.lo,$(basename $(KMP_SOURCES)))
coop_compile = $(LTCOMPILE) -MT $@ -MD -MP -MF $(DEPDIR)/$(@:.lo=.Plo) -c -o $@ $<

# The entry points of libomp call GOMP_* functions: those of this library, also
# where another one that has them was loaded first.
libgomp_la_LDFLAGS += -Wl,--version-script,$(kmp_port)/kmp.map \
	-Wl,-Bsymbolic-functions
libgomp_la_LIBADD += $(coop_objects)

# Of glibc, old versions of functions, and where old ones have them (glibc.h).
DEFS += -include $(coop_port)/glibc.h
libgomp_la_LDFLAGS += -Wl,--push-state,--no-as-needed,-l:libpthread.so.0,-l:libdl.so.2,--pop-state
libgomp.la: $(coop_objects) $(kmp_port)/kmp.map

$(coop_objects): omp.h libgomp_f.h

coop-%.lo: $(coop_port)/%.c
	$(coop_compile)

coop-%.lo: $(coop_port)/%.S
	$(coop_compile)

kmp-%.lo: $(kmp_port)/%.c
	$(coop_compile)

kmp-%.lo: $(kmp_port)/%.S
	$(coop_compile)

-include $(coop_objects:%.lo=$(DEPDIR)/%.Plo)
