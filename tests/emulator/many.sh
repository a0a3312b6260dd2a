# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside the machine, for check-many: runs the programs of DIR, each under a toggler of its own,
# which changes its allotment at random.  DIR/list has lines NAME PERIOD SETTING...  Prints
# `NAME STATUS`; what a program said, and the state and cores of one that stalls, go to OUT.
# usage: many.sh BUILD DIR OUT

build=$1 dir=$2 out=$3
limit=600               # tenths of a virtual second
cd "$dir" || exit
ulimit -c unlimited
echo "$out/core.%e.%p" >/proc/sys/kernel/core_pattern

# states PID: what its threads do.
states() {
    for task in /proc/"$1"/task/*; do
        echo "$(cat $task/comm) $(cut -d ' ' -f 3,14,15 $task/stat) $(cat $task/wchan) |" \
            "$(cat $task/syscall) $(grep Cpus_allowed_list $task/status)"
    done
}

# one NAME PERIOD SETTING...
one() {
    local name=$1 socket=/run/$1.sock pid toggler tenths
    "$build/tests/libgomp-coop/toggler" --socket $socket --period-us $2 >/run/$name.toggler &
    toggler=$!
    until grep -q ready /run/$name.toggler; do sleep 0.01; done
    shift 2
    env "$@" COSCHED_SOCKET=$socket COSCHED_JOB=1 LD_LIBRARY_PATH="$build/libgomp-coop/lib-coop" \
        "./$name" >"$out/$name.said" 2>&1 &
    pid=$!
    for ((tenths = 0; tenths < limit; tenths++)); do
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    if kill -0 $pid 2>/dev/null; then
        states $pid >"$out/$name.stalled"
        kill -QUIT $pid
    fi
    wait $pid
    echo "$name $?"
    kill $toggler
    wait $toggler
}

while read -r name period settings; do
    one $name $period $settings </dev/null
done <list
exit 0
