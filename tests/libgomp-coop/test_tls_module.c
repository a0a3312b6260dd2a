/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* A library with thread-local variables, loaded while threads exist. */

static __thread int dynamic __attribute__((tls_model("global-dynamic")));
static __thread int early __attribute__((tls_model("initial-exec")));

extern int *dynamic_number(void);
extern int *early_number(void);

int *dynamic_number(void)
{
    return &dynamic;
}

int *early_number(void)
{
    return &early;
}
