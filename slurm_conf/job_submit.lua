-- SPDX-License-Identifier: GPL-2.0-or-later
-- Copyright (C) 2026 The coschedule developers
-- Route and shape co-scheduled jobs; keep all others out of their partition.
--
-- A job with --coschedule goes to the shared partition and gets all CPUs of one
-- node, shared: in a partition with OverSubscribe=FORCE:n, `shared = 0` (what
-- --exclusive sets) means "all CPUs of the node, whatever their number", and
-- FORCE lets other such jobs in.  Memory stays a consumed resource, so it must
-- be stated or defaulted, else the first job would take all of it.

-- Site rules ---------------------------------------------------------------
local site = {
    partition = "cosched",    -- OverSubscribe=FORCE:n
    default_mem_mb = nil,     -- per node; nil: the partition's DefMemPerNode
    max_nodes = 1,            -- nodes of a co-scheduled job
}
-- ---------------------------------------------------------------------------

local OPTION = "_SLURM_SPANK_OPTION_cosched_coschedule="

-- Numbers of slurm_errno.h that 22.05 does not export to lua.
local ESLURM_INVALID_PARTITION_NAME = 2000
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
    for name in (list or ""):gmatch("[^,]+") do
        if name == site.partition then
            return true
        end
    end
    return false
end

local function refuse(text)
    slurm.log_user("%s", text)
    return ESLURM_INVALID_PARTITION_NAME
end

-- Shape a co-scheduled job.
local function shape(job)
    if job.partition and job.partition ~= site.partition then
        return refuse(string.format(
            "--coschedule: jobs that share a node run in partition %s, not " ..
            "in %s; leave --partition out", site.partition, job.partition))
    end
    local nodes = job.min_nodes
    if nodes and nodes ~= NO_VAL and nodes > site.max_nodes then
        return refuse(string.format(
            "--coschedule: %d nodes asked, at most %d possible", nodes,
            site.max_nodes))
    end
    if job.het_job_offset and job.het_job_offset ~= NO_VAL then
        return refuse("--coschedule: not possible for heterogeneous jobs")
    end
    job.partition = site.partition
    job.shared = 0
    job.min_nodes = 1
    job.max_nodes = site.max_nodes
    local memory = job.min_mem_per_node
    if site.default_mem_mb and job.min_mem_per_cpu == nil and
        (memory == nil or memory == NO_VAL64) then
        job.min_mem_per_node = site.default_mem_mb
    end
    return slurm.SUCCESS
end

local function submit(job)
    if requested(job) then
        return shape(job)
    end
    if names_shared(job.partition) then
        return refuse(string.format(
            "partition %s is for jobs that share a node: add --coschedule, " ..
            "or choose another partition", site.partition))
    end
    return slurm.SUCCESS
end

-- A run-time error would let the job in unchanged (Slurm fails open): refuse.
function slurm_job_submit(job, part_list, uid)
    local ok, result = pcall(submit, job)
    if ok then
        return result
    end
    slurm.log_error("cosched: job_submit.lua: %s", tostring(result))
    slurm.log_user("%s", "co-scheduling: job_submit.lua failed, tell your " ..
                   "administrator: " .. tostring(result))
    return slurm.ERROR
end

-- Moving a job into or out of the shared partition would leave it unshaped.
function slurm_job_modify(job, record, part_list, uid)
    if not job.partition or uid == 0 then
        return slurm.SUCCESS
    end
    if names_shared(job.partition) ~= names_shared(record.partition) then
        slurm.log_user("partition %s is for jobs that share a node, which is " ..
                       "decided at submission", site.partition)
        return ESLURM_INVALID_PARTITION_NAME
    end
    return slurm.SUCCESS
end

return slurm.SUCCESS
