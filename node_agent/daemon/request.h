/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The agent's requests: what arrives at its socket. */

#ifndef COSCHED_REQUEST_H
#define COSCHED_REQUEST_H

#include "node_agent/daemon/server.h"

/* Its argument is the agent. */
extern const struct server_handler request_handler;

#endif /* COSCHED_REQUEST_H */
