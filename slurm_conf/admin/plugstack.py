# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""plugstack.conf, with the files that it includes: where our plugin stands in it."""

import fnmatch
import glob
import os


class Line:
    """"optional PLUGIN ARGUMENTS"."""

    def __init__(self, path, number, words):
        self.where, self.kind = f"{path}:{number}", words[0]
        self.plugin, self.arguments = words[1], words[2:]


class Plugstack:
    def __init__(self, conf):
        self.path = conf.value("PlugStackConfig") or os.path.join(conf.folder, "plugstack.conf")
        self.lines, self.includes = [], []
        self._read(self.path, 0)

    def _read(self, path, depth):
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                lines = file.read().splitlines()
        except OSError:
            return
        for number, text in enumerate(lines, 1):
            words = text.partition("#")[0].split()
            if len(words) < 2:
                continue
            if words[0].lower() == "include":
                pattern = os.path.join(os.path.dirname(self.path), words[1])
                self.includes.append(pattern)
                for other in sorted(glob.glob(pattern)) if depth < 8 else ():
                    self._read(other, depth + 1)
            else:
                self.lines.append(Line(path, number, words))

    def ours(self, name):
        """The line of the plugin NAME, or None."""
        return next((line for line in self.lines if os.path.basename(line.plugin) == name), None)

    def takes(self, path):
        """Would a file at PATH be included?"""
        return any(fnmatch.fnmatch(path, pattern) for pattern in self.includes)
