# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""slurm.conf with the files that it includes, each entry with its file and line.

What Slurm would do with a file is Slurm's affair.  This reads as much as is needed to say where
something is written, and to write a line that differs from it in one value:

    conf = slurmconf.read("/etc/slurm/slurm.conf")
    entry = conf.last("TaskPlugin")         # None: not written
    print(entry.where, entry.value)         # /etc/slurm/slurm.conf:12 task/affinity
    print(conf.patch({"TaskPlugin": "task/affinity,task/cgroup"}, []))
"""

import difflib
import os
import re

PAIR = re.compile(r'(\w+)\s*[-+*/]?=\s*("[^"]*"|\S+)')
RECORDS = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname")
DEEPEST = 16    # includes


class ConfError(Exception):
    """What is wrong, with file and line."""


class Entry:
    """KEY=VALUE.  `words` has all pairs of its line, keys in lower case, for records such as
    PartitionName."""

    def __init__(self, path, first, last, match, words):
        self.path, self.first, self.last = path, first, last
        self.key, self.value, self.span = match[1], match[2].strip('"'), match.span(2)
        self.words = words

    @property
    def where(self):
        return f"{self.path}:{self.first}"


class Conf:
    """All entries in the order in which Slurm meets them."""

    def __init__(self, path):
        self.path, self.folder = path, os.path.dirname(os.path.abspath(path))
        self.entries, self.texts = [], {}

    def all(self, key):
        return [e for e in self.entries if e.key.lower() == key.lower()]

    def last(self, key):
        """The entry that counts: Slurm takes the last of several."""
        found = self.all(key)
        return found[-1] if found else None

    def value(self, key, default=""):
        entry = self.last(key)
        return entry.value if entry else default

    def records(self, key):
        """{name: (entry, words)} of the records KEY, with what NAME=DEFAULT said before."""
        found, default = {}, {}
        for entry in self.all(key):
            if entry.value.upper() == "DEFAULT":
                default = {**default, **entry.words}
                continue
            for name in hosts(entry.value):
                found[name] = (entry, {**default, **entry.words})
        return found

    def patch(self, values, lines):
        """What patch -d / -p0 takes to give each key of VALUES its value, and to have LINES at
        the end.  The rest of each line stays.  patch wants no absolute names."""
        after = {path: list(text) for path, text in self.texts.items()}
        for key, value in values.items():
            entry = self.last(key)
            if not entry:
                lines = [*lines, f"{key}={value}"]
                continue
            joined = join(self.texts[entry.path][entry.first - 1:entry.last])
            new = joined[:entry.span[0]] + value + joined[entry.span[1]:]
            after[entry.path][entry.first - 1:entry.last] = [new] + \
                [None] * (entry.last - entry.first)
        after[self.path] += lines
        parts = []
        for path, text in self.texts.items():
            new = [line for line in after[path] if line is not None]
            parts += difflib.unified_diff(text, new, path[1:], path[1:], lineterm="")
        return "\n".join(parts)


def join(lines):
    """Physical LINES as the one line that Slurm makes of them."""
    return "".join(line[:-1] if number < len(lines) - 1 else line
                   for number, line in enumerate(lines))


def read(path):
    conf = Conf(os.path.abspath(path))
    _read_file(conf, conf.path, "", 0)
    return conf


def _read_file(conf, path, included, depth):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise ConfError(f"{included}{path}: {error.strerror}") from error
    if depth > DEEPEST:
        raise ConfError(f"{included}{path}: files include each other")
    conf.texts[path] = lines
    number = 0
    while number < len(lines):
        first = number
        while lines[number].endswith("\\") and number + 1 < len(lines):
            number += 1
        number += 1
        _read_line(conf, path, (first + 1, number), join(lines[first:number]), depth)


def _read_line(conf, path, place, line, depth):
    text = re.sub(r"(?<!\\)#.*", "", line)
    where = f"{path}:{place[0]}: "
    included = re.match(r"\s*include\s+(\S+)\s*$", text, re.I)
    if included:
        other = included[1].replace("%c", conf.value("ClusterName"))
        return _read_file(conf, os.path.join(conf.folder, other), f"{where}Include: ", depth + 1)
    found = list(PAIR.finditer(text))
    rest = PAIR.sub("", text).strip()
    if rest:
        raise ConfError(f"{where}{rest.split()[0]}: not KEY=VALUE")
    words = {m[1].lower(): m[2].strip('"') for m in found}
    for match in found[:1] if found and found[0][1].lower() in RECORDS else found:
        conf.entries.append(Entry(path, place[0], place[1], match, words))
    return None


def hosts(text):
    """The names in a list of hosts: "n[1-3,7],login" -> n1 n2 n3 n7 login."""
    names = []
    for word in re.findall(r"(?:[^,\[]|\[[^]]*\])+", text):
        made = [""]
        for plain, ranges in re.findall(r"([^\[]+)|\[([^]]*)\]", word):
            made = [m + plain + number for m in made
                    for number in (_numbers(ranges) if ranges else [""])]
        names += made
    return names


def _numbers(ranges):
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            yield part
            continue
        for number in range(int(first), int(last or first) + 1):
            yield str(number).zfill(len(first))
