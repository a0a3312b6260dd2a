# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside a machine with several LLC domains: jobs get whole ones, cooperative
# programs follow, others are held, and a job survives its agent.
# usage: inside-agent.sh BUILD

BUILD=$1
. "$(dirname "$0")/inside-tap.sh"
work=$(mktemp -d /run/numa.XXXXXX)
socket=$work/socket
export COSCHED_SOCKET=$socket
fake=$BUILD/tests/node_agent/daemon/fake_job

# Limits that a slow machine cannot miss: a job that is late to attach is another
# kind of job, and a lease that ends is a dead agent.
agent() {
    "$BUILD/coschedd" --foreground --no-slurm --auth peer --socket "$socket" \
        --state "$work/state" --set attach_timeout=5s --set lease=60s \
        >>"$work/agent.log" 2>&1 &
    agent=$!
}
answers() {
    if kill -0 "$agent" 2>/dev/null; then
        "$BUILD/coschedctl" ping >/dev/null 2>&1 && echo yes
    else
        echo "never: the agent has ended"
    fi
}

# start JOB PROGRAM...
start() {
    local job=$1
    shift
    "$BUILD/coschedctl" run --job "$job" --libgomp "$work" -- "$@" \
        >"$work/job.$job" 2>&1 &
    runner[job]=$!
}
# The program of job JOB.
program() {
    local pid
    read -r pid _ 2>/dev/null <"/proc/${runner[$1]}/task/${runner[$1]}/children"
    echo "$pid"
}

# What the agent says about all jobs in one answer: list[JOB].
snapshot() {
    local job name user state cores mean attached cpus rest
    list=()
    while read -r job name user state cores mean attached cpus rest; do
        case $job in [0-9]*) list[job]=$cpus ;; esac
    done < <("$BUILD/coschedctl" status 2>/dev/null)
}
cpus_of() {
    snapshot
    echo "${list[$1]-nothing}"
}

# The LLC domain of each CPU: node[CPU]; cpus and nodes are their numbers.
while read -r word c _ n _; do
    [ "$word" = cpu ] && node[c]=$n size[n]=$((${size[n]-0} + 1))
done < <("$look" machine)
cpus=${#node[@]} nodes=${#size[@]}
all=0-$((cpus - 1))

# JOB...: "shared" when they have all CPUs, as many each, and no two the same one.
shared() {
    local job c seen=() has
    snapshot
    for job in "$@"; do
        has=($(as_numbers "${list[job]-}"))
        [ ${#has[@]} -eq $((cpus / $#)) ] ||
            { echo "job $job has ${#has[@]} CPUs: ${list[*]}"; return; }
        for c in "${has[@]}"; do seen[c]=$job; done
    done
    [ ${#seen[@]} -eq "$cpus" ] && echo shared || echo "not all: ${list[*]}"
}

# JOB...: "whole" when they have all CPUs, no two jobs the same one, and each job
# as many LLC domains as the others, of which all CPUs.
whole() {
    local job c n seen=() has
    snapshot
    for job in "$@"; do
        has=()
        for c in $(as_numbers "${list[job]-}"); do
            [ -z "${seen[c]-}" ] || { echo "CPU $c twice: ${list[*]}"; return; }
            seen[c]=$job n=${node[c]}
            has[n]=$((${has[n]-0} + 1))
        done
        [ ${#has[@]} -eq $((nodes / $#)) ] ||
            { echo "job $job has ${#has[@]} LLC domains: ${list[*]}"; return; }
        for n in "${!has[@]}"; do
            [ "${has[n]}" -eq "${size[n]}" ] ||
                { echo "part of LLC domain $n: ${list[*]}"; return; }
        done
    done
    [ ${#seen[@]} -eq "$cpus" ] && echo whole || echo "not all: ${list[*]}"
}

# JOB...: "held" when all threads of the program of each job may run on what it
# has, and it has less than all.  The second look is for what changed meanwhile.
held() {
    local job threads found before
    snapshot
    before="${list[*]}"
    for job in "$@"; do
        threads=$("$look" threads "$(program "$job")" 2>/dev/null)
        found=${threads#* }
        [ "$found" = "${list[job]}" ] && [ "$found" != "$all" ] ||
            { echo "job $job: threads on $found, it has ${list[job]}"; return; }
    done
    snapshot
    [ "${list[*]}" = "$before" ] && echo held || echo "changing: $before"
}
threads_of() {
    local found
    found=$("$look" threads "$(program "$1")" 2>/dev/null)
    echo "${found%% *}"
}
# The CPUs of jobs $1 and $2 are apart.
apart() {
    local c of=()
    snapshot
    for c in $(as_numbers "${list[$1]-}"); do of[c]=1; done
    for c in $(as_numbers "${list[$2]-}"); do
        [ -z "${of[c]-}" ] || { echo "CPU $c twice: ${list[*]}"; return; }
    done
    [ ${#of[@]} -gt 0 ] && echo apart
}

agent
until_is "the agent answers" yes answers
start 1 "$fake" "$socket" 1 rate=1000
until_is "one job has the machine" "$all" cpus_of 1
start 2 "$fake" "$socket" 2 rate=1000
until_is "two jobs divide the machine by LLC domains" whole whole 1 2
until_is "their affinities are their allotments" held held 1 2
if [ $nodes -ge 4 ]; then
    start 3 "$fake" "$socket" 3 rate=1000
    start 4 "$fake" "$socket" 4 rate=1000
    until_is "four jobs have an LLC domain each" whole whole 1 2 3 4
    until_is "their affinities are their allotments" held held 1 2 3 4
    kill "${runner[3]}" "${runner[4]}"
    # Not "whole": whoever grows keeps what he has (model/layout.h).
    until_is "two have ended; two divide the machine" shared shared 1 2
fi
kill "${runner[2]}"
until_is "the second one has ended; the first has all" "$all" cpus_of 1

# With low priority: it leaves time for looking at it.
start 5 nice -n 10 "$BUILD/jobs/pinned" --class B --threads "$cpus" \
    --min-time 86400
until_is "a pinned job has its threads" $((cpus + 1)) threads_of 5
until_is "all of them are held to what it has" held held 5
until_is "that is apart from the first job" apart apart 1 5

kill -9 "$agent"
wait "$agent" 2>/dev/null
until_is "the agent was killed, and the first job knows" lost \
    sed -n '$p' "$work/job.1"
until_is "the pinned job's threads have been let go by the supervisor" \
    "$((cpus + 1)) $all" "$look" threads "$(program 5)"
agent
until_is "a new agent answers" yes answers
until_is "it holds the pinned job" held held 5
until_is "apart from the first, which attached again" apart apart 1 5
kill "${runner[5]}"
until_is "it has ended; the first has all" "$all" cpus_of 1
[ $failures -eq 0 ] || "$BUILD/coschedctl" explain | tail -n 40 | sed 's/^/# /'
kill "${runner[1]}" "$agent"
wait
[ $failures -eq 0 ] || sed 's/^/# /' "$work/agent.log"
finish
