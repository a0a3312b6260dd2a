#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Lists that people read name what the programs know, and nothing else.

Commands and options: a program's help texts, manual page and completion.
Policies, entries of slurm.conf, keys of --coschedule: the tables in the sources,
manual pages, docs/ and completions.  Variables of the runtime, members of machine
descriptions.  And groff has no complaint about a page."""

import functools
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"],
                                "tests", "support"))
import programdocs
from programdocs import SOURCE, options, read, same, section, usage

BUILD = os.environ["abs_top_builddir"]
# Program (in BUILD or SOURCE), manual page, completion.
PROGRAMS = (
    ("coschedd", "docs/coschedd.8", None),
    ("coschedctl", "docs/coschedctl.1",
     "node_agent/coschedctl/completions/coschedctl"),
    ("coschedmodel/coschedmodel", "docs/coschedmodel.1",
     "coschedmodel/completions/coschedmodel"),
    ("simulator/coschedsim", "docs/coschedsim.1",
     "simulator/completions/coschedsim"),
    ("coschedeval/coschedeval", "docs/coschedeval.1", "coschedeval/completions/coschedeval"),
    ("plot/coschedplot", "docs/coschedplot.1", "plot/completions/coschedplot"),
    ("slurm_conf/coschedreport", "docs/coschedreport.1",
     "slurm_conf/completions/coschedreport"),
    ("slurm_conf/coscheduleadm", "docs/coscheduleadm.8", "slurm_conf/completions/coscheduleadm"),
    ("slurm_conf/coschedhistory", "docs/coschedhistory.8",
     "slurm_conf/completions/coschedhistory"),
    ("exporter/cosched-exporter", "docs/cosched-exporter.8",
     "exporter/completions/cosched-exporter"),
    ("emulator/emulate", "docs/emulate.1", "emulator/completions/emulate"),
)
OF_SBATCH = {"--coschedule"} # a help text may mention it
MACHINES = {"COSCHED_MACHINES": os.path.join(SOURCE, "machines")}


def find(program):
    """Where PROGRAM was built, or its script; None: it was not built."""
    for top in BUILD, SOURCE:
        path = os.path.join(top, program)
        if os.access(path, os.X_OK):
            return path
    print(f"{program}: not built, not checked")
    return None


def entries(page, name):
    """First lines of the entries of section NAME of PAGE."""
    return re.findall(r"^\.TP\n(.*)$", section(read(page), name), re.M)


def completer(program):
    path = next(p for p in PROGRAMS if p[0].endswith(program))[2]
    return functools.partial(programdocs.complete, path, program, **MACHINES)


# ---- commands and options --------------------------------------------------------

def check_program(path, page, completion):
    """Everything that its help texts list is on the page and is completed."""
    name, text = os.path.basename(path), usage(path)
    every = options(text) - OF_SBATCH
    assert {"--help", "--version"} <= every, text
    known = set()
    complete = completer(name) if completion else lambda *words: set()
    if "COMMAND --help tells more" in text:
        known = programdocs.commands(text)
        same(f"{completion}: commands", complete(""),
             known | set(re.findall(r"^  (--[a-z]+)", text, re.M)))
        same(f"{page}: commands",
             {re.split(r"[ ,]", e)[1] for e in entries(page, "COMMANDS")}, known)
    for command in sorted(known):
        own = options(usage(path, command)) - OF_SBATCH
        same(f"{completion}: {command}", complete(command, "--") - {"--"}, own)
        every |= own
    if completion and not known:
        same(completion, complete("--"), every)
    same(f"{page}: options", options("\n".join(entries(page, "OPTIONS"))), every)
    for status in re.findall(r"\b([0-3]) [a-z]", text.partition("Exit status: ")[2]):
        assert f"\n.B {status}\n" in section(read(page), "EXIT STATUS"), status


def check_completed_values():
    ctl, model, sim = map(completer, ("coschedctl", "coschedmodel", "coschedsim"))
    assert ctl("st") == {"status"} and ctl("--socket", "/x", "p") == {"ping"}
    assert ctl("requests", "--metric", "r") == {"read-misses"}
    for command in "requests", "machine", "record":
        assert "docs" in ctl(command, "do"), command
    assert ctl("dance", "") == set()
    assert "show" in model("machine", "s")
    assert model("speedup", "--method", "st") == {"stations"}
    assert "uma-1x8" in model("utilisation", "--machine", "uma")
    assert "uma-1x8" in sim("run", "--machine", "uma")


# ---- policies, slurm.conf, --coschedule ------------------------

def table(name):
    return set(re.findall(rf"^    {name}\(\"?(\w+)",
                          read("protocol/options.c") +
                          read("protocol/node_options.c"), re.M))


def check_policies(daemon):
    """The registry's, as the daemon's help lists it, is everybody's list."""
    listed = re.search(r"options_policies\[\] = {(.*?)}",
                       read("protocol/options.c"), re.S)[1]
    policies = set(re.findall(r'"([a-z-]+)"', listed))
    if daemon:
        text = usage(daemon).partition("\nPolicies")[2].partition("all of them")[0]
        same("options_policies", policies,
             set(re.findall(r"^  ([a-z-]+) ", text, re.M)))
    same("docs/policies.md",
         set(re.findall(r"^\| `([a-z-]+)`", read("docs/policies.md")
                        .partition("\n## ")[0], re.M)), policies)
    for page, text in (
            ("docs/coschedule.7", r"one of ([a-z, \n-]+)\."),
            ("docs/coschedd.8", r"How cores are divided: ([a-z,() \n-]+)\.")):
        words = re.search(text, read(page).replace("\\-", "-"))[1]
        same(page, set(re.findall(r"[a-z-]+", re.sub(r"\(\w+\)| or ", " ",
                                                     words))), policies)
    same("coschedsim --policy", completer("coschedsim")("run", "--policy", ""),
         policies)
    return policies


def check_job_options(policies):
    keys, page = table("JOB"), read("docs/coschedule.7")
    assert {"policy", "ults"} <= keys, keys
    for key in keys:
        assert re.search(rf"^\.B[IR]* {key}=", page, re.M), f"{key}="
        assert f"COSCHED_{key.upper()}" in page, key
    same("coschedctl run --options",
         completer("coschedctl")("run", "--options", ""),
         policies | {key + "=" for key in keys})


def check_node_options(daemon):
    wanted = {f"cosched_{key}" for key in table("NODE(?:_WORD)?")}
    assert {"cosched_policy", "cosched_report"} <= wanted, wanted
    if daemon:
        same("coschedd --help", set(re.findall(r"^  (cosched_[a-z_]+)=",
                                               usage(daemon), re.M)), wanted)
    same("docs/coschedd.8",
         set(re.findall(r"^\.TP\n\.B (cosched_[a-z_]+)$",
                        section(read("docs/coschedd.8"), "CONFIGURATION"), re.M)),
         wanted)
    settings = read("docs/settings.md").partition("\n## Site: other files")[0]
    same("docs/settings.md",
         set(re.findall(r"^\| `(cosched_[a-z_]+)` \|", settings, re.M)), wanted)


# ---- the rest --------------------------------------------------------------------

def check_variables():
    """COSCHED_ variables that the runtime reads or sets."""
    sources = glob.glob(os.path.join(SOURCE, "libgomp-coop/config/coop/*.[ch]")) + \
        glob.glob(os.path.join(SOURCE, "libgomp-coop/audit/*.c"))
    wanted = {name for path in sources
              for name in re.findall(r'"(COSCHED_[A-Z_]+)[="]', read(path))}
    assert wanted
    same("docs/libgomp-coop.7",
         set(re.findall(r"^\.TP\n\.B (COSCHED_[A-Z_]+)$",
                        read("docs/libgomp-coop.7"), re.M)), wanted)


def check_schema():
    """Every member of a machine that the reader takes."""
    def members(part):
        if isinstance(part, list):
            return set().union(*map(members, part))
        if not isinstance(part, dict):
            return set()
        return set(part.get("properties", {})).union(*map(members,
                                                          part.values()))

    reader = read("model/io/machine_json.c")
    accepted = set(re.findall(r'\bJSON_\w+\("(\w+)"', reader))
    accepted |= set(re.findall(r'\{"(\w+)", JSON_', reader))
    listed = re.search(r"calibrated\[\] = {(.*?)NULL}", reader, re.S)[1]
    accepted |= set(re.findall(r'"(\w+)"', listed))
    assert {"service_us", "memory", "date"} <= accepted, accepted
    same("machine.schema.json",
         members(json.loads(read("model/io/machine.schema.json"))), accepted)


def check_follow():
    """Why a program does not follow: words and sentences, and the page about it."""
    source = re.sub(r'"\n\s*"', "", read("protocol/follow.c"))
    table = re.findall(r'\[FOLLOW_\w+\] =\s*{"([a-z-]+)",\s*"([^"]*)",\s*"[^"]*",\s*'
                       r'"([^"]*)"}', source)
    assert len(table) == source.count("    [FOLLOW_"), table
    sys.path.insert(0, os.path.join(SOURCE, "slurm_conf"))
    import jobrecord
    assert jobrecord.FOLLOW == {word: text for word, text, _ in table}
    assert jobrecord.OTHERWISE == {word: otherwise for word, text, otherwise in table
                                   if "%" in text}
    words = {word for word, _, _ in table}
    same("protocol/replies.md", set(re.findall(
        r"`([a-z-]+)`", re.search(r"^\| `word` \| (.*) \(", read("protocol/replies.md"),
                                  re.M)[1])), words)
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| ?([^|]*?) ?\|$", read("docs/follow.md"), re.M)
    same("docs/follow.md", {word for word, _ in rows}, words)
    cases = read("tests/node_agent/daemon/test_agent_follow.py")
    for word, tests in rows:
        assert tests or word == "unknown", word
        for name in re.findall(r"`([a-z-]+)`", tests):
            assert f'  "{name}": Case("{word}"' in cases, name
    drawn = subprocess.run([os.path.join(SOURCE, "docs/images/follow.py"), "-"],
                           capture_output=True, text=True, check=True).stdout
    assert drawn == read("docs/images/follow.svg"), "draw it: docs/images/follow.py"
    same("follow.svg", set(re.findall(r">([a-z-]+)</text>", drawn)) - {"yes", "no"},
         words - {"unknown"})


def check_features():
    """Each line about a feature of Slurm's names a test that there is."""
    rows = section_of("docs/operate.md", "Slurm's features and co-scheduled jobs")
    assert len(rows) > 15, rows
    for row in rows:
        target = re.fullmatch("`make ([a-z-]+)`", row[-1])
        if target:
            assert f"| `{target[1]}" in read("CONTRIBUTING.md") or \
                f"`{target[1]}` |" in read("CONTRIBUTING.md"), row
            continue
        name, function = re.fullmatch("`([a-z_]+[.]py): (\\w+)`", row[-1]).groups()
        paths = glob.glob(os.path.join(SOURCE, "tests", "*", name))
        assert any(f"\ndef {function}(" in read(path) for path in paths), row


def check_promises():
    """Each line of SECURITY.md's tables names tests: files that ./check or a target runs, with
    the functions named there, and targets of make."""
    makefiles = "".join(map(read, glob.glob(os.path.join(SOURCE, "tests/**/*.mk"), recursive=True)))
    targets = read("CONTRIBUTING.md")
    rows = [line for line in read("SECURITY.md").splitlines()
            if line.startswith("| ") and not re.match(r"\| \w+ \| tests? ", line)]
    assert len(rows) > 60, len(rows)
    for row in rows:
        cell = row.rpartition(" | ")[2]
        named = re.findall(r"`([^`]+)`(?: \(([a-z_, ]+)\))?", cell)
        assert named, row
        for name, functions in named:
            if name.startswith("make "):
                assert re.search(rf"^\| `{name.split()[1]}`[ ,]|, `{name.split()[1]}` \|", targets,
                                 re.M), row
                continue
            assert os.path.basename(name) in makefiles, f"{name} is not run: {row}"
            path, = [p for top in ("tests", ".") for p in
                     glob.glob(os.path.join(SOURCE, top, "**", name), recursive=True)
                     if f"{SOURCE}/build" not in p][:1] or [None]
            assert path, f"no {name}: {row}"
            text = read(path)
            for function in re.findall(r"\w+", functions):
                assert re.search(rf"\b(check_|case_|test_)?{function}\(", text), \
                    f"no {function} in {name}: {row}"


def section_of(page, title):
    """Cells of the rows of the table in section TITLE of PAGE."""
    text = read(page).partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def check_groff():
    if not shutil.which("groff"):
        print("no groff: pages not formatted")
        return
    for page in sorted(glob.glob(os.path.join(SOURCE, "docs/*.[1-9]"))):
        done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", page],
                              capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
        assert not done.stderr, done.stderr


def main():
    for program, page, completion in PROGRAMS:
        path = find(program)
        if path:
            check_program(path, page, completion)
    check_completed_values()
    daemon = find("coschedd")
    policies = check_policies(daemon)
    check_job_options(policies)
    check_node_options(daemon)
    check_variables()
    check_schema()
    check_follow()
    check_features()
    check_promises()
    check_groff()


main()
