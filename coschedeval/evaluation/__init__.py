# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Parts of coschedeval: what co-scheduling gains on this node, measured."""


class EvaluationError(Exception):
    """What the user must know to set things right."""
