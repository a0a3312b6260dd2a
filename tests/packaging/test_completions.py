#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""fish and zsh complete what bash's completions know."""

import glob
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import SOURCE, skip  # noqa: E402

FILES = glob.glob(f"{SOURCE}/*/completions/cosched*") + \
    glob.glob(f"{SOURCE}/*/*/completions/cosched*")
BASH = {os.path.basename(path): path for path in FILES if "." not in os.path.basename(path)}
# A line, and words that may end it.
LINES = (("coschedctl sta", {"status"}), ("coschedctl hea", {"health"}),
         ("coschedsim com", {"compare"}), ("coschedctl status --js", {"--json"}),
         ("/some/where/coschedmodel --he", {"--help"}))


def fill(folder, name, to):
    with open(f"{SOURCE}/packaging/completions/{name}.in", encoding="utf-8") as file:
        text = file.read().replace("@bashcompletiondir@", folder)
    with open(f"{folder}/{to}", "w", encoding="utf-8") as file:
        file.write(text)


def check_fish(folder):
    fill(folder, "__cosched_complete.fish", "__cosched_complete.fish")
    for program in BASH:
        with open(f"{folder}/{program}.fish", "w", encoding="utf-8") as file:
            file.write(f'complete -c {program} -f -a "(__cosched_complete)"\n')
    for line, wanted in LINES:
        found = subprocess.run(
            ["fish", "--no-config", "-c",
             f"set fish_function_path {folder} $fish_function_path; "
             f"set fish_complete_path {folder}; complete -C '{line}'"],
            check=True, stdout=subprocess.PIPE, universal_newlines=True,
            env={**os.environ, "HOME": folder}).stdout.split()
        assert wanted <= set(found) and len(found) < 4, (line, found)


class Zsh:
    """An interactive one, as at a terminal."""

    def __init__(self, folder):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execvpe("zsh", ["zsh", "-f", "-i"],
                       {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb", "PS1": ""})
        self.seen = ""

    def until(self, pattern):
        end = time.monotonic() + 60
        while not re.search(pattern, self.seen):
            assert time.monotonic() < end, (pattern, self.seen[-500:])
            if select.select([self.fd], [], [], 1)[0]:
                self.seen += os.read(self.fd, 4096).decode(errors="replace")

    def type(self, text):
        self.seen = ""
        os.write(self.fd, text.encode())

    def end(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def check_zsh(folder):
    fill(folder, "_coschedule", "_coschedule")
    shell = Zsh(folder)
    shell.type(f"fpath=({folder} $fpath); autoload -Uz compinit && compinit -u -D; "
               "unsetopt zle_bracketed_paste; print rea''dy\n")
    shell.until("ready")
    for line, wanted in LINES:
        shell.type("\x15" + line + "\t")
        shell.until(line.split("/")[-1][:-2] + ".*" + "|".join(word[-3:] for word in wanted))
    shell.end()


def main():
    shells = [name for name in ("fish", "zsh") if shutil.which(name)]
    if not shells:
        skip("neither fish nor zsh is installed")
    with open(f"{SOURCE}/packaging/completions/_coschedule.in", encoding="utf-8") as file:
        assert set(file.readline().split()[1:]) == set(BASH), "#compdef names other programs"
    for name in shells:
        with tempfile.TemporaryDirectory(prefix="cosched-test.") as folder:
            for program, path in BASH.items():
                shutil.copy(path, f"{folder}/{program}")
            {"fish": check_fish, "zsh": check_zsh}[name](folder)
    print("tried:", *shells)


main()
