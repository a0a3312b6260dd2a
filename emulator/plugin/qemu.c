/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Which QEMU this is. */

#include "emulator/plugin/qemu.h"

#include <dlfcn.h>
#include <stdio.h>

struct version { /* QEMU's VersionInfo, of the monitor's command query-version */
    const int64_t *triple;
    const char *package;
};

static const struct version *version(void)
{
    static const int64_t zero[3];
    static const struct version unknown = {zero, "of unknown version"};
    union {
        void *symbol;
        const struct version *(*call)(void **error);
    } query = {dlsym(RTLD_DEFAULT, "qmp_query_version")};

    return query.symbol ? query.call(NULL) : &unknown;
}

const char *qemu_name(void)
{
    static char text[128];
    const struct version *v = version();

    snprintf(text, sizeof(text), "QEMU %d.%d.%d %s", (int)v->triple[0], (int)v->triple[1],
             (int)v->triple[2], v->package);
    return text;
}

int qemu_interface(void)
{
    const struct version *v = version();

    return v->triple[0] > 11 || (v->triple[0] == 11 && v->triple[1] >= 1) ? 7 : 4;
}
