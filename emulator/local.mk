# SPDX-License-Identifier: GPL-2.0-or-later
# A machine that is not there.

EXTRA_DIST += %D%/README.md %D%/plugin/settings.h
