# SPDX-License-Identifier: GPL-2.0-or-later
# How programs find the cooperative libgomp: the audit library, and a directory
# for loaders that do without.

libgomp_audit = libgomp-coop/lib-coop/coschedule-audit.so
libgomp_audit_sources = %D%/audit.c %D%/bare.h %D%/image.c %D%/image.h

EXTRA_DIST += %D%/README.md %D%/make-aliases $(libgomp_audit_sources)

if HAVE_GCC_SOURCE
# Loaded into each process of a job, into a namespace of its own: no library, no
# sanitizer, no start files.  Its directory is made by build-libgomp.
$(libgomp_audit): $(libgomp_audit_sources) | libgomp-coop/settings
	$(AM_V_CC)$(JOBS_CC) -std=gnu17 -O2 -g -fPIC -ffreestanding \
	    -fvisibility=hidden -fno-stack-protector -fcf-protection=none \
	    -fno-tree-loop-distribute-patterns -fno-sanitize=all $(WARN_CFLAGS) \
	    -shared -nostdlib -Wl,-soname,coschedule-audit.so \
	    -Wl,-z,defs,-z,now,-z,noseparate-code,-z,noexecstack \
	    -o $@ $(filter %.c,$^)

coschedlibgomp_DATA += $(libgomp_audit)

# LD_LIBRARY_PATH for glibc before 2.35.  Loaders of glibc before 2.37 look into a
# subdirectory for the processor; other C libraries' and newer ones, which would
# not or need not find ours here, do not.
libgomp_old = before-2.35/$(host_cpu)
libgomp_old_names = libgomp.so.1 libomp.so libomp.so.5 libiomp5.so
noinst_DATA += libgomp-coop/lib-coop/before-2.35

libgomp-coop/lib-coop/before-2.35: $(srcdir)/%D%/local.mk | libgomp-coop/settings
	$(AM_V_GEN)rm -rf $@ && $(MKDIR_P) libgomp-coop/lib-coop/$(libgomp_old) && \
	for name in $(libgomp_old_names); do \
	    $(LN_S) ../../$$name libgomp-coop/lib-coop/$(libgomp_old) || exit; \
	done && touch $@

install-data-hook:
	$(MKDIR_P) '$(DESTDIR)$(cosched_libgompdir)/$(libgomp_old)'
	cd '$(DESTDIR)$(cosched_libgompdir)/$(libgomp_old)' && \
	for name in $(libgomp_old_names); do \
	    rm -f $$name && $(LN_S) ../../$$name $$name || exit; \
	done

uninstall-hook:
	rm -rf '$(DESTDIR)$(cosched_libgompdir)/before-2.35'
endif
