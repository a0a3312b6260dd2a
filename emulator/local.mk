# SPDX-License-Identifier: GPL-2.0-or-later
# A machine that is not there.  QEMU loads the plugin, and resolves what it calls.  It is
# never built with a sanitizer, which QEMU has not.

noinst_LTLIBRARIES += %D%/libmachine.la
%C%_libmachine_la_SOURCES = \
	%D%/plugin/cache.c \
	%D%/plugin/cache.h \
	%D%/plugin/page.c \
	%D%/plugin/page.h \
	%D%/plugin/quantum.c \
	%D%/plugin/quantum.h \
	%D%/plugin/settings.c \
	%D%/plugin/settings.h \
	%D%/plugin/stations.c \
	%D%/plugin/stations.h

machine_only = \
	%D%/plugin/clock.c \
	%D%/plugin/clock.h \
	%D%/plugin/plugin.c \
	%D%/plugin/qemu.c \
	%D%/plugin/qemu.h \
	%D%/plugin/turns.c \
	%D%/plugin/turns.h

noinst_LTLIBRARIES += %D%/plugin.la
%C%_plugin_la_SOURCES = $(%C%_libmachine_la_SOURCES) $(machine_only)
%C%_plugin_la_CFLAGS = $(WARN_CFLAGS) -O2 -fvisibility=hidden
%C%_plugin_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
%C%_plugin_la_LIBADD = -ldl

# What measures an emulated machine from inside.
noinst_PROGRAMS += %D%/validate/probe
%C%_validate_probe_SOURCES = %D%/validate/probe.c
%C%_validate_probe_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS) -O2
%C%_validate_probe_LDADD = protocol/libprotocol.la
EXTRA_DIST += %D%/validate/validate

# The emulated machine against its description, from inside: a quarter of an hour.
validate-emulator: all
	$(AM_V_at)$(srcdir)/%D%/validate/validate $(abs_top_builddir) \
	  --json validate-emulator.json $(VALIDATE)
CLEANFILES += validate-emulator.json
.PHONY: validate-emulator

# Mixes of jobs on an emulated machine, in every way; goes on where it was interrupted.
evaluate-emulated: all
	$(AM_V_at)$(srcdir)/%D%/evaluate --build $(abs_top_builddir) $(EVALUATE)
.PHONY: evaluate-emulated

EXTRA_DIST += %D%/README.md

# The runner.  It works on this tree, and is not installed.
EXTRA_DIST += \
	%D%/completions/emulate \
	%D%/emulate \
	%D%/evaluate \
	%D%/mix.sh \
	%D%/predicted.py \
	%D%/runner/__init__.py \
	%D%/runner/init \
	%D%/runner/initrd.py \
	%D%/runner/machine.py \
	%D%/runner/software.py \
	%D%/runner/timing.py \
	%D%/runner/vm.py \
	docs/emulate.1 docs/emulator.md
