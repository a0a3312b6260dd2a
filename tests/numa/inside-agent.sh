# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside a machine of four sockets with two cores each: two jobs get whole CPU
# nodes, cooperative ones follow, others are held.
# usage: inside-agent.sh BUILD

BUILD=$1
. "$(dirname "$0")/inside-tap.sh"
work=$(mktemp -d /run/numa.XXXXXX)
socket=$work/socket
export COSCHED_SOCKET=$socket

agent() {
    "$BUILD/coschedd" --foreground --no-slurm --auth peer --socket "$socket" \
        --state "$work/state" --set attach_timeout=5s --set lease=10s \
        >"$work/agent.log" 2>&1 &
    agent=$!
}
answers() { "$BUILD/coschedctl" status >/dev/null 2>&1 && echo yes; }

# start JOB PROGRAM...
start() {
    local job=$1
    shift
    "$BUILD/coschedctl" run --job "$job" --libgomp "$work" -- "$@" \
        >"$work/job.$job" 2>&1 &
    eval "job_$job=$!"
}
# The program that `coschedctl run` PID started.
child() { tr -d ' ' <"/proc/$1/task/$1/children"; }
cpus_of() { sed -n 's/^cpus //p' "$work/job.$1" | tail -n 1; }

# Both allotments of jobs A and B: "whole" when each is made of whole CPU nodes
# (CPUs 2n and 2n+1), four each, and none in both.
verdict() {
    local c list
    for list in "$1" "$2"; do
        set -- $(as_numbers "$list")
        [ $# -eq 4 ] || { echo "$# CPUs: $list"; return; }
        while [ $# -gt 0 ]; do
            [ $(($1 % 2)) -eq 0 ] && [ "$2" -eq $(($1 + 1)) ] ||
                { echo "halves a CPU node: $list"; return; }
            shift 2
        done
    done
    echo whole
}
split() {
    local a b both
    a=$(cpus_of "$1") b=$(cpus_of "$2")
    both=$(as_numbers "$a,$b" | tr ' ' '\n' | sort -u | wc -l)
    [ "$both" -eq 8 ] || { echo "$both CPUs in all: $a and $b"; return; }
    verdict "$a" "$b"
}
# Affinity of all threads of process PID, each different one once.
held_to() {
    sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$1/task/*/status \
        2>/dev/null | sort -u
}
complement() {
    local c rest=
    for c in 0 1 2 3 4 5 6 7; do
        case " $1 " in *" $c "*) ;; *) rest="$rest $c" ;; esac
    done
    echo $rest
}
# Where the threads of the program are that PID runs, and where the first job is
# not: "apart" when these are the same.
rigid_is() {
    local threads rest
    threads=$(as_numbers "$(held_to "$(child "$1")" | tr '\n' ',')")
    rest=$(complement "$(as_numbers "$(cpus_of 1)")")
    if [ -n "$rest" ] && [ "$threads" = "$rest" ]; then
        echo apart
    else
        echo "threads on $threads, the first job leaves $rest"
    fi
}

agent
until_is "the agent answers" yes answers
start 1 "$BUILD/tests/node_agent/fake_job" "$socket" 1 rate=1000
until_is "one job has the machine" 0-7 cpus_of 1
start 2 "$BUILD/tests/node_agent/fake_job" "$socket" 2 rate=1000
until_is "two jobs have four CPUs each, in whole CPU nodes" whole split 1 2
is "the first one's affinity is its allotment" "$(held_to "$(child "$job_1")")" \
    "$(cpus_of 1)"
kill "$job_2"
until_is "the second one has ended; the first has all" 0-7 cpus_of 1

start 3 "$BUILD/jobs/rigid" --class B --threads 8
until_is "a rigid job's 8 threads are held, apart from the first job" apart \
    rigid_is "$job_3"
is "these are all its threads" "$(ls "/proc/$(child "$job_3")/task" | wc -l)" 9
kill "$job_3"
until_is "it has ended; the first has all" 0-7 cpus_of 1

kill -9 "$agent"
until_is "the agent was killed, and the job knows" lost \
    sed -n '$p' "$work/job.1"
agent
until_is "a new agent answers" yes answers
until_is "the job has attached again" 0-7 cpus_of 1
kill "$job_1" "$agent"
wait
[ $failures -eq 0 ] || sed 's/^/# /' "$work/agent.log"
finish
