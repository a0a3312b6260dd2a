# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside a machine with version 2 of cgroups: enforcement by cpuset in a Slurm
# cluster with task/cgroup, ConstrainCores and ConstrainRAMSpace.
# usage: inside-slurm.sh BUILD SOURCE

BUILD=$1
. "$(dirname "$0")/inside-tap.sh"
cluster=$2/slurm_conf/testcluster/cluster
dir=/run/c
out=/run/out
mkdir -p $out

# coschedctl's line about each job: state_of[JOB], list[JOB].
snapshot() {
    local job name user state cores mean attached cpus rest
    list=()
    while read -r job name user state cores mean attached cpus rest; do
        case $job in [0-9]*) list[job]=$cpus ;; esac
    done < <(coschedctl status 2>/dev/null)
}

# program NAME: the pid that the job's program has written to a file.
program() { cat "$out/$1" 2>/dev/null; }

# JOB NAME...: "held" when none of the threads of the program NAME of JOB gets
# out of what the agent says that the job has, which is less than all; and no two
# jobs have the same CPU.  Programs set their affinity all the time, so one look
# is many.
held() {
    local job name found before c allowed used=()
    snapshot
    before="${list[*]}"
    while [ $# -gt 0 ]; do
        job=$1 name=$2
        shift 2
        allowed=" $(as_numbers "${list[job]-}") "
        [ -n "${allowed// /}" ] && [ "${list[job]}" != 0-3 ] ||
            { echo "job $job has ${list[job]-nothing}"; return; }
        for c in $allowed; do
            [ "${used[c]-$job}" = "$job" ] ||
                { echo "CPU $c twice: $before"; return; }
            used[c]=$job
        done
        found=$("$look" threads "$(program "$name")" 2>/dev/null)
        found=${found#* }
        for c in $(as_numbers "${found// /,}"); do
            case $allowed in *" $c "*) ;; *)
                echo "$name: threads on $found, job $job has $before"
                return ;;
            esac
        done
        [ -n "$found" ] || { echo "$name: no program"; return; }
    done
    snapshot
    [ "${list[*]}" = "$before" ] && echo held || echo "changing: $before"
}

# The CPUs of the program NAME's threads, whatever they are.
cpus_of() {
    local found
    found=$("$look" threads "$(program "$1")" 2>/dev/null)
    echo "${found#* }"
}
# Where program NAME is, without what is different each time.
place_of() { sed -n 's,^0::,,p' "/proc/$(program "$1")/cgroup"; }
stepds() { pgrep -x slurmstepd; }
stepds_cpus() {
    local pid
    for pid in $(stepds); do
        "$look" threads "$pid" 2>/dev/null | cut -d' ' -f2-
    done | sort -u
}
submit() { sbatch --parsable --output=$out/%j.log --coschedule "$@"; }
# What became of the program that takes too much memory: Slurm may have ended its
# job with it.
fate() {
    if [ "$(cat $out/greedy 2>/dev/null)" = 137 ] ||
        [ "$(sacct -nXP -j "$1" -o state)" = OUT_OF_MEMORY ]; then
        echo killed
    fi
}
job_groups() { find /sys/fs/cgroup -path '*n1_slurmstepd.scope/job_*' | wc -l; }

echo "# starting the cluster"
$cluster start $dir --build "$BUILD" --cgroup --cpus 4 >/run/start.log 2>&1
is "the cluster starts" $? 0
if [ $failures -ne 0 ]; then
    tail -n 30 /run/start.log $dir/log/*.log | sed 's/^/# /'
    finish
fi
. $dir/env.sh
echo "# $SECONDS s"
# Limits of time are for machines that are not emulated.
sed -i 's/$/ timeout=60000/' $dir/etc/plugstack.conf
sed -i 's/^\(SchedulerParameters=.*\)/\1,cosched_enforcement=cpuset/' \
    $dir/etc/extra.conf
sed -i '/^SlurmdTimeout=/d' $dir/etc/slurm.conf
cat >>$dir/etc/extra.conf <<X
SlurmdTimeout=3600
MessageTimeout=100
BatchStartTimeout=1200
UnkillableStepTimeout=1200
X
scontrol reconfigure
enforcement() {
    coschedctl config 2>/dev/null | awk '$1 == "cosched_enforcement" { print $2 }'
}
until_is "enforcement by cpuset" cpuset enforcement

first=$(submit --wrap "echo \$\$ >$out/one; exec $look escape 2")
second=$(submit --wrap "srun -n1 sh -c 'echo \$\$ >$out/two; exec $look escape 2' &
    until [ -e $out/go ]; do sleep 1; done
    srun --overlap -n1 sh -c 'echo \$\$ >$out/three; exec $look escape 2'")
until_is "two jobs are held, apart" held held "$first" one "$second" two
is "the first in the task's cgroup of Slurm" "$(place_of one)" \
    "/system.slice/n1_slurmstepd.scope/job_$first/step_batch/user/task_0"
is "so is the second" "$(place_of two)" \
    "/system.slice/n1_slurmstepd.scope/job_$second/step_0/user/task_0"
is "slurmstepd has all CPUs" "$(stepds_cpus)" 0-3
touch $out/go
until_is "a new step is held as well" held held "$first" one "$second" two \
    "$second" three
is "slurmstepd still has all CPUs" "$(stepds_cpus)" 0-3

kill -9 "$(cat $dir/run/coschedd-n1.pid)"
until_is "the agent is killed: the first has all CPUs" 0-3 cpus_of one
until_is "and the second" 0-3 cpus_of two
$cluster agent $dir start n1
until_is "a new agent holds them" held held "$first" one "$second" two \
    "$second" three

third=$(submit --wrap "echo \$\$ >$out/four
    exec $BUILD/tests/node_agent/daemon/fake_job \$COSCHED_SOCKET \$SLURM_JOB_ID")
until_is "a cooperative one follows, the others make room" held \
    held "$first" one "$second" two "$third" four
scancel "$second" "$third"
until_is "the others are cancelled: the first has all CPUs" 0-3 cpus_of one

greedy=$(submit --mem=100M --wrap "
    cat /sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_*/memory.max |
        sort -n | head -n 1 >$out/most
    head -c 400M /dev/zero | tail >/dev/null
    echo \$? >$out/greedy")
until_is "a program that takes more memory than its job has is killed" killed \
    fate "$greedy"
is "by the limit of the job's cgroup" "$(cat $out/most)" $((100 << 20))
scancel "$first"
until_is "no job is left" "" squeue -h
until_is "and no cgroup of one" 0 job_groups
# A task is called slurmstepd until it executes its program, which takes long here.
is "nothing to warn of" "$(grep 'warning: job' $dir/log/coschedd-n1.log |
    grep -v 'has slurmstepd in it')" ""
[ $failures -eq 0 ] || tail -n 60 $out/*.log \
    $dir/log/{coschedd-n1,slurmd-n1,slurmctld}.log | sed 's/^/# /'
$cluster stop $dir >/dev/null 2>&1
is "nothing is left in cgroups" \
    "$(find /sys/fs/cgroup -path '*n1*' | wc -l)" 0
echo "# $SECONDS s"
finish
