# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Read after libgomp's own Makefile (make -f Makefile -f coop.mk): adds the
# port's new sources to the library.  Files of the port that replace upstream's
# need nothing here; libgomp finds them by config_path.

include $(coop_port)/sources.mk

coop_objects = $(patsubst %,coop-%.lo,$(basename $(COOP_SOURCES)))
coop_compile = $(LTCOMPILE) -MT $@ -MD -MP -MF $(DEPDIR)/$(@:.lo=.Plo) -c -o $@ $<

libgomp_la_LIBADD += $(coop_objects)
libgomp.la: $(coop_objects)

$(coop_objects): omp.h libgomp_f.h

coop-%.lo: $(coop_port)/%.c
	$(coop_compile)

coop-%.lo: $(coop_port)/%.S
	$(coop_compile)

-include $(coop_objects:%.lo=$(DEPDIR)/%.Plo)
