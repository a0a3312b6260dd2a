#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedctl --help, its manual page and its completion name the same commands
and options."""

import os
import re
import subprocess

SOURCE = os.environ["abs_top_srcdir"]
COSCHEDCTL = os.path.join(os.environ["abs_top_builddir"], "coschedctl")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as text:
        return text.read()


def options(text):
    """Long options that TEXT mentions."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def section(page, name):
    """Section NAME of the manual page, without roff's escapes."""
    found = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", page, re.M | re.S)
    assert found, f"no section {name}"
    return found[1].replace("\\-", "-")


def same(what, got, want):
    assert got == want, (f"{what}: missing {sorted(want - got)}, "
                         f"unknown {sorted(got - want)}")


def complete(*words):
    """What bash offers for the last of WORDS."""
    script = ("source node_agent/completions/coschedctl; COMP_WORDS=(\"$@\"); "
              "COMP_CWORD=$(($# - 1)); _coschedctl; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    return set(subprocess.run(
        ["bash", "-c", script, "bash", "coschedctl", *words], cwd=SOURCE,
        check=True, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin"}).stdout.split())


def check_completion():
    assert complete("st") == {"status"}
    assert complete("--socket", "/x", "p") == {"ping"}
    assert complete("status", "--") == {"--json", "--help"}
    assert complete("trace", "--o") == {"--output"}
    assert complete("run", "--c") == {"--cpus"}
    assert complete("run", "--options", "g") == {"greedy"}
    assert complete("dance", "") == set()


def main():
    check_completion()
    run = subprocess.run([COSCHEDCTL, "--help"], capture_output=True, text=True,
                         check=True)
    usage = run.stdout
    commands = set(re.findall(r"^  ([a-z]+) ", usage, re.M))
    assert {"status", "run"} <= commands, usage
    wanted = options(usage)
    assert {"--json", "--socket", "--cpus"} <= wanted, usage

    page = read("docs/coschedctl.1")
    entries = re.findall(r"^\.TP\n(.*)$", section(page, "OPTIONS"), re.M)
    same("options in docs/coschedctl.1", options("\n".join(entries)),
         wanted - options("sbatch --coschedule"))
    entries = re.findall(r"^\.TP\n\.B (\w+)$", section(page, "COMMANDS"), re.M)
    same("commands in docs/coschedctl.1", set(entries), commands)
    for status in "0123":
        assert f"\n.B {status}\n" in section(page, "EXIT STATUS"), status

    completion = read("node_agent/completions/coschedctl")
    same("options in the completion", options(completion),
         wanted - options("sbatch --coschedule"))
    listed = re.search(r'commands="([^"]*)"', completion)[1].split()
    same("commands in the completion", set(listed), commands)


main()
