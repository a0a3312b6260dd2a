# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside the machine: runs jobs in the ways of `evaluate`, one after the other, and says when each
# job began and ended: `job NUMBER BEGIN END STATUS`, what processor time the agent had beside them:
# `agent SECONDS`, and when a way has ended: `done NUMBER STATUS`.
# Jobs are commands of BUILD.  usage: mix.sh BUILD WAY JOB... [-- WAY JOB...]...
# RECORD=DIR: what the agent counts and decides goes there.

build=$1
cd "$build" || exit
shift
export COSCHED_SOCKET=/run/coschedd.sock

# one NUMBER PREFIX...: the job, as it is or behind a command.
one() {
    local number=$1 begin=$EPOCHREALTIME status
    shift
    $pages "$@" ${jobs[number]} >"${TMPDIR:-/tmp}/job.$number" 2>&1
    status=$?
    echo "job $number $begin $EPOCHREALTIME $status"
    [ $status = 0 ] || tail -n 3 "${TMPDIR:-/tmp}/job.$number" >&2
}
# all PREFIX...: all jobs at once.
all() {
    local pids=() i
    for i in "${!jobs[@]}"; do
        one "$i" "$@" &
        pids+=($!)
    done
    wait "${pids[@]}"
}

# taken COMMAND...: the seconds that it takes.
taken() {
    local begin=$EPOCHREALTIME
    "$@" >"${TMPDIR:-/tmp}/once" || return
    awk "BEGIN { print $EPOCHREALTIME - $begin }"
}

# start_agent SETTINGS
start_agent() {
    "$build/coschedd" --foreground --no-slurm --auth peer --socket $COSCHED_SOCKET \
        --state /run/coschedd.state --machine /etc/emulated-machine.json --counters emulated \
        --set $1 2>/run/coschedd.log &
    agent=$!
    until "$build/coschedctl" ping >/dev/null 2>&1; do
        kill -0 $agent || { cat /run/coschedd.log >&2; exit 1; }
        sleep 0.02
    done
    agent_began=$(agent_s)
}
agent_s() {
    awk '{ ns += $1 } END { printf "%.6f\n", ns / 1e9 }' /proc/$agent/task/*/schedstat
}
end_agent() {
    echo "agent $(agent_s) $agent_began" | awk '{ print $1, $2 - $3 }'
    kill $agent
    wait $agent
}
# record NAME: what the agent counts and decides, into directory RECORD/NAME.
record() {
    "$build/coschedctl" record "$RECORD/$1" >/dev/null || exit
}

# Stock libgomp counts to 300000 before a thread that waits sleeps: 12.5 times as long here as on
# the described core, while the kernel's slices are the same.
stock="env GOMP_SPINCOUNT=24000"
pages=

run_way() {
    case $way in
    interleaved-*) # WAY, with the jobs' pages on all nodes in turn
        pages="$build/emulator/validate/probe interleave" way=${way#interleaved-} ;;
    esac
    [ "$way" != recorded ] || way=corun
    case $way in
    native) all $stock ;;
    passive) all env OMP_WAIT_POLICY=passive ;;
    batch)
        for i in "${!jobs[@]}"; do one "$i" $stock; done ;;
    static|spread*) # the same number of CPUs for each: side by side, or of each NUMA node as many;
        # spreadN: two jobs, N of four CPUs for the first
        cpus=$(nproc) count=${#jobs[@]} pids=()
        for i in "${!jobs[@]}"; do
            case $way in
            static) list=$((cpus * i / count))-$((cpus * (i + 1) / count - 1)) ;;
            spread) list=$i-$((cpus - 1)):$count ;;
            *) list=$(awk "BEGIN { for (c = 0; c < $cpus; c++)
                if ((c % 4 < ${way#spread}) == !$i) printf \"%d,\", c }")$((i ? cpus - 1 : 0)) ;;
            esac
            one "$i" $stock taskset -c "$list" & # OpenMP takes as many threads
            pids+=($!)
        done
        wait "${pids[@]}" ;;
    size) # a job so often that it takes SECONDS, its start included: `repeat N`
        seconds=${jobs[1]} program=${jobs[0]}
        once=$(taken $program --repeat 1) && thrice=$(taken $program --repeat 3) || exit
        n=$(awk "BEGIN { each = ($thrice - $once) / 2
            n = each > 0 ? 1 + ($seconds - $once) / each : 1
            print n < 1 ? 1 : int(n + 0.5) }")
        echo "repeat $n"
        jobs=("$program --repeat $n")
        one 0 env ;;
    curve) # a job under the agent on the first 1/4, 2/4, 3/4 and all of the CPUs, recorded; its
        # pages on all nodes, so that the same is asked of memory on each number of CPUs
        start_agent policy=equal
        jobs=("${jobs[0]}" "${jobs[0]}" "${jobs[0]}" "${jobs[0]}")
        for quarter in 0 1 2 3; do
            record $quarter
            one $quarter "$build/emulator/validate/probe" interleave \
                "$build/coschedctl" run --cpus "0-$(($(nproc) * (quarter + 1) / 4 - 1))" \
                --libgomp "$build/libgomp-coop/lib-coop" --
            "$build/coschedctl" record --stop >/dev/null
        done
        end_agent ;;
    *) # a policy of the agent, settings, variables for its jobs: corun,clean=150ms,COSCHED_ULTS=2
        local word settings=
        for word in ${way//,/ }; do
            case $word in
            [A-Z]*) export "${word?}" ;;
            *) settings+=" --set $word" ;;
            esac
        done
        start_agent "${settings/ --set /policy=}"
        [ -z "$RECORD" ] || record shared # way `recorded`
        all "$build/coschedctl" run --libgomp "$build/libgomp-coop/lib-coop" --
        end_agent
        grep -o 'cosched/1 .*' /run/coschedd.log ;;
    esac
    return 0
}

for ((number = 0; $#; number++)); do
    way=$1 jobs=()
    while shift && [ $# != 0 ] && [ "$1" != -- ]; do jobs+=("$1"); done
    (run_way)
    echo "done $number $?"
    [ $# = 0 ] || shift
done
