#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What is installed on a site's hosts runs with Python 3.6, which EL 8 has: its syntax, names that
came later, and its own dataclass() against the one of the standard library."""

import ast
import glob
import os
import sys

SOURCE = os.environ["abs_top_srcdir"]
FOLDERS = ("slurm_conf/*.py", "slurm_conf/admin/*.py", "slurm_conf/reporting/*.py", "plot/*.py",
           "slurm_conf/coschedreport", "slurm_conf/coschedhistory", "slurm_conf/coscheduleadm",
           "plot/coschedplot", "exporter/*.py", "exporter/cosched-exporter")
MODULES = ("dataclasses", "zoneinfo", "tomllib", "graphlib", "importlib.resources")
ATTRIBUTES = ("removeprefix", "removesuffix", "isascii", "fromisoformat", "nullcontext",
              "fmean", "prod", "comb", "cache", "cached_property", "time_ns", "pairwise")
ARGUMENTS = ("capture_output", "text", "missing_ok", "dirs_exist_ok", "strict")
CALLED_WITH = ("run", "Popen", "check_output", "copytree", "unlink", "zip", "rmtree")
# May be used behind hasattr(), or in a try.
GUARDED = {"slurm_conf/plainclass.py": ("dataclasses",)}


def too_new(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and \
                (node.module in MODULES or
                 any(alias.name == "annotations" for alias in node.names)):
            yield node.module
        elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
            yield node.attr
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in CALLED_WITH:
                yield from (k.arg for k in node.keywords if k.arg in ARGUMENTS)
        # X | None, which Python evaluates where it is not quoted.
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if annotation is not None and any(isinstance(part, ast.BitOr)
                                              for part in ast.walk(annotation)):
                yield "| in an annotation"


def check_sources():
    paths = [path for pattern in FOLDERS for path in sorted(glob.glob(f"{SOURCE}/{pattern}"))]
    assert len(paths) > 15, paths
    bad = []
    for path in paths:
        name = os.path.relpath(path, SOURCE)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        tree = ast.parse(text, name, feature_version=(3, 6))
        bad += [(name, what) for what in too_new(tree) if what not in GUARDED.get(name, ())]
    assert not bad, bad


def check_plainclass():
    """Ours does what the standard library's does."""
    sys.path.insert(0, f"{SOURCE}/slurm_conf")
    found = []
    for name in ("dataclasses", None):
        sys.modules.pop("plainclass", None)
        if name is None:
            sys.modules["dataclasses"] = None   # as if there were none
        import plainclass       # pylint: disable=C0415,E0401

        @plainclass.dataclass
        class Job:
            name: str
            cores: "int | None" = None
            notes: list = plainclass.field(default_factory=list)

        one, other = Job("a"), Job(name="a", cores=None)
        one.notes.append("x")
        failed = 0
        for wrong in ((), ("a", 1, [], 2)):
            try:
                Job(*wrong)
            except TypeError:
                failed += 1
        found.append((one.name, one.cores, one.notes, other.notes, one == other,
                      Job("a") == other, Job("a", 2).cores, failed))
    assert found[0] == found[1] == ("a", None, ["x"], [], False, True, 2, 2), found


if sys.version_info < (3, 8):
    print("SKIP: ast knows no feature_version")
    sys.exit(77)
check_sources()
check_plainclass()
