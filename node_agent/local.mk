# SPDX-License-Identifier: GPL-2.0-or-later
include node_agent/client.mk
