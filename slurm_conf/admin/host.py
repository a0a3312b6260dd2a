# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""This host: what runs on it, which versions, and which part of the cluster it is."""

import os
import re
import shutil
import socket
import subprocess

PATHS = ("/usr/sbin", "/sbin", "/usr/local/sbin")       # of daemons; not in everybody's PATH
CONFS = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf")
PLUGIN = "spank_cosched.so"
PLUGIN_DIRS = ("/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm",
               "/usr/lib/x86_64-linux-gnu/slurm-wlm", "/usr/lib/aarch64-linux-gnu/slurm-wlm")
LIMIT_S = 30    # that a command may take


def name():
    return socket.gethostname().split(".")[0]


def find(program):
    """The path of PROGRAM, or None."""
    return shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), *PATHS]))


def ask(*command, given=None):
    """(status, output, errors) of COMMAND; status None: it is not there or does not answer."""
    path = find(command[0])
    if not path:
        return None, "", f"{command[0]}: not installed"
    with subprocess.Popen([path, *command[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True) as process:
        try:
            out, err = process.communicate(given, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return None, "", f"{command[0]}: no answer within {LIMIT_S} s"
    return process.returncode, out, err.strip()


def running_config():
    """{key: value} of what slurmctld has in force; {} when it does not answer."""
    status, out, _ = ask("scontrol", "show", "config")
    return dict(re.findall(r"^(\w+)\s*= (.*?)\s*$", out, re.M)) if status == 0 else {}


def slurm_conf(running):
    """Where slurm.conf is, or None."""
    for path in (os.environ.get("SLURM_CONF"), running.get("SLURM_CONF"), *CONFS):
        if path and os.path.exists(path):
            return path
    return None


def is_copy(conf):
    """Is CONF slurmd's copy of what slurmctld sent (configless)?"""
    return conf.path.startswith("/run/slurm/") or "/conf-cache/" in conf.path


def roles(conf):
    """Which of controller and node this host is."""
    mine, found = {name(), socket.gethostname(), "localhost"}, []
    controllers = [e.value.split("(")[0] for key in ("SlurmctldHost", "ControlMachine")
                   for e in conf.all(key)]
    if mine & set(controllers):
        found.append("controller")
    for node, (_, words) in conf.records("NodeName").items():
        if mine & {node, words.get("nodehostname", node)}:
            found.append("node")
            break
    return found


def nodes_here(conf):
    mine = {name(), socket.gethostname()}
    return [node for node, (_, words) in conf.records("NodeName").items()
            if words.get("nodehostname", node) in mine]


def slurm_version():
    """"22.05.8", or None."""
    for command in (("scontrol", "--version"), ("slurmd", "-V"), ("slurmctld", "-V")):
        found = re.search(r"\d+\.\d+\.\d+", ask(*command)[1])
        if found:
            return found[0]
    return None


def plugin_folders(conf, running):
    """Where Slurm looks for plugins."""
    return list(filter(None, (conf.value("PluginDir") or running.get("PluginDir", "")).split(":")))


def plugin_file(conf, running, word=PLUGIN):
    """The file for WORD of plugstack.conf, or None."""
    folders = [] if os.path.isabs(word) else [*plugin_folders(conf, running), *PLUGIN_DIRS]
    paths = [os.path.join(folder, word) for folder in folders] or [word]
    return next(filter(os.path.exists, paths), None)


def plugin_versions(path):
    """(its version, Slurm's that it was built for) of the plugin at PATH; None: unknown."""
    try:
        with open(path, "rb") as file:
            found = re.search(rb"cosched-plugin (\S+) slurm 0x([0-9a-f]{6})", file.read())
    except OSError:
        found = None
    if not found:
        return None, None
    number = int(found[2], 16)
    return found[1].decode(), f"{number >> 16}.{number >> 8 & 255:02d}"


def agent_version():
    """Of the installed coschedd, or None."""
    words = ask("coschedd", "--version")[1].split()
    return words[1] if len(words) > 1 else None


def cgroups():
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        return "cgroups v2"
    return "cgroups v1" if os.path.isdir("/sys/fs/cgroup/cpuset") else "no cpuset cgroups"


def perf():
    """Whether the kernel lets the agent (as root) count events."""
    try:
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            return f"perf_event_paranoid {file.read().strip()}"
    except OSError:
        return "no perf events"


def has_systemd():
    """Does systemd start what runs here?"""
    return ask("systemctl", "is-system-running")[1].strip() in (
        "initializing", "starting", "running", "degraded", "maintenance")


def serving_version():
    """Of the coschedd that runs here, or None."""
    found = re.search(r'"version": *"([^"]+)"', ask("coschedctl", "health", "--json")[1])
    return found and found[1]
