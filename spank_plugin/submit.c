/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Allocator and local context: sbatch, salloc, srun. */

#include <stdlib.h>

#include "spank_plugin/plugin.h"

/* A job may already run when srun starts a step in it: then the job has the
 * variable and Slurm refuses to set it again. */
static void set_control(spank_t spank, const char *name, const char *value)
{
    spank_err_t rc = spank_job_control_setenv(spank, name, value, 1);

    if (rc != ESPANK_SUCCESS)
        slurm_verbose("cosched: job control variable %s: %s", name,
                      spank_strerror(rc));
}

void plugin_submit(spank_t spank)
{
    if (!plugin.requested) {
        /* Submitted from within a co-scheduled job, whose environment says
         * that it is one. */
        if (spank_context() == S_CTX_ALLOCATOR) {
            unsetenv(PLUGIN_CONTROL_JOB);
            unsetenv(PLUGIN_CONTROL_ENVIRONMENT_JOB);
        }
        return;
    }
    /* Inside another job, that one's is inherited. */
    if (plugin.environment[0] || getenv(PLUGIN_CONTROL_ENVIRONMENT_JOB))
        set_control(spank, PLUGIN_CONTROL_ENVIRONMENT, plugin.environment);
    set_control(spank, PLUGIN_CONTROL, plugin.value);
}
