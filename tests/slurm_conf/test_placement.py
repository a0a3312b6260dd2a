#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Who suits whom: levels and features, and that the predicted gain beats class names, and these
the first node, in the mean turnaround of simulated days on which partners matter."""

import json
import os
import subprocess
import sys

SOURCE = os.environ["abs_top_srcdir"]
sys.path.insert(0, os.path.join(SOURCE, "slurm_conf"))
import placement        # noqa: E402


def check_levels():
    speeds = placement.DEFAULT.speeds
    table = placement.Table([0.01 * 4 ** i for i in range(6)], speeds)
    assert [table.level("memory", rho) for rho in (0, 0.019, 0.021, 1, 99)] == [1, 1, 2, 4, 6]
    assert table.level("serial", 5) == 0 and table.level("compute", None) is None
    default = [placement.DEFAULT.level(kind, 0.5) for kind in
               ("serial", "compute", "mixed", "memory", None)]
    assert default == [0, 1, 3, 5, None], default
    for levels, feature in (([], "cosched_free"), ([0, 0], "cosched_0"), ([0, 5], "cosched_5"),
                            ([1, 5], "cosched_3"), ([1, None], None)):
        assert placement.of_node(levels) == feature, levels
        assert feature is None or feature in placement.FEATURES
    assert table.partners(6, placement.FEATURES) == ["cosched_0"]
    assert table.partners(6, placement.FEATURES[2:]) == ["cosched_1"]
    assert table.partners(6, ["cosched_6", "cosched_free"]) == []      # turns do as well
    assert placement.parse(table.text()).gains == table.gains


def check_day():
    found = json.loads(subprocess.run(
        [sys.executable, f"{SOURCE}/simulator/placement_day.py", "--nodes", "20", "--seeds", "5",
         "--load", "1.2", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    assert found["gain"]["turnaround"] < found["class"]["turnaround"] < 1, found


check_levels()
check_day()
