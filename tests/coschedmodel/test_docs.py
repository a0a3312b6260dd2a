#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedmodel's help texts, manual page and completion name the same commands
and options, and the schema the same members as the reader."""

import functools
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
import programdocs
from programdocs import SOURCE, commands, options, read, same

PROGRAM = os.path.join(os.environ["abs_top_builddir"], "coschedmodel",
                       "coschedmodel")

complete = functools.partial(
    programdocs.complete, "coschedmodel/completions/coschedmodel",
    "coschedmodel", COSCHED_MACHINES=os.path.join(SOURCE, "machines"))


def check_schema():
    """Every member that the readers take is described, and none else."""
    schema = json.loads(read("model/io/machine.schema.json"))
    reader = read("model/io/machine_json.c")
    lists = re.findall(r"known\[\] = \{(.*?)NULL\}", reader, re.S)
    accepted = {word for one in lists for word in re.findall(r'"(\w+)"', one)}

    def members(part):
        found = set()
        if isinstance(part, dict):
            found |= set(part.get("properties", {}))
            for value in part.values():
                found |= members(value)
        elif isinstance(part, list):
            for value in part:
                found |= members(value)
        return found

    assert "service_us" in accepted, lists
    same("machine.schema.json", members(schema), accepted)


def main():
    usage = programdocs.usage(PROGRAM)
    known = commands(usage)
    assert {"station", "machine"} <= known
    every = options(usage)
    for command in sorted(known):
        own = options(programdocs.usage(PROGRAM, command))
        assert {"--help"} < own or command == "machine", (command, own)
        every |= own
        same(f"completion of {command}", complete(command, "--"), own)
    programdocs.check_page("docs/coschedmodel.1", known, every, "012")

    same("completion of commands", complete(""),
         known | {"--help", "--version"})
    assert complete("machine", "s") == {"show"}
    assert complete("speedup", "--method", "st") == {"stations"}
    assert "uma-1x8" in complete("utilisation", "--machine", "uma")
    check_schema()


main()
