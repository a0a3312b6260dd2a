-- SPDX-License-Identifier: GPL-2.0-or-later
-- Copyright (C) 2026 The coschedule developers
-- Written by coscheduleadm; edit the site's rules below.
--
-- Loads the script of co-scheduling from its package.  slurmctld does not start without a
-- job_submit.lua that it can run, so this one stays when the package goes: it takes all jobs
-- then, but those that ask for co-scheduling.
local script = "@script@"

-- The site's rules, in place of those at the top of that script.
cosched_site = {
    partitions = { "@partition@" },
}

local loaded, problem = pcall(dofile, script)
if loaded then
    return slurm.SUCCESS or 0
end
slurm.log_error("cosched: %s", tostring(problem))

local function concerned(job)
    for i = 0, (job.spank_job_env_size or 0) - 1 do
        if (job.spank_job_env[i] or ""):find("cosched_coschedule=", 1, true) then
            return true
        end
    end
    for name in (job.partition or ""):gmatch("[^,]+") do
        for _, shared in ipairs(cosched_site.partitions) do
            if name == shared then
                return true
            end
        end
    end
end

function slurm_job_submit(job)
    local ok, ours = pcall(concerned, job)
    if ok and not ours then
        return slurm.SUCCESS or 0
    end
    slurm.log_user("%s", "--coschedule: not possible at the moment, " .. script ..
                   " cannot be loaded; tell your administrator, or submit without --coschedule")
    return slurm.ERROR or -1
end

function slurm_job_modify()
    return slurm.SUCCESS or 0
end

return slurm.SUCCESS or 0
