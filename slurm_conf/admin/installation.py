# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What coscheduleadm writes on this host, and its record, from which undo() takes it back.

slurm.conf is never among it.  A file is taken back only if it is as it was written; the record
says what is to be written before it is, so that a killed install can be undone as well.
"""

import hashlib
import json
import os

from admin import host
from admin.plugstack import Plugstack
from admin.requirement import DROP_IN, default_memory, has

RECORD = "coschedule.installed"
VERSION = 1
UNITS = "/etc/systemd/system"
UNIT = "coschedd.service"
UNIT_FILES = ("coschedd.service", "coschedd-likwid.socket", "coschedd-likwid@.service",
              "coschedd-names.socket", "coschedd-names@.service")


class InstallError(Exception):
    """What the administrator must know."""


def digest(text):
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def read(path):
    """The text of PATH; None: there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InstallError(f"{path}: {error.strerror}") from error


def write(path, text):
    """In one step; owner and mode stay."""
    new = path + ".coschedule-new"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(new, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
            if os.path.exists(path):
                before = os.stat(path)
                os.fchmod(file.fileno(), before.st_mode & 0o7777)
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
            else:
                os.fchmod(file.fileno(), 0o644)
        os.rename(new, path)
    except OSError as error:
        raise InstallError(f"{path}: {error.strerror}: nothing was written there") from error


# ---- what is to be there ----------------------------------------------------------

def partition_text(conf, options):
    memory = default_memory(conf, options.jobs)
    return (f"# Written by coscheduleadm: {options.jobs} jobs of a node share it.\n"
            f"PartitionName={options.partition} Nodes={options.nodes} "
            f"OverSubscribe=FORCE:{options.jobs} MaxTime=INFINITE State=UP"
            f"{f' DefMemPerNode={memory}' if memory else ''}\n")


def slurm_files(conf, running, roles, options):
    """(path, text) of Slurm's files here."""
    entry, _ = conf.records("PartitionName").get(options.partition, (None, None))
    drop_in = os.path.join(conf.folder, DROP_IN)
    if entry is None or entry.path == drop_in:
        yield drop_in, partition_text(conf, options)
    stack = Plugstack(conf)
    if not stack.ours(host.PLUGIN):
        found = host.plugin_file(conf, running)
        inside = found and os.path.dirname(found) in host.plugin_folders(conf, running)
        line = options.plugin or (host.PLUGIN if inside else found)
        if not line:
            raise InstallError(f"{host.PLUGIN}: not in PluginDir: install coschedule-slurm first")
        extra = os.path.join(os.path.dirname(stack.path), "plugstack.conf.d", DROP_IN)
        if stack.takes(extra):
            yield extra, f"optional {line}\n"
        else:
            there = read(stack.path) or ""
            yield stack.path, there + ("\n" if there[-1:] not in ("", "\n") else "") + \
                f"optional {line}\n"
    if "controller" in roles:
        yield from scripts(conf, options)


def scripts(conf, options):
    guard = read(options.guard) or ""
    guard = guard.replace("@script@", options.script).replace("@partition@", options.partition)
    path = os.path.join(conf.folder, "job_submit.lua")
    there = read(path)
    if there is None:
        yield path, guard
    elif "cosched" not in there:
        yield os.path.join(conf.folder, "cosched_submit.lua"), guard


def unit_files(options):
    if host.ask("systemctl", "cat", UNIT)[0] == 0:
        return
    for name in UNIT_FILES:
        text = read(os.path.join(options.data, name))
        if text is not None:
            yield os.path.join(UNITS, name), text


class Plan:
    """`files`: (path, text) that differ from what is there; `units` to be enabled."""

    def __init__(self, conf, running, roles, options):
        self.record = record_path(conf)
        wanted = [] if host.is_copy(conf) else slurm_files(conf, running, roles, options)
        self.files, self.units = list(wanted), []
        if "node" in roles and host.has_systemd():
            self.files += unit_files(options)
            if host.ask("systemctl", "is-enabled", UNIT)[0] != 0:
                self.units.append(UNIT)
        self.files = [(path, text) for path, text in self.files if read(path) != text]

    def tell(self):
        for path, _ in self.files:
            print(f"{'change' if os.path.exists(path) else 'write'} {path}")
        for unit in self.units:
            print(f"enable and start {unit}")

    def apply(self):
        record = load(self.record)
        for path, text in self.files:
            record["files"].append({"path": path, "before": read(path), "after": digest(text)})
            save(self.record, record)
            write(path, text)
        for unit in self.units:
            record["units"].append(unit)
            save(self.record, record)
            systemctl("enable", unit)


# ---- the record ---------------------------------------------------------------------

def record_path(conf):
    return os.path.join("/etc" if host.is_copy(conf) else conf.folder, RECORD)


def load(path):
    text = read(path)
    if text is None:
        return {"version": VERSION, "files": [], "units": []}
    try:
        record = json.loads(text)
        if record["version"] != VERSION:
            raise InstallError(f"{path}: written by another version of coscheduleadm "
                               f"({record['version']}, this one knows {VERSION}): undo with that")
        return {key: record[key] for key in ("version", "files", "units")}
    except (ValueError, KeyError, TypeError) as error:
        raise InstallError(f"{path}: not a record of coscheduleadm ({error})") from error


def save(path, record):
    write(path, json.dumps(record, indent=1) + "\n")


def systemctl(action, unit):
    status, out, err = host.ask("systemctl", action, "--now", unit)
    if status != 0:
        raise InstallError(f"systemctl {action} --now {unit}: {err or out.strip()}")


def in_use(conf):
    """Why undo would keep slurmctld from starting, or None."""
    drop_in = os.path.join(conf.folder, DROP_IN)
    if drop_in in conf.texts:
        for path, lines in conf.texts.items():
            for number, line in enumerate(lines, 1):
                if line.split()[:1] and line.split()[0].lower() == "include" and DROP_IN in line:
                    return f"{path}:{number}: {line.strip()}"
    script = read(os.path.join(conf.folder, "job_submit.lua")) or ""
    if has("JobSubmitPlugins", conf.value("JobSubmitPlugins")) and "by coscheduleadm" in script:
        entry = conf.last("JobSubmitPlugins")
        return f"{entry.where}: JobSubmitPlugins={entry.value}"
    return None


def undo(conf):
    """Take back what the record says; the paths that stay, as they have been changed since."""
    path = record_path(conf)
    if read(path) is None:
        raise InstallError(f"{path}: not there: coscheduleadm has installed nothing here")
    record = load(path)
    used = in_use(conf)
    if used and record["files"]:
        raise InstallError(f"{used}: without what it names slurmctld does not start: take it out "
                           "first (patch -R), and restart slurmctld")
    for unit in reversed(record["units"]):
        systemctl("disable", unit)
    left = []
    for entry in reversed(record["files"]):
        there = read(entry["path"])
        if there is None:
            continue
        if digest(there) != entry["after"]:
            left.append(entry["path"])
        elif entry["before"] is None:
            remove(entry["path"])
        else:
            write(entry["path"], entry["before"])
    remove(path)
    return left


def remove(path):
    try:
        os.unlink(path)
    except OSError as error:
        raise InstallError(f"{path}: {error.strerror}: it stays") from error
