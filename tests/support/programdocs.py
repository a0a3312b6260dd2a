# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Do a program's help text, manual page and completion name the same things?"""

import os
import re
import subprocess

SOURCE = os.environ["abs_top_srcdir"]


def read(path):
    """The text of PATH in the source tree."""
    with open(os.path.join(SOURCE, path), encoding="utf-8") as text:
        return text.read()


def usage(program, *words):
    """What PROGRAM WORDS... --help prints."""
    return subprocess.run([program, *words, "--help"], check=True,
                          capture_output=True, text=True).stdout


def options(text):
    """Long options that TEXT mentions."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def commands(text):
    """Commands that a help text lists."""
    return set(re.findall(r"^  ([a-z]+) ", text, re.M))


def section(page, name):
    """Section NAME of the manual page PAGE, without roff's escapes."""
    found = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", page, re.M | re.S)
    assert found, f"no section {name}"
    return found[1].replace("\\-", "-")


def same(what, got, want):
    assert got == want, (f"{what}: missing {sorted(want - got)}, "
                         f"unknown {sorted(got - want)}")


def complete(script, program, *words, **environment):
    """What bash, with the completion SCRIPT, offers for the last of WORDS."""
    text = (f"source {script}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
            f"_{program}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    return set(subprocess.run(
        ["bash", "-c", text, "bash", program, *words], cwd=SOURCE, check=True,
        capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", **environment}).stdout.split())
