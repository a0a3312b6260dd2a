# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside the machine: does the agent see it as the kernel does, and does memory
# go where it is bound to?  usage: inside-topology.sh BUILD

BUILD=$1
. "$(dirname "$0")/inside-tap.sh"
nodes=/sys/devices/system/node

# "cpu C home M package P" of every CPU, by the kernel.  Home is the memory node
# of the first CPU behind the same cache, as memory nodes may share one.
from_kernel() {
    local c m p
    for c in $(as_numbers "$(cat /sys/devices/system/cpu/online)"); do
        m=$(cat /sys/devices/system/cpu/cpu$c/cache/index3/shared_cpu_list)
        m=$(echo /sys/devices/system/cpu/cpu${m%%[-,]*}/node*)
        p=$(cat /sys/devices/system/cpu/cpu$c/topology/physical_package_id)
        echo "cpu $c home ${m##*/node} package $p"
    done
}

# The CPUs behind each last-level cache, by the kernel and by the agent.
caches() {
    cat /sys/devices/system/cpu/cpu*/cache/index3/shared_cpu_list | sort -u
}
cpu_nodes() {
    "$look" machine | awk '$1 == "cpu" {
            list[$4] = list[$4] == "" ? $2 : list[$4] "," $2; last = $4 }
        END { for (n = 0; n <= last; n++) print list[n] }'
}
# One line of CPU numbers per line of lists.
spread() {
    while read -r list; do as_numbers "$list"; done | sort
}

is "memory nodes" "$("$look" machine | awk '$1 == "mem_nodes" { print $2 }')" \
    "$(ls -d $nodes/node[0-9]* | wc -l)"
is "home and package of each CPU" \
    "$("$look" machine | sed -n 's/^\(cpu [0-9]*\) node [0-9]* /\1 /p')" \
    "$(from_kernel)"
is "CPU nodes are what is behind a last-level cache" \
    "$(cpu_nodes | spread)" "$(caches | spread)"
is "distances" "$("$look" distances)" "$(cat $nodes/node[0-9]*/distance)"
for node in $(as_numbers "$(cat $nodes/has_memory)"); do
    is "8 MiB bound to node $node" "$("$look" pages $node 8)" 2048/2048
done
for node in $(as_numbers "$(cat $nodes/has_cpu)"); do
    cpu=$(cat $nodes/node$node/cpulist)
    is "first touch on CPU ${cpu%%[-,]*} goes to node $node" \
        "$("$look" touch "${cpu%%[-,]*}" 4 | awk -v n=$((node + 1)) \
            '{ print $n }')" 1024
done

# Where the kernel has the arrays of a calibration while it runs: lines "NODE
# PLACES", of what is bound to NODE.
work=$(mktemp -d /run/numa.XXXXXX)
"$BUILD/coschedctl" calibrate --quick --size 1 --force --counters none \
    --output "$work/calibrated" 2>"$work/said" &
calibrate=$!
while maps=$(<"/proc/$calibrate/numa_maps") && [ -n "$maps" ]; do
    printf '%s\n' "$maps" >>"$work/maps"
done 2>/dev/null
wait "$calibrate"
is "calibrate ends well" "$? $(grep -c elsewhere "$work/said")" "0 0"
sed -n 's/.* bind[^ ]*:\([0-9]*\) .*/\1 &/p' "$work/maps" | awk '{
    printf "%s", $1
    for (i = 2; i <= NF; i++) if ($i ~ /^N[0-9]+=/) printf " %s", $i
    print "" }' | sort -u >"$work/bound"
is "its arrays were bound to each node with memory" \
    "$(awk 'NF > 1 { print $1 }' "$work/bound" | sort -un | tr '\n' ' ')" \
    "$(as_numbers "$(cat $nodes/has_memory)" | tr ' ' '\n' | tr '\n' ' ')"
is "and their pages were there" \
    "$(awk '{ for (i = 2; i <= NF; i++)
        if (index($i, "N" $1 "=") != 1) print }' "$work/bound")" ""
is "it has runs with each" \
    "$(grep -o '"memory": [0-9]*' "$work/calibrated" | sort -u | wc -l)" \
    "$(ls -d $nodes/node[0-9]* | wc -l)"
finish
