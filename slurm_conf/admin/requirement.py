# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What co-scheduling needs of a host and of slurm.conf, and what of it is missing.

Settings that are lists, in LISTS, get one word more: `merged()` has the whole line, with what the
site has there.  Settings that say how the site's cluster works (SelectType, memory as a resource)
are for the site to decide: they are only reported.
"""

import os
import re

from admin import host
from admin.plugstack import Plugstack

# Key: the word to add, what serves as well, whether it must come first.
LISTS = {
    "TaskPlugin": ("task/affinity", r"task/(affinity|cgroup)", False),
    "PrologFlags": ("Alloc", r"alloc|contain|nohold|x11", False),
    "JobSubmitPlugins": ("lua", "lua", True),
    "SchedulerParameters": ("cosched_policy=corun", r"cosched_policy=.+", False),
}
NOTHING = ("", "none", "(null)", "task/none", "n/a")
DROP_IN = "coschedule.conf"
PLUGIN_ARGUMENTS = r"(socket|libgomp|munge|defaults)=|timeout=\d+$"     # spank_plugin/args.c


class Finding:
    """What is wrong, and the LINE that mends it.  A note: co-scheduling works all the same."""

    def __init__(self, text, line=None, note=False):
        self.text, self.line, self.note = text, line, note


def words_of(value):
    return [word for word in value.split(",") if word.lower() not in NOTHING]


def has(key, value):
    """Does VALUE of KEY serve?"""
    pattern = LISTS[key][1]
    return any(re.fullmatch(pattern, word, re.I) for word in words_of(value))


def merged(conf, key):
    """VALUE of KEY with what is missing."""
    word, _, first = LISTS[key]
    there = words_of(conf.value(key))
    return ",".join([word, *there] if first else [*there, word])


def missing_lists(conf):
    """{key: merged value} of what slurm.conf lacks."""
    return {key: merged(conf, key) for key in LISTS if not has(key, conf.value(key))}


# ---- slurm.conf -------------------------------------------------------------

def place(conf, key):
    entry = conf.last(key)
    return f"{entry.where}: {entry.key}={entry.value}" if entry else f"{conf.path}: no {key}"


def of_selection(conf, running):
    select = conf.value("SelectType") or running.get("SelectType", "")
    if select and select not in ("select/cons_tres", "select/linear"):
        yield Finding(f"{place(conf, 'SelectType')}: co-scheduled jobs need select/cons_tres to "
                      "share a node (a change ends running jobs: drain the cluster first)",
                      "SelectType=select/cons_tres")
    parameters = conf.value("SelectTypeParameters") or running.get("SelectTypeParameters", "")
    if "memory" not in parameters.lower():
        rest = [word for word in words_of(parameters)
                if not re.fullmatch("cr_(core|cpu|socket)", word, re.I)]
        yield Finding(f"{place(conf, 'SelectTypeParameters')}: memory must be a resource, else "
                      "jobs share a node whose memory does not suffice",
                      "SelectTypeParameters=" + ",".join(
                          ["CR_Memory" if "linear" in select else "CR_Core_Memory", *rest]))
    if "gang" in conf.value("PreemptMode").lower():
        yield Finding(f"{place(conf, 'PreemptMode')}: gang scheduling suspends co-scheduled jobs "
                      "in turn, which then share time instead of cores", note=True)


def of_lists(conf, running):
    for key, value in missing_lists(conf).items():
        yield Finding(f"{place(conf, key)}: {LISTS[key][0]} is missing", f"{key}={value}")
    for key in LISTS:
        if running and has(key, conf.value(key)) and not has(key, running.get(key, "")):
            yield Finding(f"{place(conf, key)}: slurmctld does not know of it yet: restart it")
    if "all_partitions" in words_of(conf.value("JobSubmitPlugins")):
        yield Finding(f"{place(conf, 'JobSubmitPlugins')}: all_partitions puts every job into the "
                      "shared partition, too, where only co-scheduled ones may be: leave it out")


def of_entries(conf, running):
    """Entries cosched_KEY=VALUE: coschedd knows what each may be."""
    del running
    entries = [word[len("cosched_"):] for word in words_of(conf.value("SchedulerParameters"))
               if word.startswith("cosched_")]
    where = conf.last("SchedulerParameters").where if entries else ""
    bad = False
    for entry in entries:
        key, _, value = entry.partition("=")
        key, _, partition = key.partition("@")
        wrong = wrong_settings(f"{key}={value}")
        bad = bad or bool(wrong)
        if wrong:
            yield Finding(f"{where}: {wrong}")
        elif partition and partition not in conf.records("PartitionName"):
            yield Finding(f"{where}: cosched_{entry}: no partition {partition}")
    together = not bad and wrong_settings(*(entry for entry in entries
                                            if "@" not in entry.partition("=")[0]))
    if together:
        yield Finding(f"{where}: {together}")


def wrong_settings(*entries):
    """What coschedd says of ENTRIES, KEY=VALUE; "": nothing, or there is none that could."""
    status, _, err = host.ask("coschedd", "--check", *(f"--set={entry}" for entry in entries))
    return re.sub(r"^coschedd: (error: )?", "", err) if status and "cosched_" in err else ""


def of_partition(conf, name):
    partitions = conf.records("PartitionName")
    if name not in partitions:
        yield Finding(f"{conf.path}: no partition {name}", f"Include {DROP_IN}")
        return
    entry, words = partitions[name]
    sharing = words.get("oversubscribe", words.get("shared", ""))
    if not re.fullmatch("force(:0*([2-9]|[1-9][0-9]+))?", sharing, re.I):
        yield Finding(f"{entry.where}: partition {name} has OverSubscribe={sharing or 'NO'}: each "
                      "job would have the node to itself", "OverSubscribe=FORCE:4")
    if words.get("maxcpuspernode", "unlimited").lower() != "unlimited":
        yield Finding(f"{entry.where}: MaxCPUsPerNode={words['maxcpuspernode']}: co-scheduled jobs "
                      "ask for all CPUs of a node, and Slurm refuses them: leave it out")
    memory = next((words[key] for key in ("defmempernode", "defmempercpu") if key in words),
                  conf.value("DefMemPerNode") or conf.value("DefMemPerCPU"))
    if not memory.isdigit() or not int(memory):
        yield Finding(f"{entry.where}: partition {name} has no DefMemPerNode: jobs that ask for "
                      "no memory are refused", f"DefMemPerNode={default_memory(conf) or 'MB'}",
                      note=True)
    elif memory == words.get("defmempernode") and int(memory) > (default_memory(conf, 2) or 1e18):
        yield Finding(f"{entry.where}: DefMemPerNode={memory}: more than half of a node: two jobs "
                      "that ask for no memory do not share it",
                      f"DefMemPerNode={default_memory(conf)}", note=True)
    if words.get("exclusiveuser", "no").lower() == "yes":
        yield Finding(f"{entry.where}: ExclusiveUser=YES: only jobs of one user share a node",
                      note=True)


def default_memory(conf, jobs=4):
    """DefMemPerNode with which JOBS fit on the smallest node; None: no node says its memory."""
    sizes = [int(words["realmemory"]) for _, words in conf.records("NodeName").values()
             if words.get("realmemory", "").isdigit()]
    return min(sizes) // jobs if sizes else None


# ---- hosts --------------------------------------------------------------------

def of_controller(conf, running):
    if not has("JobSubmitPlugins", conf.value("JobSubmitPlugins")):
        return
    script = os.path.join(conf.folder, "job_submit.lua")
    where = place(conf, "JobSubmitPlugins")
    folders = host.plugin_folders(conf, running)
    if folders and not host.plugin_file(conf, running, "job_submit_lua.so"):
        yield Finding(f"{where}: no job_submit_lua.so in {folders[0]}: this Slurm was built "
                      "without Lua, and slurmctld does not start")
    try:
        with open(script, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError as error:
        yield Finding(f"{where}: {script}: {error.strerror}: slurmctld does not start")
        return
    loaded = re.search(r'^local script = "([^"]+)"', text, re.M)
    if "cosched" not in text:
        yield Finding(f"{script}: does not call the script of co-scheduling (its first lines show "
                      "how)", f'dofile("{conf.folder}/cosched_submit.lua")')
    elif loaded and not os.path.exists(loaded[1]):
        number = text[:loaded.start()].count("\n") + 1
        yield Finding(f"{script}:{number}: {loaded[1]}: not there: co-scheduled jobs are refused")


def of_plugin(conf, running):
    stack = Plugstack(conf)
    line = stack.ours(host.PLUGIN)
    path = host.plugin_file(conf, running, line.plugin if line else host.PLUGIN)
    if not line:
        yield Finding(f"{stack.path}: {host.PLUGIN} is missing", f"optional {host.PLUGIN}")
    elif line.kind.lower() == "required":
        yield Finding(f"{line.where}: required {line.plugin}: should the file be missing, no job "
                      "starts: it must be optional", f"optional {line.plugin}")
    for argument in line.arguments if line else ():
        if not re.match(PLUGIN_ARGUMENTS, argument):
            yield Finding(f"{line.where}: {argument}: neither socket=, libgomp=, munge=, defaults= "
                          "nor timeout= with milliseconds")
    if not path:
        where = f"{line.where}: {line.plugin}" if line else host.PLUGIN
        folders = ":".join(host.plugin_folders(conf, running)) or "PluginDir"
        yield Finding(f"{where}: not in {folders}: install coschedule-slurm")
        return
    built = host.plugin_versions(path)[1]
    slurm = host.slurm_version()
    if built and slurm and not slurm.startswith(built + "."):
        yield Finding(f"{path}: built for Slurm {built}, but this is {slurm}: build it anew")
    elif line:
        _, out, err = host.ask("sbatch", "--help")
        if "--coschedule" not in out:
            yield Finding(f"{line.where}: sbatch does not load it: {err.splitlines()[0]}" if err
                          else f"{line.where}: sbatch does not load it")


def of_versions(conf, running):
    """Agent and plugin of one node understand each other within a protocol's versions, but only
    the same ones are tested together."""
    line = Plugstack(conf).ours(host.PLUGIN)
    path = host.plugin_file(conf, running, line.plugin if line else host.PLUGIN)
    plugin = host.plugin_versions(path)[0] if path else None
    agent, serving = host.agent_version(), host.serving_version()
    if plugin and agent and plugin != agent:
        yield Finding(f"{path}: version {plugin}, but coschedd has {agent}: install the same "
                      "packages", note=True)
    if serving and agent and serving != agent:
        yield Finding(f"coschedd {serving} still runs, {agent} is installed: restart it (jobs run "
                      "on)", note=True)


def of_node(conf, running):
    del conf, running
    if host.ask("coschedd", "--version")[0] != 0:
        yield Finding("coschedd: not installed: install coschedule-agent")
        return
    status, out, err = host.ask("coschedctl", "health", "--timeout", "5")
    if status != 0:
        yield Finding(f"coschedd: {(out or err).strip()}", "systemctl enable --now coschedd",
                      note=status == 1)


def of_munge(conf, running):
    del running
    found = re.search(r"socket=([^,]+)", conf.value("AuthInfo"), re.I)
    more = ["--socket", found[1]] if found else []
    status, token, err = host.ask("munge", "--no-input", *more)
    if status == 0:
        status, _, err = host.ask("unmunge", *more, given=token)
    if status != 0:
        yield Finding(f"munge: {err.splitlines()[0] if err else 'no answer'}: agents and plugins "
                      "know each other by it")


def findings(conf, running, roles, partition):
    """All of this host in ROLES."""
    for check in (of_selection, of_lists, of_entries):
        yield from check(conf, running)
    yield from of_partition(conf, partition)
    checks = [of_munge, of_plugin]
    checks += [of_controller] if "controller" in roles else []
    checks += [of_node, of_versions] if "node" in roles else []
    for check in checks:
        yield from check(conf, running)


