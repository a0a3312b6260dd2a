/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* The plugin's map: which hook does what in which context. */

#include "config.h"

#include "spank_plugin/plugin.h"

SPANK_PLUGIN(cosched, 1)

/* What coscheduleadm looks for in the file: who can load it. */
#define TEXT(number)   #number
#define TEXT_OF(macro) TEXT(macro)
__attribute__((used)) static const char versions[] =
    "cosched-plugin " PACKAGE_VERSION " slurm " TEXT_OF(SLURM_VERSION_NUMBER);

struct plugin plugin = {.timeout_ms = PLUGIN_TIMEOUT_MS};

int slurm_spank_init(spank_t spank, int ac, char **av)
{
    switch (spank_context()) {
    case S_CTX_ALLOCATOR:
    case S_CTX_LOCAL:
    case S_CTX_REMOTE:
        plugin_args(ac, av);
        /* The static option table is not supported by sbatch and salloc. */
        if (spank_option_register(spank, &plugin_option) != ESPANK_SUCCESS)
            slurm_error("cosched: cannot register --coschedule");
        return 0;
    case S_CTX_SLURMD:
        plugin_args(ac, av); /* once, for its log */
        return 0;
    default: /* job scripts do not come here */
        return 0;
    }
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char **av)
{
    (void)ac, (void)av;
    switch (spank_context()) {
    case S_CTX_ALLOCATOR:
    case S_CTX_LOCAL:
        plugin_submit(spank);
        return 0;
    default:
        return 0;
    }
}

int slurm_spank_task_init_privileged(spank_t spank, int ac, char **av)
{
    (void)ac, (void)av;
    plugin_task(spank);
    return 0;
}

int slurm_spank_task_exit(spank_t spank, int ac, char **av)
{
    (void)ac, (void)av;
    plugin_summary(spank);
    return 0;
}

int slurm_spank_job_epilog(spank_t spank, int ac, char **av)
{
    plugin_args(ac, av);
    plugin_epilog(spank);
    return 0;
}
