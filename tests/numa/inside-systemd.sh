# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside a machine with version 2 of cgroups: the agent as a service of systemd,
# with our unit.  systemd runs as the first process of a pid namespace.
# usage: inside-systemd.sh BUILD SOURCE [check: run by systemd itself]

BUILD=$1
. "$(dirname "$0")/inside-tap.sh"
units=/etc/systemd/system
out=/run/check.out

show() { systemctl show coschedd -p "$1" --value; }
main_pid() { show MainPID; }
# ask KEY REQUEST: a value of the agent's answer
ask() {
    python3 - "$1" "$2" <<'X'
import json, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
    sock.connect("/run/cosched/coschedd.sock")
    sock.send(sys.argv[2].encode())
    print(json.loads(sock.recv(1 << 17)).get(sys.argv[1]))
X
}
pong() { ask pid '{"v":1,"op":"ping"}' 2>/dev/null; }
supervisors() { pgrep -c coschedd-superv; }
# restarted N: systemd has started the agent anew N times, and it answers; or what is
restarted() {
    local now="$(show NRestarts) restarts, $(show ActiveState), process $(main_pid)"
    [ "$now" = "$1 restarts, active, process $(pong)" ] && echo yes || echo "$now"
}
status_of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$(main_pid)/status"; }

# ---- what the unit allows ------------------------------------------------------

# as_unit PROPERTY COMMAND...: what COMMAND says when run by a unit like the agent's but for
# PROPERTY
as_unit() {
    sed -e '/^Type=/d' -e '/^NotifyAccess=/d' -e '/^Restart/d' -e '/^WatchdogSec/d' \
        -e '/Directory/d' -e '/^MemoryDenyWriteExecute/d' -e '/^ReadWritePaths=/d' \
        -e '/^Wants=/d' -e '/^Before=/d' \
        -e "s,^ExecStart=.*,ExecStart=${*:2}," \
        -e "s,^\[Service\],&\nType=oneshot\nStandardOutput=append:/run/probe.out\n$1," \
        -e "s,^\[Unit\],&\nDefaultDependencies=no," $units/coschedd.service >$units/probe.service
    [ "$1" != SystemCallFilter= ] || sed -i '/^SystemCallFilter=./d' $units/probe.service
    systemctl daemon-reload
    : >/run/probe.out
    systemctl start probe 2>/dev/null
    cat /run/probe.out
}

cat >/run/others.py <<X
import ctypes, errno, os, sys
libc, pid = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
byte = ctypes.create_string_buffer(1)
here = (ctypes.c_void_p * 2)(ctypes.addressof(byte), 1)
there = (ctypes.c_void_p * 2)(None, 1) # nothing is mapped there: EFAULT is for who may read
for rc in (libc.ptrace(0x4206, pid, None, None),
           libc.process_vm_readv(pid, here, 1, there, 1, 0),
           libc.syscall(438, os.pidfd_open(pid), 0, 0)): # pidfd_getfd
    number = ctypes.get_errno() if rc < 0 else 0
    print("0" if number in (0, errno.EFAULT) else errno.errorcode[number], end=" ")
X

check_unit() {
    local victim memory
    is "a filter of system calls" "$(status_of Seccomp)" 2
    memory=/sys/fs/cgroup$(sed -n 's,^0::,,p' "/proc/$(main_pid)/cgroup")/memory.max
    is "its cgroup has the unit's limit" "$(cat "$memory")" $((1 << 30))
    sleep 10000 &
    victim=$!
    is "nobody like it traces, reads the memory or takes the descriptors of others" \
        "$(as_unit "" /usr/bin/python3 /run/others.py $victim)" "EPERM EPERM EPERM "
    is "which is the filter's work" \
        "$(as_unit SystemCallFilter= /usr/bin/python3 /run/others.py $victim)" "0 0 0 "
    kill $victim
    for memory in 900 1100; do
        as_unit "" /usr/bin/python3 -c "\"bytearray(b'x') * ($memory << 20)\"" >/dev/null
        is "$memory MB" "$(systemctl show probe -p Result --value)" \
            "$([ $memory = 900 ] && echo success || echo signal)"
        systemctl reset-failed probe 2>/dev/null
    done
}

# ---- cgroups -------------------------------------------------------------------

jobs="11 12 13"
group() { echo "/sys/fs/cgroup/slurm/job_$1/step_0/user/task_0"; }
members() { wc -l <"$(group "$1")/cgroup.procs"; }
# Jobs of one busy process and one that has escaped to a session of its own, as Slurm starts them.
start_jobs() {
    local job pid busy='while :; do :; done'
    for job in $jobs; do
        mkdir -p "$(group "$job")"
        setsid sh -c "echo \$\$ >$(group "$job")/cgroup.procs; (setsid sh -c '$busy' &); $busy" &
        pid=$!
        until_is "job $job has two processes" 2 members "$job"
        is "it is announced" "$(ask ok '{"v":1,"op":"announce","job":'"$job"',"uid":0,
            "name":"x","cores":"0-1","memory_mb":0,"options":"","restarts":0}')" True
        is "with a task" "$(ask ok \
            '{"v":1,"op":"task","job":'"$job"',"step":0,"pid":'$pid'}')" True
    done
}
frozen() {
    local job
    for job in $jobs; do
        ! grep -qr 'frozen 1' --include=cgroup.events /sys/fs/cgroup/slurm/job_"$job" ||
            echo "$job"
    done
}
parked() {
    ask jobs '{"v":1,"op":"status"}' |
        python3 -c 'import ast, sys
for job in ast.literal_eval(sys.stdin.read()):
    if job["state"] == "parked": print(job["job"])'
}
waiting_frozen() { local who; who=$(parked) && [ "$who" ] && [ "$who" = "$(frozen)" ] && echo yes; }

check_freezer() {
    local restarts
    restarts=$(show NRestarts) # the watchdog may have thought a busy host's agent hung
    start_jobs
    until_is "who waits for a turn is frozen" yes waiting_frozen
    kill -KILL "$(main_pid)"
    until_is "killed, it is started anew" yes restarted $((restarts + 1))
    until_is "and freezes who waits" yes waiting_frozen
    systemctl stop coschedd
    is "stopped, nobody is frozen" "$(frozen)" ""
    for job in $jobs; do
        kill -KILL $(cat "$(group "$job")/cgroup.procs")
    done
}

# ---- names of regions ------------------------------------------------------------

# What coschedd-names says of a region in main() of process PID, a program of user UID.
name_of() {
    local program=/home/user/program id at
    id=$(readelf -n $program | sed -n 's/.*Build ID: \(.\{16\}\).*/\1/p')
    at=$(nm $program | sed -n 's/^0*\(.*\) T main$/\1/p')
    python3 - "$1 $2 $id+$at" <<'X'
import socket, sys
with socket.socket(socket.AF_UNIX) as sock:
    sock.connect("/run/cosched/coschedd.sock.names")
    sock.send(sys.argv[1].encode() + b"\n")
    print(sock.makefile().readline().split(" ", 1)[-1].strip())
X
}

check_names() {
    local pid
    install -D -m 700 -o 1000 -g 1000 "$BUILD/tests/node_agent/daemon/fake_job" /home/user/program
    chown 1000:1000 /home/user
    chmod 700 /home/user
    setpriv --reuid 1000 --regid 1000 --clear-groups /home/user/program /nowhere 9 &
    pid=$!
    until_is "the user's program runs" /home/user/program readlink /proc/$pid/exe
    is "the agent's unit brings the socket" "$(systemctl show coschedd-names.socket \
        -p ActiveState --value)" active
    is "a program in a home that only its user sees has names" \
        "$(name_of $pid 1000 | sed 's/[0-9]*$/N/')" "main, fake_job.c:N"
    is "none for another user, and none as root" "$(name_of $pid 1001)$(name_of $pid 0)" ""
    until_is "no program for a question is left" 0 pgrep -c coschedd-names
    kill $pid
}

check() {
    until_is "the service is active" active show ActiveState
    is "ready is when it answers, and it is the main process" "$(pong)" \
        "$(main_pid)"
    is "it can gain no privileges" "$(status_of NoNewPrivs)" 1
    # SYS_PTRACE, SYS_NICE, KILL and PERFMON; for helpers DAC_READ_SEARCH, too.
    is "its capabilities" "$(status_of CapEff)" 0000004000880020
    is "those that a helper may get" "$(status_of CapBnd)" 0000004000880424
    is "cgroups are not read-only for it" "$(grep -c ' /sys/fs/cgroup ro' \
        "/proc/$(main_pid)/mountinfo")" 0
    is "a job is announced" "$(ask ok '{"v":1,"op":"announce","job":7,
        "uid":0,"name":"x","cores":"0-1","memory_mb":0,"options":"",
        "restarts":0}')" True

    kill -KILL "$(main_pid)"
    until_is "killed, it is started anew" yes restarted 1
    is "it knows the job" "$(ask jobs '{"v":1,"op":"status"}' |
        grep -c "'job': 7")" 1
    until_is "the first one's supervisor has ended" 1 supervisors

    kill -STOP "$(main_pid)"
    until_is "hung, it is started anew by the watchdog" yes restarted 2
    until_is "one supervisor" 1 supervisors

    systemctl kill -s KILL coschedd
    until_is "killed with its supervisor, it is started anew" yes restarted 3

    check_unit
    check_names
    check_freezer
    is "stopped" "$(show ActiveState) $(show Result)" "inactive success"
    # Epilogs leave notes in the first, the agent what it knows in the last ones; the only socket
    # is systemd's.
    is "the state stays" "$(echo $(ls /run/cosched))" \
        "coschedd.sock.ended coschedd.sock.names state.json state.json.ledger state.json.log"
    until_is "nothing is left" 0 pgrep -c coschedd
    finish
}

if [ "${3-}" = check ]; then
    (check) >>$out 2>&1
    sleep 2 # for tail
    touch $out.done
    exit
fi

# The unit as it is but for the paths; /home and /tmp are not visible for it.
# The limits of the unit are for real machines.
cp "$BUILD/coschedd" /usr/local/sbin/
start="/usr/local/sbin/coschedd --foreground --no-slurm --auth peer"
start="$start --set slice=1s --socket /run/cosched/coschedd.sock --state /run/cosched/state.json"
sed -e "s,^ExecStart=.*,ExecStart=$start," \
    -e 's,^ReadWritePaths=.*,ReadWritePaths=/run/cosched,' \
    "$BUILD/node_agent/daemon/coschedd.service" >$units/coschedd.service
cp "$BUILD/coschedd-names" /usr/local/sbin/
sed 's,^ListenStream=.*,ListenStream=/run/cosched/coschedd.sock.names,' \
    "$BUILD/node_agent/names/coschedd-names.socket" >$units/coschedd-names.socket
sed 's,^ExecStart=.*,ExecStart=/usr/local/sbin/coschedd-names,' \
    "$BUILD/node_agent/names/coschedd-names@.service" >$units/coschedd-names@.service
mkdir -p $units/coschedd{.service,-names.socket,-names@.service}.d
# No sysinit.target: there are no devices and file systems to wait for.
cat >$units/coschedd.service.d/test.conf <<X
[Unit]
DefaultDependencies=no
[Service]
WatchdogSec=30s
TimeoutStartSec=15min
TimeoutStopSec=15min
TimeoutAbortSec=15min
X
for unit in coschedd-names.socket coschedd-names@.service; do
    printf '[Unit]\nDefaultDependencies=no\n' >$units/$unit.d/test.conf
done
cat >$units/check.service <<X
[Unit]
DefaultDependencies=no
Wants=coschedd.service
[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/bin/bash $(realpath "$0") $1 $2 check
X
: >$out
tail -f $out &
tail=$!
container=x unshare -p -f -m --mount-proc /lib/systemd/systemd --system \
    --unit=check.service --log-target=console --show-status=no \
    </dev/null >/dev/null 2>&1 &
while [ ! -e $out.done ] && [ $SECONDS -lt 6000 ]; do sleep 0.5; done
kill $tail
! grep -q '^not ok' $out && grep -q '^1\.\.' $out
