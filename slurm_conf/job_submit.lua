-- SPDX-License-Identifier: GPL-2.0-or-later
-- Copyright (C) 2026 The coschedule developers
-- Route and shape co-scheduled jobs; keep all others out of their partition.
--
-- A job with --coschedule goes to a shared partition and gets all CPUs of one
-- node, shared: in a partition with OverSubscribe=FORCE:n, `shared = 0` (what
-- --exclusive sets) means "all CPUs of the node, whatever their number", and
-- FORCE lets other such jobs in.  Memory stays a consumed resource, so it must
-- be stated or defaulted, else the first job would take all of it.
--
-- `coscheduleadm install` writes a job_submit.lua that loads this file and has the
-- site's rules.  A site with one of its own loads that from it, and calls its functions
-- first:
--     dofile("/etc/slurm/cosched_submit.lua")
--     local cosched_submit = slurm_job_submit
--     function slurm_job_submit(job, partitions, uid)
--         local rc = cosched_submit(job, partitions, uid)
--         if rc ~= slurm.SUCCESS then return rc end
--         ...

-- Site rules ---------------------------------------------------------------
local site = {
    -- Shared partitions, each with OverSubscribe=FORCE:n; the first is for jobs
    -- that name none: { "cosched", "long" }.
    partitions = { "cosched" },
    default_mem_mb = nil,     -- per node; nil: the partition's DefMemPerNode
    max_nodes = nil,          -- of a co-scheduled job; nil: the partition's
    -- CPUs of each node, where nodes have GPUs: a job that names none then leaves
    -- all of them to others.  nil: it gets all of a node, as with --exclusive.
    node_cpus = nil,
    -- Largest weight that a QOS allows, and what its jobs have that ask for
    -- none: { high = 4, low = 0.5 }; a QOS that is not named has 1.  Or a
    -- function of the job that returns it, from its priority or account.
    weights = {},
    history = "/var/lib/cosched", -- where coschedhistory writes; nil: none
    partners = true,          -- prefer nodes with complementary jobs,
    pack = false,             -- even while there are idle ones
}
for rule, value in pairs(cosched_site or {}) do -- of the script that loads this one
    site[rule] = value
end
-- ---------------------------------------------------------------------------

-- How the option arrives: name of the plugin and of its option.
local OPTION = "_SLURM_SPANK_OPTION_cosched_coschedule="
local INHERITED = "SLURM_SPANK_" .. OPTION:sub(1, -2)
-- The same with the environment's and the site's defaults, and what of it the
-- environment said.
local COMPLETE = "^COSCHEDULE=(.*)$"
local ENVIRONMENT = "^COSCHEDULE_ENVIRONMENT=(.*)$"

-- Numbers of slurm_errno.h and slurm.h that 22.05 does not export to lua.
local ESLURM_INVALID_PARTITION_NAME = 2000
local ESLURM_INVALID_NODE_COUNT = 2006
local ESLURM_INVALID_TASK_MEMORY = 2044
local ESLURM_NOT_SUPPORTED = 2036
local ERROR = slurm.ERROR or -1
local SUCCESS = slurm.SUCCESS or 0
local NO_VAL16 = 65534
local OVERSUBSCRIBE = 1 -- what --oversubscribe says
local NO_VAL = 4294967294
local NO_VAL64 = 18446744073709551614

-- The option's value with the defaults, "" for none, nil when it was not given;
-- as typed, and what the environment said.
local function requested(job)
    local complete, typed, environment
    for i = 0, (job.spank_job_env_size or 0) - 1 do
        local entry = job.spank_job_env[i] or ""
        if entry:sub(1, #OPTION) == OPTION then
            typed = typed or entry:sub(#OPTION + 1)
        elseif entry:match(COMPLETE) then
            complete = entry:match(COMPLETE)
        end
        environment = environment or entry:match(ENVIRONMENT)
    end
    return complete or typed, typed, environment
end

-- How many of the comma separated LIST are shared partitions, and how many not.
local function count_shared(list)
    local ours, others = 0, 0
    for name in list:gmatch("[^,]+") do
        local found = false
        for _, shared in ipairs(site.partitions) do
            found = found or shared == name
        end
        ours, others = ours + (found and 1 or 0), others + (found and 0 or 1)
    end
    return ours, others
end

local function names_shared(list)
    return count_shared(list) > 0
end

-- Would a job that asks for the partitions LIST (nil: none) get to a shared one?
local function enters_shared(list, partitions)
    if list and list ~= "" then
        return names_shared(list)
    end
    for _, name in ipairs(site.partitions) do
        local shared = partitions and partitions[name]
        if shared and shared.flag_default == 1 then
            return true
        end
    end
    return false
end

-- The shared partitions, for messages.
local function shared_names()
    return table.concat(site.partitions, " or ")
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

-- The first of the partitions LIST without a default for memory, or nil.
local function without_default(list, partitions)
    for name in list:gmatch("[^,]+") do
        local shared = partitions and partitions[name]
        local default = shared and shared.def_mem_per_node
        if shared and (default == nil or default == 0 or default == NO_VAL64) and
            shared.def_mem_per_cpu == nil then
            return name
        end
    end
end

-- Memory, so that others fit beside the job.
local function shape_memory(job, partitions, list)
    local memory = job.min_mem_per_node
    if job.min_mem_per_cpu ~= nil then
        return SUCCESS
    elseif memory == 0 then
        return refuse(ESLURM_INVALID_TASK_MEMORY,
                      "--mem=0: all memory of a node leaves none for the " ..
                      "jobs that share it; say how much the job needs")
    elseif memory ~= nil and memory ~= NO_VAL64 then
        return SUCCESS
    elseif site.default_mem_mb then
        job.min_mem_per_node = site.default_mem_mb
        return SUCCESS
    end
    local lacking = without_default(list, partitions)
    if lacking then
        return refuse(ESLURM_INVALID_TASK_MEMORY,
                      "--coschedule: say how much memory the job needs " ..
                      "(--mem); partition %s has no default", lacking)
    end
    return SUCCESS
end

-- Weight -------------------------------------------------------------------

-- Largest weight of a job of QOS, what it is called, and whether the site has
-- rules at all.
local function allowed_weight(job, qos)
    if type(site.weights) == "function" then
        return site.weights(job) or 1, "this job", true
    end
    return (site.weights or {})[qos or ""] or 1,
           qos and "QOS " .. qos or "the default QOS",
           next(site.weights or {}) ~= nil
end

-- The weight that is asked for in OPTIONS, "a=1,b=2"; nil: none.
local function asked_weight(options)
    return ("," .. (options or "") .. ","):match(",weight=([%d.]+),")
end

-- Where ASKED is from, as its user knows it: what was typed, else what the
-- environment said, else the site.
local function name_weight(asked, typed, environment)
    if asked_weight(typed) then
        return "--coschedule=weight=" .. asked
    elseif asked_weight(environment) then
        return "COSCHED_WEIGHT=" .. asked .. " in the environment"
    end
    return "weight=" .. asked .. " of the site's defaults"
end

-- The job's weight, or nil where nobody has said anything; or nil and why not.
-- TYPED is what of OPTIONS the user typed, ENVIRONMENT what the environment said.
local function weight_of(job, options, typed, environment)
    local most, whose, rules = allowed_weight(job, job.qos or job.default_qos)
    local asked = asked_weight(options)
    if not asked then
        return rules and most or nil
    elseif tonumber(asked) and tonumber(asked) <= most then
        return tonumber(asked)
    end
    return nil, string.format("%s: %s allows %g at most",
                              name_weight(asked, typed, environment), whose,
                              most)
end

-- What coschedhistory knows -------------------------------------------------

-- NAME as in the keys of `programs`.
local function safe(name)
    return (name:sub(1, 64):gsub("[^%w._+-]", "_"))
end

-- The value of KEY in FILE: lines of equal length, sorted, after a header.  By
-- halving: a dozen reads, however many programs there are.
local function look_up(file, key)
    file:seek("set", 0)
    local head = file:read(64) or ""
    local width, count = head:match(
        "^cosched%-programs/1 width=(%d+) count=(%d+)")
    width, count = tonumber(width), tonumber(count)
    local low, high = 1, count or 0
    if not width or width < 64 or width > 4096 then
        return nil
    end
    while low <= high do
        local middle = math.floor((low + high) / 2)
        file:seek("set", middle * width)
        local line = file:read(width) or ""
        local found = line:match("^([^\t]+)\t")
        if not found or #line ~= width then
            return nil -- no file of ours
        elseif found == key then
            return line:match("\t([%w =._+-]-) *\n$")
        elseif found < key then
            low = middle + 1
        else
            high = middle - 1
        end
    end
end

-- Names of programs that a job may be going to run, the likeliest first: what
-- its script, or srun, names with a path or behind srun.
local function programs_of(job)
    local names, known = {}, {}
    local function add(path)
        local name = path:match("([^/]+)$")
        if name and not known[name] and #names < 8 then
            known[name] = true
            names[#names + 1] = name
        end
    end
    if not job.script then
        add(job.argv and job.argv[0] or "")
        return names
    end
    for line in job.script:sub(1, 16384):gmatch("[^\n]+") do
        if not line:match("^%s*#") then
            for word in line:gmatch("[%w._+/-]*/[%w._+-]+") do
                if not word:match("^/dev/") and not word:match("^/etc/") then
                    add(word)
                end
            end
            add(line:match("^%s*srun%s+([%w._+-]+)") or "")
        end
    end
    return names
end

-- What earlier runs of the job were like: by its name, else by its program.
local function history_of(job)
    local file = site.history and io.open(site.history .. "/programs", "rb")
    if not file then
        return nil
    end
    local uid = string.format("%d ", job.user_id)
    local value = job.name and look_up(file, uid .. safe(job.name))
    if not value then
        for _, name in ipairs(programs_of(job)) do
            value = look_up(file, uid .. "@" .. safe(name))
            if value then
                break
            end
        end
    end
    file:close()
    return value
end

-- The level of a job of class KIND, with this RHO, where levels end at EDGES, a list
-- (empty: levels go by class); nil: not known.  As in placement.py.
local function level_of(kind, rho, edges)
    if kind == "serial" then
        return 0
    elseif edges == "" then
        return ({ compute = 1, mixed = 3, memory = 5 })[kind]
    elseif rho then
        local level = 1
        for edge in edges:gmatch("[^,]+") do
            level = level + (rho > (tonumber(edge) or math.huge) and 1 or 0)
        end
        return level
    end
end

-- Features of nodes that suit a job of which KNOWN is known; nil: none.
local function partners_of(known)
    local file = site.history and io.open(site.history .. "/partners", "rb")
    if not file then
        return nil
    end
    local text = file:read(65536) or ""
    file:close()
    local time, edges, idle = text:match(
        "^cosched%-partners/2 time=(%d+)\nedges ([%d.,e+-]*)\nidle ([%w_]*)\n")
    -- Jobs come and go: what is old is no better than Slurm's own choice.
    if not time or os.time() - tonumber(time) > 600 then
        return nil
    end
    local level = level_of(known:match("class=(%l+)"), tonumber(known:match("rho=(%S+)")), edges)
    local features = level and text:match("\nlevel" .. level .. " ([%w_,]+)\n")
    if not features then
        return nil
    elseif not site.pack and idle ~= "" then
        features = idle .. "," .. features
    end
    return (features:gsub(",", "|"))
end

-- True for a job of one node when the user said nothing of where it is to run.
local function anywhere(job)
    local function unset(value)
        return value == nil or value == ""
    end
    return job.max_nodes == 1 and unset(job.req_nodes) and unset(job.features) and
           unset(job.prefer) and unset(job.reservation)
end

-- Threads per core, where its records name fewer than the runtime would choose, if nobody has said.
-- Slurm lets us change the environment of batch jobs only.
local function set_ults(job, options, ults)
    if not ults or not job.script or ("," .. options):find(",ults=", 1, true) or
        job.environment.COSCHED_ULTS or job.environment.OMP_NUM_THREADS then
        return
    end
    job.environment.COSCHED_ULTS = ults
end

-- Use and hand on what is known of the job.  A wish for nodes (--prefer) is no
-- condition: Slurm takes others when those are full.
local function advise(job, options, weight)
    local known = history_of(job)
    local words = { "cosched-job/1" }
    if weight then
        words[#words + 1] = string.format("weight=%g", weight)
    end
    words[#words + 1] = known
    if #words > 1 and (job.admin_comment == nil or job.admin_comment == "") then
        job.admin_comment = table.concat(words, " ")
    end
    if not known then
        return
    end
    set_ults(job, options, known:match("ults=(%d+)"))
    local nodes = site.partners and anywhere(job) and partners_of(known)
    if nodes then
        job.prefer = nodes
    end
end

-- Shape ---------------------------------------------------------------------

-- What the user's environment has to do with the partition of a batch job.
local function from_environment(job)
    local environment = job.script and job.environment
    local name = environment and environment.SBATCH_PARTITION
    return name and name == job.partition and
           string.format(" (SBATCH_PARTITION=%s in the environment)", name) or ""
end

-- Refuse what contradicts sharing a node.
local function contradiction(job)
    local _, others = count_shared(job.partition or "")
    if others > 0 then
        return refuse(ESLURM_INVALID_PARTITION_NAME,
                      "--coschedule: jobs that share a node run in partition " ..
                      "%s, not in %s%s; leave --partition or --coschedule out%s",
                      shared_names(), job.partition, from_environment(job),
                      how_to_leave_out(job))
    end
    local sharing = job.shared
    if sharing and sharing ~= NO_VAL16 and sharing ~= OVERSUBSCRIBE then
        return refuse(ESLURM_NOT_SUPPORTED,
                      "--coschedule shares the node, --exclusive does not; " ..
                      "leave one of them out%s", how_to_leave_out(job))
    end
    return SUCCESS
end

-- Newer Slurms (24.11) have -c in tres_per_task, too: "cpu:N" or "cpu=N".
local function wants_gpus(job)
    for _, key in ipairs({ "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task" }) do
        for what in (job[key] or ""):gmatch("[^,;]+") do
            if not what:match("^cpu[:=]") then
                return true
            end
        end
    end
    return false
end

-- CPUs of a node of the first of the partitions LIST; nil: its nodes differ.
local function cpus_of_node(list, partitions)
    local first = partitions and partitions[list:match("[^,]+")]
    local cpus = first and first.total_nodes and first.total_nodes > 0 and
                 first.total_cpus / first.total_nodes
    return cpus and cpus == math.floor(cpus) and cpus or nil
end

-- All CPUs of each node, and no GPUs but those that the job asks for.  That needs
-- their number; what --exclusive sets does not, but takes the GPUs as well.
local function take_cpus(job, list, partitions)
    local gpus = wants_gpus(job)
    local cpus = site.node_cpus or gpus and cpus_of_node(list, partitions)
    if not cpus and gpus then
        return refuse(ESLURM_NOT_SUPPORTED, "--coschedule: the nodes of %s have different " ..
                      "numbers of CPUs, which does not go with GPUs (node_cpus in " ..
                      "job_submit.lua)", list)
    elseif not cpus then
        job.shared = 0
        return SUCCESS
    end
    job.pn_min_cpus = cpus
    -- Slurm gives no more than tasks need; who says both has no more than that.
    local nodes, tasks, each = job.min_nodes, job.num_tasks, job.cpus_per_task
    nodes = nodes and nodes ~= NO_VAL and nodes or 1
    if tasks and tasks ~= NO_VAL and tasks > 0 and (not each or each == NO_VAL16 or each == 0) then
        job.cpus_per_task = math.max(1, math.floor(cpus * nodes / tasks))
    end
    return SUCCESS
end

-- Shape a co-scheduled job.
local function shape(job, partitions, options, typed, environment)
    local result = contradiction(job)
    if result ~= SUCCESS then
        return result
    end
    local partition = job.partition or site.partitions[1]
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
    result = shape_memory(job, partitions, partition)
    if result ~= SUCCESS then
        return result
    end
    local weight, why = weight_of(job, options, typed, environment)
    if why then
        return refuse(ESLURM_NOT_SUPPORTED, "%s", why)
    end
    result = take_cpus(job, partition, partitions)
    if result ~= SUCCESS then
        return result
    end
    job.partition = partition
    -- Several only if asked for, or for tasks that do not fit on one.
    if not nodes or nodes == NO_VAL then
        local tasks = job.num_tasks
        local several = tasks and tasks ~= NO_VAL and tasks > 1
        job.min_nodes = 1
        if not several or site.max_nodes then
            job.max_nodes = several and site.max_nodes or 1
        end
    end
    -- The job is what it must be; this is for its good only.
    local ok, problem = pcall(advise, job, options, weight)
    if not ok then
        slurm.log_error("cosched: job_submit.lua: %s", tostring(problem))
    end
    return SUCCESS
end

local function submit(job, partitions)
    local options, typed, environment = requested(job)
    if options then
        return shape(job, partitions, options, typed, environment)
    end
    if enters_shared(job.partition, partitions) then
        return refuse(ESLURM_INVALID_PARTITION_NAME,
                      "partition %s is for jobs that share a node: add " ..
                      "--coschedule, or choose another partition",
                      shared_names())
    end
    return SUCCESS
end

-- Slurm fails open: a run-time error would let the job in unchanged.  So no
-- error leaves these functions, and where it is not certain that a job is none
-- of ours it is refused.
local function fail(what, concerned, problem)
    local sure, ours = pcall(concerned)
    if sure and not ours then
        pcall(slurm.log_error, "cosched: %s: %s", what, tostring(problem))
        return SUCCESS
    end
    pcall(slurm.log_error, "cosched: %s: %s; refused", what, tostring(problem))
    pcall(slurm.log_user, "%s", "--coschedule: not possible at the moment, " ..
          "job_submit.lua failed: " .. tostring(problem) .. "; tell your " ..
          "administrator, or submit without --coschedule")
    return ERROR
end

function slurm_job_submit(job, partitions, uid)
    local ok, result = pcall(submit, job, partitions)
    if ok and type(result) == "number" then
        return result
    end
    return fail("slurm_job_submit", function()
        return requested(job) ~= nil or
               enters_shared(job.partition, partitions)
    end, result)
end

-- Later changes would leave a job unshaped, in or outside of the partition.
local function modify(job, record)
    local ours = names_shared(record.partition or "")
    local inside, outside = count_shared(job.partition or "")
    if (ours and outside or inside) > 0 then
        return refuse(ESLURM_INVALID_PARTITION_NAME,
                      "partition %s is for jobs that share a node, which is " ..
                      "decided at submission", shared_names())
    elseif not ours then
        return SUCCESS
    elseif job.shared and job.shared ~= NO_VAL16 then
        return refuse(ESLURM_NOT_SUPPORTED, "OverSubscribe: jobs of " ..
                      "partition %s share their node", record.partition)
    elseif job.min_nodes and job.min_nodes ~= NO_VAL and
        site.max_nodes and job.min_nodes > site.max_nodes then
        return refuse(ESLURM_INVALID_NODE_COUNT,
                      "--coschedule: %d nodes asked, at most %d possible",
                      job.min_nodes, site.max_nodes)
    elseif job.qos then
        local options = (record.admin_comment or ""):gsub(" ", ",")
        local _, why = weight_of(job, options, options)
        return why and refuse(ESLURM_NOT_SUPPORTED, "%s; it was decided at " ..
                              "submission", why) or SUCCESS
    end
    return SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
    if uid == 0 then
        return SUCCESS
    end
    local ok, result = pcall(modify, job, record)
    if ok and type(result) == "number" then
        return result
    end
    return fail("slurm_job_modify", function()
        return job.partition ~= nil or names_shared(record.partition or "")
    end, result)
end

return SUCCESS
