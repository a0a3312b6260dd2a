# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""An agent whose line to Slurm ends at a helper of the test's own."""

import json
import os

from fakes import Agent

# Reads lines to say from DIR/say, or, as the one that keeps records, from
# DIR/records.say; notes in DIR/heard what it is told; says that records are kept, or
# in the accounting, only when DIR/keep or DIR/answer exists; ends when told "die".
HELPER = """#!/usr/bin/env python3
import json, os, select, sys
folder = os.path.dirname(os.path.abspath(__file__))
said, rest = 0, b""
mine = folder + ("/records.say" if "--records" in sys.argv else "/say")
while True:
    if select.select([0], [], [], 0.02)[0]:
        data = os.read(0, 65536)
        if not data:
            sys.exit(0)
        rest += data
        *lines, rest = rest.split(b"\\n")
        for line in lines:
            with open(folder + "/heard", "ab") as heard:
                heard.write(line + b"\\n")
            told = json.loads(line)
            for file, event in (("keep", "kept"), ("answer", "recorded")):
                if told["cmd"] == "record" and os.path.exists(f"{folder}/{file}"):
                    print(json.dumps({"event": event, "job": told["job"],
                                      "end": told["end"]}), flush=True)
    try:
        say = open(mine).read().splitlines()
    except FileNotFoundError:
        say = []
    for line in say[said:]:
        if line == "die":
            os.unlink(mine)
            sys.exit(3)
        print(line, flush=True)
    said = max(said, len(say))
"""


class SlurmAgent(Agent):
    """An agent with the helper above instead of --no-slurm."""

    def __init__(self, *arguments, cpus=None):
        super().__init__(*arguments, cpus=cpus)
        self.helper = os.path.join(self.directory, "helper")
        with open(self.helper, "w", encoding="ascii") as helper:
            helper.write(HELPER)
        os.chmod(self.helper, 0o755)
        self.arguments += ["--helper", self.helper,
                           "--records", os.path.join(self.directory, "records")]
        self.slurm = True

    def path(self, name):
        return os.path.join(self.directory, name)

    def say(self, line, file="say"):
        with open(self.path(file), "a", encoding="ascii") as say:
            say.write(line + "\n")

    def config(self, parameters, **more):
        self.say(json.dumps({"event": "config",
                             "scheduler_parameters": parameters, **more}))

    def heard(self, **want):
        """What the helper was told, restricted to lines with all of WANT."""
        try:
            with open(self.path("heard"), encoding="utf-8") as lines:
                told = [json.loads(line) for line in lines]
        except FileNotFoundError:
            return []
        return [t for t in told if all(t.get(k) == want[k] for k in want)]
