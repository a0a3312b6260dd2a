/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Allocator and local context: sbatch, salloc, srun. */

#include <stdlib.h>

#include "spank_plugin/plugin.h"

void plugin_submit(spank_t spank)
{
    if (!plugin.requested) {
        /* Submitted from within a co-scheduled job, whose environment says
         * that it is one. */
        if (spank_context() == S_CTX_ALLOCATOR)
            unsetenv(PLUGIN_CONTROL_JOB);
        return;
    }
    /* A job may already run when srun starts a step in it: then the job has
     * the variable and Slurm refuses to set it again. */
    spank_err_t rc =
        spank_job_control_setenv(spank, PLUGIN_CONTROL, plugin.value, 1);
    if (rc != ESPANK_SUCCESS)
        slurm_verbose("cosched: job control variable %s: %s", PLUGIN_CONTROL,
                      spank_strerror(rc));
}
