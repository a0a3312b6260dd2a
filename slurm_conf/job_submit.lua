-- SPDX-License-Identifier: GPL-2.0-or-later
-- Copyright (C) 2026 The coschedule developers
-- Route and shape co-scheduled jobs; keep all others out of their partition.
--
-- A job with --coschedule goes to the shared partition and gets all CPUs of one
-- node, shared: in a partition with OverSubscribe=FORCE:n, `shared = 0` (what
-- --exclusive sets) means "all CPUs of the node, whatever their number", and
-- FORCE lets other such jobs in.  Memory stays a consumed resource, so it must
-- be stated or defaulted, else the first job would take all of it.
--
-- A site with a job_submit.lua of its own loads this file from it and calls
-- its functions first:
--     dofile("/etc/slurm/cosched_submit.lua")
--     local cosched_submit = slurm_job_submit
--     function slurm_job_submit(job, partitions, uid)
--         local rc = cosched_submit(job, partitions, uid)
--         if rc ~= slurm.SUCCESS then return rc end
--         ...

-- Site rules ---------------------------------------------------------------
local site = {
    partition = "cosched",    -- OverSubscribe=FORCE:n
    default_mem_mb = nil,     -- per node; nil: the partition's DefMemPerNode
    max_nodes = nil,          -- of a co-scheduled job; nil: the partition's
}
-- ---------------------------------------------------------------------------

-- How the option arrives: name of the plugin and of its option.
local OPTION = "_SLURM_SPANK_OPTION_cosched_coschedule="
local INHERITED = "SLURM_SPANK_" .. OPTION:sub(1, -2)

-- Numbers of slurm_errno.h and slurm.h that 22.05 does not export to lua.
local ESLURM_INVALID_PARTITION_NAME = 2000
local ESLURM_INVALID_NODE_COUNT = 2006
local ESLURM_INVALID_TASK_MEMORY = 2044
local ESLURM_NOT_SUPPORTED = 2036
local NO_VAL = 4294967294
local NO_VAL64 = 18446744073709551614

local function requested(job)
    for i = 0, (job.spank_job_env_size or 0) - 1 do
        local entry = job.spank_job_env[i]
        if entry and entry:sub(1, #OPTION) == OPTION then
            return true
        end
    end
    return false
end

-- True when the comma separated LIST has the shared partition.
local function names_shared(list)
    for name in list:gmatch("[^,]+") do
        if name == site.partition then
            return true
        end
    end
    return false
end

-- Would a job that asks for the partitions LIST (nil: none) get there?
local function enters_shared(list, partitions)
    if list and list ~= "" then
        return names_shared(list)
    end
    local shared = partitions and partitions[site.partition]
    return shared ~= nil and shared.flag_default == 1
end

-- Tell the user why; returns ERRNUM, of which Slurm prints the text as well.
local function refuse(errnum, format, ...)
    slurm.log_user("%s", string.format(format, ...))
    return errnum
end

-- A job inside a job got the option without anybody having typed it.
local function how_to_leave_out(job)
    local environment = job.script and job.environment
    local inside = environment and environment.SLURM_JOB_ID
    if inside and environment[INHERITED] then
        return string.format(" (inside job %s it is inherited: unset %s)",
                             inside, INHERITED)
    end
    return ""
end

-- Memory, so that others fit beside the job.
local function shape_memory(job, partitions)
    local shared = partitions and partitions[site.partition]
    local memory = job.min_mem_per_node
    if job.min_mem_per_cpu ~= nil then
        return slurm.SUCCESS
    elseif memory == 0 then
        return refuse(ESLURM_INVALID_TASK_MEMORY,
                      "--mem=0: all memory of a node leaves none for the " ..
                      "jobs that share it; say how much the job needs")
    elseif memory ~= nil and memory ~= NO_VAL64 then
        return slurm.SUCCESS
    elseif site.default_mem_mb then
        job.min_mem_per_node = site.default_mem_mb
        return slurm.SUCCESS
    end
    local default = shared and shared.def_mem_per_node
    if shared and (default == nil or default == 0 or default == NO_VAL64) and
        shared.def_mem_per_cpu == nil then
        return refuse(ESLURM_INVALID_TASK_MEMORY,
                      "--coschedule: say how much memory the job needs " ..
                      "(--mem); partition %s has no default", site.partition)
    end
    return slurm.SUCCESS
end

-- Shape a co-scheduled job.
local function shape(job, partitions)
    if job.partition and job.partition ~= site.partition then
        return refuse(ESLURM_INVALID_PARTITION_NAME,
                      "--coschedule: jobs that share a node run in partition " ..
                      "%s, not in %s; leave --partition or --coschedule out%s",
                      site.partition, job.partition, how_to_leave_out(job))
    end
    local nodes = job.min_nodes
    if site.max_nodes and nodes and nodes ~= NO_VAL and
        nodes > site.max_nodes then
        return refuse(ESLURM_INVALID_NODE_COUNT,
                      "--coschedule: %d nodes asked, at most %d possible",
                      nodes, site.max_nodes)
    end
    if job.het_job_offset and job.het_job_offset ~= NO_VAL then
        return refuse(ESLURM_NOT_SUPPORTED,
                      "--coschedule: not possible for heterogeneous jobs")
    end
    local result = shape_memory(job, partitions)
    if result ~= slurm.SUCCESS then
        return result
    end
    job.partition = site.partition
    job.shared = 0
    -- Several only if asked for, or for tasks that do not fit on one.
    if not nodes or nodes == NO_VAL then
        local tasks = job.num_tasks
        local several = tasks and tasks ~= NO_VAL and tasks > 1
        job.min_nodes = 1
        if not several or site.max_nodes then
            job.max_nodes = several and site.max_nodes or 1
        end
    end
    return slurm.SUCCESS
end

local function submit(job, partitions)
    if requested(job) then
        return shape(job, partitions)
    end
    if enters_shared(job.partition, partitions) then
        return refuse(ESLURM_INVALID_PARTITION_NAME,
                      "partition %s is for jobs that share a node: add " ..
                      "--coschedule, or choose another partition",
                      site.partition)
    end
    return slurm.SUCCESS
end

-- A run-time error would let the job in unchanged, since Slurm fails open.  So
-- that none gets onto a shared node unshaped, refuse those it may concern.
function slurm_job_submit(job, partitions, uid)
    local ok, result = pcall(submit, job, partitions)
    if ok then
        return result
    end
    slurm.log_error("cosched: job_submit.lua: %s", tostring(result))
    local sure, concerned = pcall(function()
        return requested(job) or enters_shared(job.partition, partitions)
    end)
    if sure and not concerned then
        return slurm.SUCCESS
    end
    return refuse(slurm.ERROR,
                  "--coschedule: not possible at the moment, job_submit.lua " ..
                  "failed: %s; tell your administrator, or submit without " ..
                  "--coschedule", tostring(result))
end

-- Moving a job into or out of the shared partition would leave it unshaped.
function slurm_job_modify(job, record, partitions, uid)
    if not job.partition or uid == 0 then
        return slurm.SUCCESS
    end
    if names_shared(job.partition) ~= names_shared(record.partition or "") then
        return refuse(ESLURM_INVALID_PARTITION_NAME,
                      "partition %s is for jobs that share a node, which is " ..
                      "decided at submission", site.partition)
    end
    return slurm.SUCCESS
end

return slurm.SUCCESS
