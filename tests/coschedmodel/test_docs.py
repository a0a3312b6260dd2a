#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedmodel's help texts, manual page and completion name the same commands
and options, and the schema the same members as the reader."""

import json
import os
import re
import subprocess

SOURCE = os.environ["abs_top_srcdir"]
PROGRAM = os.path.join(os.environ["abs_top_builddir"], "coschedmodel",
                       "coschedmodel")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as text:
        return text.read()


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def usage(*words):
    return subprocess.run([PROGRAM, *words, "--help"], check=True,
                          capture_output=True, text=True).stdout


def section(page, name):
    found = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", page, re.M | re.S)
    assert found, f"no section {name}"
    return found[1].replace("\\-", "-")


def same(what, got, want):
    assert got == want, (f"{what}: missing {sorted(want - got)}, "
                         f"unknown {sorted(got - want)}")


def complete(*words):
    script = ("source coschedmodel/completions/coschedmodel; "
              "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _coschedmodel; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    return set(subprocess.run(
        ["bash", "-c", script, "bash", "coschedmodel", *words], cwd=SOURCE,
        check=True, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin",
             "COSCHED_MACHINES": os.path.join(SOURCE, "machines")},
    ).stdout.split())


def check_schema():
    """Every member that the readers take is described, and none else."""
    schema = json.loads(read("protocol/machine.schema.json"))
    reader = read("protocol/machine_json.c")
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
    commands = set(re.findall(r"^  ([a-z]+) ", usage(), re.M))
    assert {"station", "machine"} <= commands
    every = options(usage())
    for command in sorted(commands):
        own = options(usage(command))
        assert {"--help"} < own or command in ("fit", "ks"), (command, own)
        every |= own
        offered = complete(command, "--")
        same(f"completion of {command}", offered, own)

    page = read("docs/coschedmodel.1")
    entries = re.findall(r"^\.TP\n(.*)$", section(page, "OPTIONS"), re.M)
    same("options in docs/coschedmodel.1", options("\n".join(entries)), every)
    entries = re.findall(r"^\.TP\n\.B (\w+)$", section(page, "COMMANDS"), re.M)
    same("commands in docs/coschedmodel.1", set(entries), commands)
    for status in "012":
        assert f"\n.B {status}\n" in section(page, "EXIT STATUS"), status

    same("completion of commands", complete(""),
         commands | {"--help", "--version"})
    assert complete("machine", "d") == {"draw"}
    assert complete("speedup", "--method", "st") == {"stations"}
    assert "uma-1x8" in complete("utilisation", "--machine", "uma")
    check_schema()


main()
