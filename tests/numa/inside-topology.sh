# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside the machine: does the agent see it as the kernel does, and does memory
# go where it is bound to?  usage: inside-topology.sh BUILD

BUILD=$1
. "$(dirname "$0")/inside-tap.sh"
nodes=/sys/devices/system/node

# "cpu C home M package P" of every CPU, by the kernel.  Home is the NUMA node
# of the first CPU behind the same cache, as NUMA nodes may share one.
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
llc_domains() {
    "$look" machine | awk '$1 == "cpu" {
            list[$4] = list[$4] == "" ? $2 : list[$4] "," $2; last = $4 }
        END { for (n = 0; n <= last; n++) print list[n] }'
}
# One line of CPU numbers per line of lists.
spread() {
    while read -r list; do as_numbers "$list"; done | sort
}

# CPU NODE: pages of 4 MiB first touched on CPU that go to NODE.  A node that is full
# of cached files sends them to its neighbours.
touched() {
    echo 1 >/proc/sys/vm/drop_caches
    "$look" touch "$1" 4 | cut -d' ' -f$(($2 + 1))
}

is "NUMA nodes" "$("$look" machine | awk '$1 == "numa_nodes" { print $2 }')" \
    "$(ls -d $nodes/node[0-9]* | wc -l)"
is "home and package of each CPU" \
    "$("$look" machine | sed -n 's/^\(cpu [0-9]*\) node [0-9]* /\1 /p')" \
    "$(from_kernel)"
is "LLC domains are what is behind a last-level cache" \
    "$(llc_domains | spread)" "$(caches | spread)"
is "distances" "$("$look" distances)" "$(cat $nodes/node[0-9]*/distance)"
for node in $(as_numbers "$(cat $nodes/has_memory)"); do
    is "8 MiB bound to node $node" "$("$look" pages $node 8)" 2048/2048
done
for node in $(as_numbers "$(cat $nodes/has_cpu)"); do
    cpu=$(cat $nodes/node$node/cpulist)
    until_is "first touch on CPU ${cpu%%[-,]*} goes to node $node" 1024 \
        touched "${cpu%%[-,]*}" "$node"
done

# A calibration, and where its arrays were: lines "NODE PAGES THERE".
work=$(mktemp -d /run/numa.XXXXXX)
PAGES_LOG=$work/pages LD_PRELOAD=$BUILD/tests/numa/.libs/pages.so \
    "$BUILD/coschedctl" calibrate --quick --size 1 --force --counters none \
    --output "$work/calibrated" 2>"$work/said"
is "calibrate ends well" "$? $(grep -c elsewhere "$work/said")" "0 0"
is "its arrays were bound to each node with memory" \
    "$(cut -d' ' -f1 "$work/pages" | sort -un | xargs)" \
    "$(as_numbers "$(cat $nodes/has_memory)")"
is "all their pages were there" "$(awk '$2 != $3' "$work/pages")" ""
is "it has runs with each" \
    "$(grep -o '"memory": [0-9]*' "$work/calibrated" | sort -u | wc -l)" \
    "$(ls -d $nodes/node[0-9]* | wc -l)"
finish
