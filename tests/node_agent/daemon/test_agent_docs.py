#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedd --help, its manual page and docs/settings.md name the same
options and the same entries of slurm.conf."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
import programdocs
from programdocs import options, read, same, region

COSCHEDD = os.path.join(os.environ["abs_top_builddir"], "coschedd")


def main():
    usage = programdocs.usage(COSCHEDD)
    page = read("docs/coschedd.8")
    entries = re.findall(r"^\.TP\n(.*)$", region(page, "OPTIONS"), re.M)
    same("options in docs/coschedd.8", options("\n".join(entries)),
         set(re.findall(r"^  (--[a-z-]+)", usage, re.M)))

    wanted = set(re.findall(r"^  (cosched_[a-z_]+)=", usage, re.M))
    assert {"cosched_policy", "cosched_report"} <= wanted, usage
    same("entries of slurm.conf in docs/coschedd.8",
         set(re.findall(r"^\.TP\n\.B (cosched_[a-z_]+)$",
                        region(page, "CONFIGURATION"), re.M)), wanted)
    settings = read("docs/settings.md").partition("\n## Site: other files")[0]
    same("entries of slurm.conf in docs/settings.md",
         set(re.findall(r"^\| `(cosched_[a-z_]+)` \|", settings, re.M)), wanted)


main()
