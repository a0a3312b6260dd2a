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
# restarted N: systemd has started the agent anew N times, and it answers
restarted() {
    [ "$(show NRestarts)" = "$1" ] && [ "$(show ActiveState)" = active ] &&
        [ "$(pong)" = "$(main_pid)" ] && echo yes
}
status_of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$(main_pid)/status"; }

check() {
    until_is "the service is active" active show ActiveState
    is "ready is when it answers, and it is the main process" "$(pong)" \
        "$(main_pid)"
    is "it can gain no privileges" "$(status_of NoNewPrivs)" 1
    # SYS_PTRACE, SYS_NICE, KILL and PERFMON; for helpers DAC_READ_SEARCH, too.
    is "its capabilities" "$(status_of CapEff)" 0000004000880020
    is "those that a helper may get" "$(status_of CapBnd)" 0000004000880024
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

    systemctl stop coschedd
    is "stopped" "$(show ActiveState) $(show Result)" "inactive success"
    # Epilogs leave notes in the one, the agent what it knows in the others; no socket is left.
    is "the state stays" "$(echo $(ls /run/cosched))" \
        "coschedd.sock.ended state.json state.json.ledger state.json.log"
    until_is "nothing is left" 0 pgrep -c coschedd
    finish
}

if [ "${3-}" = check ]; then
    (check) >$out 2>&1
    touch $out.done
    exit
fi

# The unit as it is but for the paths; /home and /tmp are not visible for it.
# The limits of the unit are for real machines.
cp "$BUILD/coschedd" /usr/local/sbin/
start="/usr/local/sbin/coschedd --foreground --no-slurm --auth peer"
start="$start --socket /run/cosched/coschedd.sock --state /run/cosched/state.json"
sed -e "s,^ExecStart=.*,ExecStart=$start," \
    -e 's,^ReadWritePaths=.*,ReadWritePaths=/run/cosched,' \
    "$BUILD/node_agent/daemon/coschedd.service" >$units/coschedd.service
mkdir -p $units/coschedd.service.d
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
cat >$units/check.service <<X
[Unit]
DefaultDependencies=no
Wants=coschedd.service
[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/bin/bash $(realpath "$0") $1 $2 check
X
container=x unshare -p -f -m --mount-proc /lib/systemd/systemd --system \
    --unit=check.service --log-target=console --show-status=no \
    </dev/null >/dev/null 2>&1 &
while [ ! -e $out.done ] && [ $SECONDS -lt 6000 ]; do sleep 0.5; done
cat $out
! grep -q '^not ok' $out && grep -q '^1\.\.' $out
