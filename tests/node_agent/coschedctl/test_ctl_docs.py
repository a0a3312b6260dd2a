#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedctl --help, its manual page and its completion name the same commands
and options."""

import functools
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
import programdocs
from programdocs import commands, options, read, same

COSCHEDCTL = os.path.join(os.environ["abs_top_builddir"], "coschedctl")
COMPLETION = "node_agent/coschedctl/completions/coschedctl"
OF_SBATCH = options("sbatch --coschedule")

complete = functools.partial(programdocs.complete, COMPLETION, "coschedctl")


def check_completion():
    assert complete("st") == {"status"}
    assert complete("--socket", "/x", "p") == {"ping"}
    assert complete("status", "--") == {"--json", "--help"}
    assert complete("trace", "--o") == {"--output"}
    assert complete("machine", "--j") == {"--json"}
    assert "docs" in complete("machine", "do")
    assert complete("run", "--c") == {"--cpus"}
    assert complete("run", "--h") == {"--help"}
    assert complete("record", "--s") == {"--stop"}
    assert "docs" in complete("record", "do")
    assert complete("cou") == {"counters"}
    assert complete("drain", "--r") == {"--reason"}
    assert complete("health", "--t") == {"--timeout"}
    assert complete("requests", "--p") == {"--per"}
    assert complete("requests", "--metric", "r") == {"read-misses"}
    assert "docs" in complete("requests", "do")
    assert complete("selftest", "--o") == {"--output"}
    assert complete("run", "--options", "g") == {"greedy"}
    assert complete("dance", "") == set()


def main():
    check_completion()
    usage = programdocs.usage(COSCHEDCTL)
    assert {"status", "run"} <= commands(usage), usage
    wanted = options(usage)
    for command in commands(usage):
        own = programdocs.usage(COSCHEDCTL, command)
        assert own.startswith(f"usage: coschedctl {command} "), own
        wanted |= options(own)
        assert complete(command, "--") >= options(own) - OF_SBATCH, command
    assert {"--json", "--socket", "--cpus"} <= wanted, usage
    programdocs.check_page("docs/coschedctl.1", commands(usage),
                           wanted - OF_SBATCH, "0123")

    completion = read(COMPLETION)
    same("options in the completion", options(completion), wanted - OF_SBATCH)
    listed = re.search(r'commands="([^"]*)"', completion)[1].split()
    same("commands in the completion", set(listed), commands(usage))


main()
