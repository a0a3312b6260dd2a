# SPDX-License-Identifier: GPL-2.0-or-later
# A machine that is not there.

EXTRA_DIST += %D%/README.md %D%/plugin/settings.h

# The runner.  It works on this tree, and is not installed.
EXTRA_DIST += \
	%D%/completions/emulate \
	%D%/emulate \
	%D%/runner/__init__.py \
	%D%/runner/init \
	%D%/runner/initrd.py \
	%D%/runner/machine.py \
	%D%/runner/software.py \
	%D%/runner/timing.py \
	%D%/runner/vm.py \
	docs/emulate.1 docs/emulator.md
