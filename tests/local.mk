# SPDX-License-Identifier: GPL-2.0-or-later
include tests/common/local.mk
include tests/protocol/local.mk
include tests/model/local.mk
include tests/simulator/local.mk
include tests/coschedmodel/local.mk
include tests/node_agent/local.mk
include tests/numa/local.mk
include tests/spank_plugin/local.mk
include tests/libgomp-coop/local.mk
include tests/jobs/local.mk
include tests/scripts/local.mk
include tests/slurm_conf/local.mk
include tests/cluster/local.mk
include tests/chain/local.mk
