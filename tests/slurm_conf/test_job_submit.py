#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""job_submit.lua in Lua interpreters, on files that coschedhistory wrote."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_slurm import FakeSlurm, SOURCE, row

HERE = os.path.dirname(os.path.abspath(__file__))
# Slurm takes whichever it finds; Debian's takes 5.1.
LUAS = ("lua5.1", "lua5.3", "lua5.4", "lua")


def main():
    luas = [lua for lua in LUAS if shutil.which(lua)]
    if not luas:
        print("SKIP: no Lua interpreter")
        sys.exit(77)
    with FakeSlurm() as fake:
        rows = [row(job, "cg run") for job in range(3)]
        rows += [row(job, "ep", program="ep", kind="compute")
                 for job in range(10, 13)]
        rows += [row(100 + i, f"many{i}", uid=2000 + i, program=f"many{i}")
                 for i in range(100)]
        fake.says("sacct.says", "".join(rows))
        fake.call("update")
        for lua in luas:
            print(lua, flush=True)
            subprocess.run([lua, f"{HERE}/test_job_submit.lua",
                            f"{SOURCE}/slurm_conf/job_submit.lua", HERE,
                            fake.folder], check=True)


main()
