# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Boots emulated machines and runs commands in them."""


class EmulatorError(Exception):
    """What the user is told, one sentence."""


def name_of(fd):
    """A path for QEMU, which has FD open."""
    return f"/proc/self/fd/{fd}"
