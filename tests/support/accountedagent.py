# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""An agent with its own helpers, and a Slurm of the test's own behind them."""

import os
import time

from fakes import Agent
from slurmhelper import FAKE, HELPER, FakeSlurm

UNDER = """#!/bin/sh
FAKE_SLURM={slurm} PATH={slurm}/bin:$PATH LD_PRELOAD="{fake} $LD_PRELOAD"
export FAKE_SLURM PATH LD_PRELOAD
exec {helper} --delay 0 --interval 0 "$@"
"""


class AccountedAgent(Agent):
    """Use `with`; the accounting is in `slurm`."""

    def __init__(self, *arguments, cpus=None):
        super().__init__(*arguments, cpus=cpus)
        self.slurm = FakeSlurm()
        helper = os.path.join(self.directory, "helper")
        with open(helper, "w", encoding="ascii") as script:
            script.write(UNDER.format(slurm=self.slurm.path(""), fake=FAKE, helper=HELPER))
        os.chmod(helper, 0o755)
        self.arguments += ["--helper", helper, "--records",
                           os.path.join(self.directory, "records", "records")]

    def account(self, *jobs):
        """The accounting knows these jobs: they have just run."""
        now = int(time.time())
        self.slurm.rows(*((job, job, now - 10, now, "cosched/1 state=running") for job in jobs))

    def records(self):
        """{job: final record} of the accounting."""
        return {int(name): comment for (name, _), comment in self.slurm.comments().items()
                if "state=final" in comment}

    def __exit__(self, *exception):
        super().__exit__(*exception)
        self.slurm.directory.cleanup()
