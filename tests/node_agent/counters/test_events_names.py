#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Events and counters of the event sets are LIKWID's: by its own lists, which
it tells for a processor that is not there (fake_likwid_msr.c), by its
performance groups, and for what is newer than the installed one by a list of
ours.  test_likwid_real.c does more where the library can be brought to open."""

import glob
import json
import os
import re
import subprocess
import sys

SOURCE = os.environ["abs_top_srcdir"]
BUILD = os.environ["abs_top_builddir"]
EVENTS = os.path.join(SOURCE, "node_agent", "counters", "events")
MSR = os.path.join(BUILD, "tests/node_agent/counters/.libs/fake_likwid_msr.so")
GROUPS = "/usr/share/likwid/perfgroups"

# LIKWID's name of what each file is for, where its own name is another.
ARCHS = {"haswellEX": ["haswellEP"], "skylakeX": ["skylakeX", "CLX"]}

# In a process of its own: liblikwid, its lists by its own Lua interface.
ASK = """
import ctypes, sys
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("family", "model")]
likwid = ctypes.CDLL("liblikwid.so.5", mode=ctypes.RTLD_GLOBAL)
lua = ctypes.CDLL("liblua5.3.so.0")
likwid.get_cpuInfo.restype = ctypes.POINTER(Info)
likwid.topology_init()
info = likwid.get_cpuInfo().contents
info.family, info.model = int(sys.argv[1]), int(sys.argv[2])
likwid.HPMmode(0)
lua.luaL_newstate.restype = ctypes.c_void_p
state = ctypes.c_void_p(lua.luaL_newstate())
lua.luaL_openlibs(state)
lua.lua_pushcclosure.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
lua.lua_pushcclosure(state, ctypes.cast(likwid.luaopen_liblikwid,
                                        ctypes.c_void_p), 0)
call = lambda results: lua.lua_pcallk(state, 0, results, 0,
                                      ctypes.c_ssize_t(0), None)
call(0)
likwid.perfmon_init_maps()
lua.luaL_loadstring(state, b'''
local lines = {}
for _, event in pairs(likwid_getEventsAndCounters().Events) do
    lines[#lines + 1] = event.Name .. ' ' .. event.Limit
end
return table.concat(lines, '\\\\n')''')
call(1)
lua.lua_tolstring.restype = ctypes.c_char_p
lua.lua_tolstring.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
print("lists", flush=True)
print(lua.lua_tolstring(state, -1, None).decode())
"""


def likwid_lists(family, model):
    """{event: counters} of the installed LIKWID; empty if it cannot say."""
    options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    ran = subprocess.run(
        [sys.executable, "-c", ASK, str(family), str(model)],
        env={**os.environ, "LD_PRELOAD": MSR, "ASAN_OPTIONS": options,
             "FAKE_LIKWID_TOPOLOGY": "/dev/null"},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        timeout=300, check=False)
    found = {}
    _, _, lists = ran.stdout.partition("lists\n")
    for line in lists.split("\n"):
        if " " in line:
            event, limit = line.split(" ", 1)
            found[event] = limit.split("|")
    return found


def group_lists(archs):
    """{event: counters} of the performance groups of all ARCHS."""
    found = {}
    for arch in archs:
        for path in glob.glob(os.path.join(GROUPS, arch, "*.txt")):
            with open(path, encoding="utf-8", errors="replace") as file:
                sets = file.read().partition("EVENTSET")[2]
            for line in sets.partition("METRICS")[0].splitlines():
                words = line.split()
                if len(words) == 2:
                    found.setdefault(words[1], []).append(
                        words[0].partition(":")[0])
    return found


def our_lists(arch):
    """{event: counters} of likwid_names.txt."""
    found = {}
    with open(os.path.join(SOURCE, "tests/node_agent/counters/likwid_names.txt"),
              encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words and words[0] == arch:
                found[words[1]] = [words[2]]
    return found


def allowed(counter, limits):
    """LIKWID's rule: the counter's name begins with the limit."""
    return any(counter.startswith(limit) for limit in limits)


def event_pairs(description):
    for events in description["sets"]:
        for event in events:
            yield event["event"], event["counter"].replace("#", "0")


def lists_of(cpu):
    """Of the first of its models that the installed LIKWID knows."""
    for model in cpu["models"]:
        lists = likwid_lists(cpu["family"], model)
        if lists:
            return lists
    return {}


def check(path):
    with open(path, encoding="ascii") as file:
        description = json.load(file)
    arch = description["name"]
    sources = [lists_of(description["cpus"][0]),
               group_lists(ARCHS.get(arch, [arch])), our_lists(arch)]
    by = [0, 0, 0]
    for event, counter in event_pairs(description):
        for i, source in enumerate(sources):
            if allowed(counter, source.get(event, [])):
                by[i] += 1
                break
        else:
            sys.exit(f"{path}: LIKWID has no {event} on {counter}")
    print(f"{os.path.basename(path)}: {by[0]} events by LIKWID's lists, "
          f"{by[1]} by its groups, {by[2]} by ours")
    return by


def check_schema():
    """The schema and the files agree on what there may be."""
    with open(os.path.join(SOURCE, "node_agent", "counters",
                           "events.schema.json"), encoding="ascii") as file:
        schema = json.load(file)
    with open(os.path.join(SOURCE, "node_agent", "counters",
                           "events.c"), encoding="utf-8") as file:
        loader = file.read()
    known = set(re.findall(r'\bJSON_\w+\("([$\w]+)"', loader))
    definitions = [schema, schema["properties"]["cpus"]["items"],
                   schema["$defs"]["event"], schema["$defs"]["metric"]]
    described = {name for d in definitions for name in d["properties"]}
    assert known == described, known ^ described
    with open(os.path.join(SOURCE, "docs", "counters-reference.md"),
              encoding="utf-8") as file:
        text = file.read()
    for name in list(schema["properties"]["metrics"]["properties"]) + \
            list(schema["$defs"]["event"]["properties"]) + \
            list(schema["$defs"]["metric"]["properties"]):
        assert f"`{name}`" in text, f"docs/counters-reference.md: no {name}"


def main():
    check_schema()
    files = sorted(glob.glob(os.path.join(EVENTS, "*.json")))
    assert len(files) >= 9, files
    if not os.path.exists(MSR):
        print("SKIP: built without LIKWID")
        sys.exit(77)
    # Without a PMU it leaves out what the counters of a core count.
    if "UOPS_ISSUED_ANY" not in likwid_lists(6, 63):
        print("SKIP: the installed LIKWID does not tell its lists here")
        sys.exit(77)
    checked = [check(path) for path in files]
    assert all(sum(by) > 0 for by in checked)


main()
