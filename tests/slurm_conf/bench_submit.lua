-- SPDX-License-Identifier: GPL-2.0-or-later
-- Copyright (C) 2026 The coschedule developers
-- Microseconds of CPU time that a submission spends in job_submit.lua.
-- Arguments: job_submit.lua, folder of this file, folder that coschedhistory
-- wrote, number of running jobs, of programs known.

local script, here, history = arg[1], arg[2], arg[3]
local running, known = tonumber(arg[4]), tonumber(arg[5])
local stub = dofile(here .. "/slurm_stub.lua")
local ROUNDS, REPEATS = 500, 9

stub.load(script, { history = string.format("%q", history) })
for i = 1, running do
    slurm.jobs[tostring(i)] = {
        job_id = i, partition = "cosched", job_state = 1, user_id = 1000,
        nodes = "n" .. i % 1000, admin_comment = "cosched-job/1 class=memory" }
end
local times = {}
for round = 1, REPEATS do
    local jobs = {}
    for i = 1, ROUNDS do
        jobs[i] = stub.job("", { name = "many" .. i * 7919 % known,
                                 user_id = 1000 })
    end
    collectgarbage()
    local begin = os.clock()
    for i = 1, ROUNDS do
        assert(slurm_job_submit(jobs[i], stub.partitions, 1000) == 0)
    end
    times[round] = (os.clock() - begin) / ROUNDS * 1e6
    assert(jobs[1].admin_comment, "nothing was found")
    assert(jobs[1].prefer, "no partner was found")
end
table.sort(times)
print(string.format("%.3f", times[math.ceil(REPEATS / 2)]))
