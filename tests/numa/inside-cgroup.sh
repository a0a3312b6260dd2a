# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside a machine with one version of cgroups: the test of the node agent that
# holds by cpuset.  usage: inside-cgroup.sh BUILD SOURCE VERSION

BUILD=$1
. "$(dirname "$0")/inside-tap.sh"
export abs_top_builddir=$1 abs_top_srcdir=$2
# Of limits that are meant for real machines.
export COSCHED_TEST_PATIENCE=20

is "the machine has version $3 of cgroups" \
    "$(awk '$3 ~ /^cgroup2?$/ && ($3 == "cgroup2" || $4 ~ /cpuset/) {
        print $3 }' /proc/mounts)" "$([ "$3" = 2 ] && echo cgroup2 || echo cgroup)"
python3 -u "$2/tests/node_agent/daemon/test_agent_cpuset.py" >/run/log 2>&1
is "held by cpuset, and let go" $? 0
[ $failures -eq 0 ] || sed 's/^/# /' /run/log
finish
