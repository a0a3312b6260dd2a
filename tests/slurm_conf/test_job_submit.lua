-- SPDX-License-Identifier: GPL-2.0-or-later
-- Copyright (C) 2026 The coschedule developers
-- job_submit.lua without Slurm: weights, what earlier runs tell, partners, and an
-- error at each place where one can be.
-- Arguments: job_submit.lua, folder of this file, folder that coschedhistory
-- wrote (test_job_submit.py).

local script, here, history = arg[1], arg[2], arg[3]
local stub = dofile(here .. "/slurm_stub.lua")
local OFF = { history = "nil" }
local ON = { history = string.format("%q", history) }

local function equal(is, want, what)
    if is ~= want then
        error(string.format("%s: is %s, not %s", what, tostring(is),
                            tostring(want)), 2)
    end
end

local function has(text, word)
    if not tostring(text):find(word, 1, true) then
        error(string.format("no %q in %q", word, tostring(text)), 2)
    end
end

local function shaped(job)
    return job.partition == "cosched" and job.shared == 0 and
           job.min_nodes == 1 and job.max_nodes == 1
end

local function copy(rules, more)
    local result = {}
    for key, value in pairs(rules) do result[key] = value end
    for key, value in pairs(more) do result[key] = value end
    return result
end

local tests = {}

function tests.plain()
    stub.load(script, OFF)
    local job = stub.job("(null)")
    equal(stub.submit(job), 0, "result")
    assert(shaped(job))
    equal(job.admin_comment, nil, "nothing is known")
    equal(job.prefer, nil, "nothing is wished")
    job = stub.job(nil)
    equal(stub.submit(job), 0, "an ordinary job")
    equal(job.shared, 65534, "is left alone")
    equal(stub.submit(stub.job(nil, { partition = "normal,cosched" })), 2000,
          "kept out")
end

function tests.nodes()
    stub.load(script, copy(OFF, { max_nodes = "3" }))
    local job = stub.job("", { min_nodes = 2, max_nodes = 2 })
    equal(stub.submit(job), 0, "two nodes")
    equal(job.min_nodes .. " " .. job.max_nodes, "2 2", "stay two")
    job = stub.job("", { num_tasks = 5 })
    equal(stub.submit(job), 0, "tasks")
    equal(job.min_nodes .. " " .. job.max_nodes, "1 3", "as they fit")
    equal(stub.submit(stub.job("", { min_nodes = 4 })), 2006, "four")
end

function tests.several_partitions()
    stub.load(script, copy(OFF, { partitions = '{ "cosched", "long" }' }))
    stub.partitions.long = { def_mem_per_node = 50 }
    for _, case in ipairs({ { nil, "cosched" }, { "cosched", "cosched" },
                            { "long", "long" }, { "long,cosched", "long,cosched" } }) do
        local job = stub.job("", { partition = case[1] })
        equal(stub.submit(job), 0, case[1])
        equal(job.partition, case[2], "partition")
        equal(job.shared, 0, "shared")
    end
    for _, list in ipairs({ "normal", "long,normal", "normal,cosched" }) do
        local job = stub.job("", { partition = list })
        local result, said = stub.submit(job)
        equal(result, 2000, list)
        has(said, "run in partition cosched or long, not in " .. list)
        equal(job.shared, 65534, "not touched")
    end
    local _, said = stub.submit(stub.job("", {
        partition = "normal", environment = { SBATCH_PARTITION = "normal" } }))
    has(said, "SBATCH_PARTITION=normal in the environment")
    for _, list in ipairs({ "long", "normal,long" }) do
        equal(stub.submit(stub.job(nil, { partition = list })), 2000, "kept out")
    end
    -- One of those named has no default for memory.
    stub.partitions.long = { def_mem_per_node = 0 }
    local result, words = stub.submit(stub.job("", { partition = "cosched,long" }))
    equal(result, 2044, "memory")
    has(words, "partition long has no default")
    equal(stub.submit(stub.job("", { partition = "cosched" })), 0, "the other has")
    -- A job goes from one shared partition to another, but not out.
    local inside = { partition = "cosched" }
    equal(slurm_job_modify({ partition = "long" }, inside, {}, 1000), 0, "within")
    assert(slurm_job_modify({ partition = "long,normal" }, inside, {}, 1000) ~= 0)
    assert(slurm_job_modify({ partition = "long" }, { partition = "normal" }, {}, 1000) ~= 0)
    stub.partitions.long = nil
end

function tests.exclusive()
    stub.load(script, OFF)
    for _, sharing in ipairs({ 0, 2, 3 }) do -- --exclusive, =user, =mcs
        local job = stub.job("", { shared = sharing })
        local result, said = stub.submit(job)
        equal(result, 2036, "exclusive")
        has(said, "--exclusive does not")
        equal(job.partition, nil, "not touched")
        equal(stub.submit(stub.job(nil, { shared = sharing })), 0, "others")
    end
    equal(stub.submit(stub.job("", { shared = 1 })), 0, "oversubscribe")
end

-- All CPUs of the node, but only the GPUs that were asked for.
function tests.gpus()
    stub.load(script, OFF)
    stub.partitions.cosched.total_cpus, stub.partitions.cosched.total_nodes = 128, 2
    for _, case in ipairs({
        { { tres_per_node = "gres:gpu:1" }, nil },
        { { tres_per_job = "gres:gpu:1", num_tasks = 4 }, 16 },
        { { tres_per_task = "gres:gpu:1", num_tasks = 1 }, 64 },
        { { tres_per_socket = "gpu", num_tasks = 4, min_nodes = 2 }, 32 },
        { { tres_per_node = "gpu", num_tasks = 4, cpus_per_task = 3 }, 3 },
        { { tres_per_task = "cpu:3,gres/gpu:1", num_tasks = 4, cpus_per_task = 3 }, 3 },
    }) do
        local job = stub.job("", case[1])
        equal(stub.submit(job), 0, "gpus")
        equal(job.pn_min_cpus, 64, "CPUs of a node")
        equal(job.shared, 65534, "not exclusive")
        equal(job.cpus_per_task, case[2], "CPUs of a task")
    end
    for _, cpus in ipairs({ "cpu:1", "cpu=1" }) do
        local job = stub.job("", { tres_per_task = cpus, num_tasks = 1, cpus_per_task = 1 })
        equal(stub.submit(job), 0, "no GPUs")
        equal(job.shared, 0, "all CPUs")
    end
    stub.partitions.cosched.total_cpus = 129
    local job = stub.job("", { tres_per_node = "gpu:1" })
    local result, said = stub.submit(job)
    equal(result, 2036, "nodes that differ")
    has(said, "node_cpus in job_submit.lua")
    equal(job.partition, nil, "not touched")
    stub.load(script, copy(OFF, { node_cpus = "48" }))
    job = stub.job("")
    equal(stub.submit(job), 0, "by the site's rule")
    equal(job.pn_min_cpus, 48, "without GPUs as well")
    equal(job.shared, 65534, "so that it leaves them")
    stub.partitions.cosched.total_cpus, stub.partitions.cosched.total_nodes = nil, nil
end

function tests.weights()
    stub.load(script, copy(OFF, { weights = "{ high = 4, low = 0.5 }" }))
    for _, case in ipairs({
        { "", "high", "4" }, { "", "low", "0.5" }, { "", nil, "1" },
        { "weight=2", "high", "2" }, { "equal,weight=4,ults=2", "high", "4" },
        { "weight=0.1", "low", "0.1" }, { "weight=0.3", "normal", "0.3" },
    }) do
        local job = stub.job(case[1], { qos = case[2] })
        equal(stub.submit(job), 0, case[1])
        equal(job.admin_comment, "cosched-job/1 weight=" .. case[3], case[1])
    end
    for _, case in ipairs({
        { "weight=4.1", "high", "weight=4.1: QOS high allows 4 at most" },
        { "weight=1", "low", "QOS low allows 0.5" },
        { "weight=2", "other", "QOS other allows 1" },
        { "weight=2", nil, "the default QOS allows 1" },
        { "weight=1.2.3", "high", "weight=1.2.3" },
    }) do
        local job = stub.job(case[1], { qos = case[2] })
        local result, said = stub.submit(job)
        assert(result ~= 0, case[1])
        has(said, case[3])
        equal(job.partition, nil, "not touched")
    end
    -- Defaults of the environment come in another entry.
    local job = stub.job("", { qos = "high" })
    job.spank_job_env[1] = "COSCHEDULE=weight=3"
    job.spank_job_env_size = 2
    equal(stub.submit(job), 0, "environment")
    has(job.admin_comment, "weight=3")
    -- One that is too great is named by where it is from.
    for _, case in ipairs({
        { "weight=9", "weight=9", "ults=2,weight=2",
          "--coschedule=weight=9: QOS high" },
        { "", "weight=9", "weight=9",
          "COSCHED_WEIGHT=9 in the environment: QOS high" },
        { "equal", "equal,weight=9", "ults=2",
          "weight=9 of the site's defaults: QOS high" },
        { "", "weight=9", nil, "weight=9 of the site's defaults" },
    }) do
        job = stub.job(case[1], { qos = "high" })
        job.spank_job_env[1] = "COSCHEDULE=" .. case[2]
        job.spank_job_env[2] = case[3] and "COSCHEDULE_ENVIRONMENT=" .. case[3]
        job.spank_job_env_size = case[3] and 3 or 2
        local result, said = stub.submit(job)
        equal(result, 2036, case[4])
        has(said, case[4])
    end
    stub.load(script, copy(OFF, { weights =
        "function(job) return job.priority / 1000 end" }))
    job = stub.job("", { priority = 2500 })
    equal(stub.submit(job), 0, "by priority")
    has(job.admin_comment, "weight=2.5")
    stub.load(script, OFF) -- no rules: nobody may have more than others
    job = stub.job("weight=0.5")
    equal(stub.submit(job), 0, "less")
    has(job.admin_comment, "weight=0.5")
    equal(stub.submit(stub.job("weight=1.5")), 2036, "more")
end

function tests.history()
    stub.load(script, ON)
    for _, case in ipairs({
        { { name = "cg run" }, "program=cg class=memory" },
        { { name = "cg/run" }, "program=cg class=memory" }, -- the same name
        { { name = "x", script = "#!/bin/sh\n/opt/bin/ep --class C\n" },
          "program=ep class=compute" },
        { { name = "x", script = "#!/bin/sh\n#/opt/cg\nsrun ep\n" },
          "program=ep class=compute" },
        { { name = "x", script = "#!/bin/sh\n. /etc/cg\n./other; ./ep\n" },
          "program=ep class=compute" },
        { { name = "x", script = false, argv = { [0] = "./ep" } },
          "program=ep class=compute" },
        { { name = false, script = "./ep" }, "program=ep class=compute" },
    }) do
        local job = stub.job("", case[1])
        job.script = job.script or nil
        job.name = job.name or nil
        equal(stub.submit(job), 0, case[2])
        assert(shaped(job))
        has(job.admin_comment, "cosched-job/1 runs=3 " .. case[2])
        equal(#stub.logged, 0, tostring(stub.logged[1]))
    end
    for _, fields in ipairs({
        { name = "unheard of" }, { name = "cg run", user_id = 1001 },
        { name = "" }, { name = "@cg" }, { name = string.rep("x", 5000) },
        { name = "zzz" }, { name = "\t" }, { user_id = 0 },
        { script = "" }, { script = string.rep("./a\n./b ", 10000) },
    }) do
        local job = stub.job("", fields)
        equal(stub.submit(job), 0, "unknown")
        equal(job.admin_comment, nil, "unknown")
        equal(#stub.logged, 0, tostring(stub.logged[1]))
    end
    -- Everybody is found: halving misses none.
    for i = 0, 99 do
        local job = stub.job("", { name = "many" .. i, user_id = 2000 + i })
        equal(stub.submit(job), 0, "many")
        has(job.admin_comment, "runs=1 program=many" .. i)
    end
    -- What an administrator wrote stays.
    local job = stub.job("", { name = "cg run", admin_comment = "mine" })
    equal(stub.submit(job), 0, "comment")
    equal(job.admin_comment, "mine", "comment")
end

function tests.ults()
    stub.load(script, ON)
    local cases = {
        { "", {}, "4" }, { "ults=2", {}, nil },
        { "", { COSCHED_ULTS = "9" }, "9" },
        { "", { OMP_NUM_THREADS = "8" }, nil },
    }
    for _, case in ipairs(cases) do
        local job = stub.job(case[1], { name = "cg run",
                                        environment = case[2] })
        equal(stub.submit(job), 0, "ults")
        equal(job.environment.COSCHED_ULTS, case[3], "ults")
    end
    -- srun and salloc have no environment here: not even looked at.
    local job = stub.job("", { name = "cg run" })
    job.script, job.environment = nil, setmetatable({}, { __index = function()
        error("only for batch jobs")
    end })
    equal(stub.submit(job), 0, "srun")
    equal(#stub.logged, 0, tostring(stub.logged[1]))
end

local function write(name, text)
    local file = assert(io.open(name, "wb"))
    file:write(text)
    file:close()
end

local function partners(age, lines)
    write(history .. "/partners", string.format(
        "cosched-partners/2 time=%d\n%s\n", os.time() - age, lines))
end

function tests.partners()
    local function wish(fields)
        local job = stub.job("", fields)
        equal(stub.submit(job), 0, "partners")
        assert(shaped(job) or fields.min_nodes)
        equal(#stub.logged, 0, tostring(stub.logged[1]))
        return job.prefer
    end
    stub.load(script, ON)
    partners(5, "edges \nidle \nlevel1 f4\nlevel5 f2,f3")
    equal(wish({ name = "cg run" }), "f2|f3", "memory")
    equal(wish({ name = "x", script = "./ep" }), "f4", "compute")
    equal(wish({ name = "unheard of" }), nil, "nothing known")
    for _, said in ipairs({ { req_nodes = "n1" }, { features = "big" },
                            { prefer = "mine" }, { reservation = "r" },
                            { min_nodes = 2, max_nodes = 2 } }) do
        said.name = "cg run"
        equal(wish(said), said.prefer, "the user's wish")
    end
    partners(5, "edges \nidle free\nlevel1 f4\nlevel5 f2,f3")
    equal(wish({ name = "cg run" }), "free|f2|f3", "idle ones as well")
    partners(5, "edges \nidle free\nlevel1 f4\nlevel5 ")
    equal(wish({ name = "cg run" }), nil, "nobody suits")
    -- With a table of the site's machine, by rho (0.5) instead of the class.
    for edges, level in pairs({ ["0.1,0.4,0.6"] = 3, ["0.5"] = 1, ["1e-05,0.49"] = 3 }) do
        partners(5, "edges " .. edges .. "\nidle \nlevel" .. level .. " f" .. level)
        equal(wish({ name = "cg run" }), "f" .. level, edges)
    end
    partners(3600, "edges \nidle free\nlevel5 f2")
    equal(wish({ name = "cg run" }), nil, "old")
    for _, text in ipairs({ "", "x", "cosched-partners/2 time=\nedges \nidle \nlevel5 f2\n",
                            "cosched-partners/1 time=9999999999\nidle \nmemory n2\n",
                            string.rep("\0", 100000) }) do
        write(history .. "/partners", text)
        equal(wish({ name = "cg run" }), nil, "garbage")
    end
    partners(5, "edges \nidle free\nlevel5 f2")
    stub.load(script, copy(ON, { pack = "true" }))
    equal(wish({ name = "cg run" }), "f2", "packed")
    stub.load(script, copy(ON, { partners = "false" }))
    equal(wish({ name = "cg run" }), nil, "switched off")
end

-- Files that are not as they should be: the job is as without them.
function tests.garbage()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    stub.load(script, { history = string.format("%q", folder) })
    local function try(what)
        local job = stub.job("", { name = "cg run" })
        equal(stub.submit(job), 0, what)
        assert(shaped(job), what)
        equal(job.admin_comment, nil, what)
    end
    try("no file")
    local line = string.format("%-63s\n", "1000 a\truns=1")
    for what, text in pairs({
        ["empty"] = "", ["zeros"] = string.rep("\0", 10000),
        ["no lines"] = "cosched-programs/1 width=64 count=1000\n",
        ["huge"] = "cosched-programs/1 width=999999999999 count=1e9\n" .. line,
        ["narrow"] = "cosched-programs/1 width=1 count=5\n" .. line,
        ["another"] = "cosched-programs/2 width=64 count=1\n" .. line,
        ["long text"] = string.rep("x", 100000),
        ["quotes"] = string.format("%-63s\n%-63s\n",
            "cosched-programs/1 width=64 count=1", "1000 cg_run\truns=\"1|"),
    }) do
        write(folder .. "/programs", text)
        try(what)
    end
    os.remove(folder .. "/programs")
    assert(os.execute("mkdir " .. folder .. "/programs"))
    try("a directory")
    os.execute("rmdir " .. folder .. "/programs " .. folder)
end

-- JOB behind a table whose access number N (reads or writes of fields) fails.
local function failing(job, n, kinds)
    local count = 0
    local function step(kind)
        count = count + 1
        if kinds[kind] and count == n then
            error("access " .. n)
        end
    end
    return setmetatable({}, {
        __index = function(_, key)
            step("read")
            return job[key]
        end,
        __newindex = function(_, key, value)
            step("write")
            job[key] = value
        end,
    }), function() return count end
end

-- Whatever goes wrong, no job is where it must not be without its shape.
function tests.failing()
    partners(5, "edges \nidle \nlevel5 f2,f3")
    local rules = copy(ON, { weights = "{ high = 4 }" })
    for _, case in ipairs({
        { "weight=2", { name = "cg run", qos = "high" } },
        { nil, { partition = "cosched" } },
        { nil, { partition = "normal,cosched" } },
    }) do
        local total
        for n = 1, 1000 do
            stub.load(script, rules)
            local job = stub.job(case[1], case[2])
            local front, count = failing(job, n, { read = true, write = true })
            local result = stub.submit(front)
            equal(type(result), "number", "result")
            assert(result ~= 0 or shaped(job), "let in unshaped at " .. n)
            if count() < n then
                total = n
                break
            end
        end
        assert(total and total > 2, "accesses were not counted")
        assert(case[1] == nil or total > 20, "not all was accessed")
    end
    -- An ordinary job passes when the script fails after having seen that.
    stub.load(script, rules)
    local job = stub.job(nil, { partition = "normal" })
    equal(stub.submit(job), 0, "an ordinary job")
    -- Not even a message can be sent.
    stub.load(script, rules)
    slurm.log_user = function() error("no log_user") end
    slurm.log_error = function() error("no log_error") end
    assert(slurm_job_submit(stub.job(nil, { partition = "cosched" }),
                            stub.partitions, 1000) ~= 0)
    assert(slurm_job_submit(failing(stub.job(""), 1, { read = true }),
                            stub.partitions, 1000) ~= 0)
    stub.load(script, rules)
    equal(type(slurm_job_submit(nil, nil, nil)), "number", "no job")
    assert(slurm_job_submit(nil, nil, nil) ~= 0)
end

function tests.modify()
    stub.load(script, copy(OFF, { weights = "{ high = 4 }",
                                   max_nodes = "2" }))
    local inside = { partition = "cosched",
                     admin_comment = "cosched-job/1 weight=2 runs=3" }
    for _, case in ipairs({
        { { partition = "normal" }, inside }, { { shared = 1 }, inside },
        { { partition = "cosched" }, { partition = "normal" } },
        { { min_nodes = 3 }, inside }, { { qos = "normal" }, inside },
        { { partition = "normal,cosched" }, { partition = "normal" } },
    }) do
        assert(slurm_job_modify(case[1], case[2], {}, 1000) ~= 0)
        equal(slurm_job_modify(case[1], case[2], {}, 0), 0, "root may")
    end
    for _, case in ipairs({
        { { comment = "x", shared = 65534, min_nodes = 4294967294 }, inside },
        { { qos = "high" }, inside }, { { partition = "cosched" }, inside },
        { { partition = "other" }, { partition = "normal" } },
        { { shared = 0 }, { partition = "normal" } },
    }) do
        equal(slurm_job_modify(case[1], case[2], {}, 1000), 0, "allowed")
    end
    for n = 1, 30 do
        local front = failing({ partition = "cosched" }, n, { read = true })
        assert(slurm_job_modify(front, { partition = "normal" }, {}, 1) ~= 0)
        front = failing(inside, n, { read = true })
        assert(slurm_job_modify({ shared = 1 }, front, {}, 1) ~= 0)
    end
end

local failed = 0
for name, test in pairs(tests) do
    local ok, problem = xpcall(test, debug.traceback)
    print((ok and "ok    " or "FAIL  ") .. name .. (ok and "" or ": " ..
          tostring(problem)))
    failed = failed + (ok and 0 or 1)
end
os.exit(failed == 0 and 0 or 1)
