# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
# Inside a machine with version 2 of cgroups alone: the test of the node agent
# that holds by cpuset.  usage: inside-cgroup.sh BUILD SOURCE

BUILD=$1
. "$(dirname "$0")/inside-tap.sh"
export abs_top_builddir=$1 abs_top_srcdir=$2

is "the machine has version 2 of cgroups" "$(stat -f -c %T /sys/fs/cgroup)" \
    cgroup2fs
python3 -u "$2/tests/node_agent/test_agent_cpuset.py" >/run/log 2>&1
is "held by cpuset, and let go" $? 0
[ $failures -eq 0 ] || sed 's/^/# /' /run/log
finish
