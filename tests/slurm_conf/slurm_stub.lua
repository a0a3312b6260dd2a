-- SPDX-License-Identifier: GPL-2.0-or-later
-- Copyright (C) 2026 The coschedule developers
-- Slurm as job_submit.lua sees it, for a Lua interpreter of its own.

local stub = { said = {}, logged = {} }

-- What slurmctld gives to scripts; nothing else is there, as in 22.05.
local function fresh_slurm()
    return {
        SUCCESS = 0,
        ERROR = -1,
        log_user = function(format, ...)
            stub.said[#stub.said + 1] = string.format(format, ...)
        end,
        log_error = function(format, ...)
            stub.logged[#stub.logged + 1] = string.format(format, ...)
        end,
        log_info = function() end,
        jobs = {},
    }
end

-- Load the script at PATH with its site rules changed: { rule = "lua text" }.
function stub.load(path, rules)
    local file = assert(io.open(path, "r"))
    local text = file:read("*a")
    file:close()
    for rule, value in pairs(rules or {}) do
        local count
        text, count = text:gsub("\n    " .. rule .. " = [^\n]*",
                                function() return "\n    " .. rule .. " = " ..
                                                  value .. "," end, 1)
        assert(count == 1, "no site rule " .. rule)
    end
    slurm = fresh_slurm()
    slurm_job_submit, slurm_job_modify = nil, nil
    local chunk, problem = (loadstring or load)(text, "@job_submit.lua")
    assert(chunk, problem)
    assert(chunk() == 0)
    stub.said, stub.logged = {}, {}
end

-- A job as submitted: FIELDS beside --coschedule=VALUE (nil: without).
function stub.job(value, fields)
    local job = { name = "job", user_id = 1000, min_nodes = 4294967294,
                  max_nodes = 4294967294, shared = 65534, environment = {},
                  script = "#!/bin/sh\n./prog\n",
                  spank_job_env = {}, spank_job_env_size = 0 }
    if value then
        job.spank_job_env[0] = "_SLURM_SPANK_OPTION_cosched_coschedule=" .. value
        job.spank_job_env_size = 1
    end
    for key, field in pairs(fields or {}) do
        job[key] = field
    end
    return job
end

stub.partitions = {
    normal = { flag_default = 1 },
    cosched = { flag_default = 0, def_mem_per_node = 1000 },
}

-- Submit JOB: the result, and what the user was told.
function stub.submit(job)
    stub.said = {}
    local result = slurm_job_submit(job, stub.partitions, 1000)
    return result, table.concat(stub.said, "\n")
end

return stub
