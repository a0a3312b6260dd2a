#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""scripts/check-tree: names the line that breaks a rule, and no other."""

import os
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.environ.get("abs_top_srcdir", os.getcwd()), "scripts/check-tree")
SPDX = "SPDX-License-Identifier: GPL-2.0-or-later"
C = f"/* {SPDX} */\n"
MAKE = f"# {SPDX}\n"

# What keeps the rules: down, beside, below a room, and tests anywhere.
GOOD = {
    "configure.ac": MAKE + "AC_INIT([x], [1.2])\n",
    "common/hash.h": C,
    "model/policy.h": C + '#include "common/hash.h"\n',
    "model/policy/search/a.c": C + '#include "model/policy.h"\n',
    "node_agent/core/plan.h": C + '#include "node_agent/core/plan.h"\n',
    "node_agent/daemon/agent.h": C + '#include "node_agent/core/plan.h"\n',
    "node_agent/daemon/local.mk": MAKE + "x_LIBADD = node_agent/core/libcore.la\n",
    "simulator/validate/a.c": C + '#include "model/policy.h"\n#include "config.h"\n',
    "spank_plugin/local.mk": MAKE + "EXTRA_DIST += %D%/x.map\n",
    "tests/local.mk": MAKE + "TESTS += %D%/model/test_a.py\n",
    "tests/model/test_a.py": MAKE,
    "tests/model/a.c": C + '#include "node_agent/daemon/agent.h"\n',
    "slurm_conf/tool": 'VERSION = "1.2"  # the package\'s\n',
    **{f"{room}/README.md": "A room.\n" for room in (
        "common", "model", "model/policy/search", "node_agent/core", "node_agent/daemon",
        "simulator", "spank_plugin")},
    "machines/a.json": "TO" "DO " + 200 * "x" + "\n",
}

# What breaks them, each by one line added to a file, and what is said of it.
BAD = [
    ("node_agent/core/plan.h", '#include "node_agent/daemon/agent.h"',
     "3: #include \"node_agent/daemon/agent.h\": node_agent/core may not use node_agent/daemon"),
    ("model/policy.h", '#include "node_agent/core/plan.h"', "3: #include"),
    ("model/policy/search/a.c", '# include "simulator/validate/a.h"', "model/policy/search may"),
    ("common/hash.h", '#include "model/policy.h"', "2: #include \"model/policy.h\""),
    ("spank_plugin/local.mk", "x_LIBADD = model/libmodel.la", "spank_plugin may not use model"),
    ("node_agent/daemon/local.mk", "\tnode_agent/core/plan.h \\", "a file of another room"),
    ("attic/a.c", C, "not in check-tree's table of rooms"),
    ("common/no.h", "/* Mine. */", "no SPDX line"),
    ("common/hash.h", "/* FIX" "ME: later */", "common/hash.h:2: unfinished"),
    ("common/hash.h", "/* " + 98 * "x", "common/hash.h:2: over 100 columns"),
    ("common/hash.h", 700 * "\n", "702 lines, the limit is 700"),
    ("simulator/README.md", 25 * "and\n", "more than 25 lines"),
    ("tests/model/test_b.py", MAKE, "in no makefile"),
    ("slurm_conf/tool", 'VERSION = "1.1"  # the package\'s', "not the version"),
]


def check(top):
    return subprocess.run([CHECK, top], capture_output=True, text=True)


def write(top, name, text, mode="w"):
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, mode, encoding="utf-8") as f:
        f.write(text)


def main():
    with tempfile.TemporaryDirectory() as top:
        for name, text in GOOD.items():
            write(top, name, text)
        result = check(top)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), result
        os.remove(os.path.join(top, "common/README.md"))
        assert check(top).stdout == "check-tree: common/README.md: missing\n"
    for name, line, said in BAD:
        with tempfile.TemporaryDirectory() as top:
            for good, text in GOOD.items():
                write(top, good, text)
            write(top, name, line + "\n", "a")
            result = check(top)
            lines = result.stdout.split("\n")[:-1]
            assert result.returncode == 1 and len(lines) == 1, (name, line, result)
            assert lines[0].startswith(f"check-tree: {name}:") and said in lines[0], lines


if __name__ == "__main__":
    sys.exit(main())
