# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside a machine with two NUMA nodes of two cores: the threads of a pinned job
# run where their data are, lose that with their cores, find back to it, and are
# let go when the agent is killed; threads of a cooperative job begin there.
# usage: inside-mapping.sh BUILD

BUILD=$1
. "$(dirname "$0")/inside-tap.sh"
work=$(mktemp -d /run/numa.XXXXXX)
export COSCHED_SOCKET=$work/socket

# Debian's 3 keeps perf events from all without CAP_SYS_ADMIN, which the agent gives up.
echo 2 >/proc/sys/kernel/perf_event_paranoid
"$BUILD/coschedd" --foreground --no-slurm --auth peer --socket "$COSCHED_SOCKET" \
    --state "$work/state" --set attach_timeout=1s --set lease=60s --set policy=equal \
    --set 'policy_options=mapping:critical' >>"$work/agent.log" 2>&1 &
agent=$!
answers() {
    kill -0 "$agent" 2>/dev/null || { echo "never: the agent has ended"; return; }
    "$BUILD/coschedctl" ping >/dev/null 2>&1 && echo yes
}
# What the agent knows of threads, and from what.
source_of() {
    "$BUILD/coschedctl" counters 2>/dev/null |
        sed -n '/^The agent/,/^$/s/^  threads *\([^;]*\).*/\1/p'
}

# start JOB NODE...
start() {
    local job=$1
    shift
    "$BUILD/coschedctl" run --job "$job" --libgomp "$work" -- nice -n 10 "$look" work "$@" \
        >"$work/job.$job" 2>&1 &
    runner[job]=$!
}
# The CPUs of all threads of job 1 that have data, by their nodes: "0:0-1 0:0-1 1:2-3".
homes() {
    local tid node cpus
    while read -r tid node; do
        cpus=$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$tid/status" 2>/dev/null)
        echo "$node:$cpus"
    done < <(grep -E '^[0-9]+ [0-9]+$' "$work/job.1") | sort | tr '\n' ' '
}

until_is "the agent answers" yes answers
until_is "the agent has first touches" "yes     page faults: first touches" source_of
start 1 1 1 0 0
until_is "its threads run where their data are" "0:0-1 0:0-1 1:2-3 1:2-3 " homes
start 2 0 0
until_is "with one node left they share that" yes eval \
    'case $(homes) in "0:0-1 0:0-1 1:0-1 1:0-1 "|"0:2-3 0:2-3 1:2-3 1:2-3 ") echo yes ;; esac'
kill "${runner[2]}"
until_is "with all cores again they find back" "0:0-1 0:0-1 1:2-3 1:2-3 " homes
until_is "it is explained" yes eval \
    '"$BUILD/coschedctl" explain 1 | grep -q "to NUMA node 1: of" && echo yes'
kill "${runner[1]}"
wait "${runner[1]}" "${runner[2]}"

# Each of its threads begins its regions mostly on a CPU of these nodes, thread 1 to 3.
begin_at() {
    local cpus
    read -ra cpus < <(grep -E '^([0-9]+ ){8}$' "$work/job.3" | tail -n 1)
    [ ${#cpus[@]} -eq 8 ] && echo $((cpus[5] / 2)) $((cpus[6] / 2)) $((cpus[7] / 2))
}
mkfifo "$work/never"
exec 9<>"$work/never"
# The emulator's CPUs are those of this machine, which has fewer.
for mode in donor kthread; do
    OMP_NUM_THREADS=4 COSCHED_MODE=$mode COSCHED_TEST=no_lease "$BUILD/coschedctl" run --job 3 \
        --libgomp "$BUILD/libgomp-coop/lib-coop" -- \
        "$BUILD/tests/libgomp-coop/probe_data" data <&9 >"$work/job.3" 2>&1 &
    runner[3]=$!
    until_is "$mode: threads of a cooperative job begin where their data are" "1 0 1" begin_at
    start 4 0 0
    until_is "$mode: with one node left all begin there" yes eval \
        'case $(begin_at) in "0 0 0"|"1 1 1") echo yes ;; esac'
    kill "${runner[4]}"
    until_is "$mode: with all cores again they find back, too" "1 0 1" begin_at
    until_is "$mode: that is explained, too" yes eval \
        '"$BUILD/coschedctl" explain 3 | grep -q "tasks mapped to NUMA nodes" && echo yes'
    kill "${runner[3]}"
    wait "${runner[3]}" "${runner[4]}"
done
start 1 1 1 0 0
until_is "its threads run where their data are, before the end" "0:0-1 0:0-1 1:2-3 1:2-3 " homes
[ $failures -eq 0 ] || "$BUILD/coschedctl" explain | tail -n 40 | sed 's/^/# /'
kill -9 "$agent"
wait "$agent" 2>/dev/null
until_is "the agent was killed: they may run anywhere" "0:0-3 0:0-3 1:0-3 1:0-3 " homes
kill "${runner[1]}"
wait
[ $failures -eq 0 ] || sed 's/^/# /' "$work/agent.log" "$work"/job.*
finish
