# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""coschedhistory with sacct, squeue and sinfo of the test's own: programs that
print what was told them."""

import contextlib
import os
import pwd
import subprocess
import tempfile
import time

SOURCE = os.environ["abs_top_srcdir"]
HISTORY = os.path.join(SOURCE, "slurm_conf", "coschedhistory")
# Puts the separator that it was told in the place of zeros.
PROGRAM = r"""#!/bin/bash
echo "$*" >>"$FAKE/{0}.asked"
[ ! -e "$FAKE/{0}.fails" ] || {{ cat "$FAKE/{0}.fails" >&2; exit 1; }}
for word; do
    case $word in
        --delimiter=*) separator=${{word#*=}} ;;
        *%*) separator=${{word#%?}} separator=${{separator%%\%*}} ;;
    esac
done
LC_ALL=C sed "s/\x00/$separator/g" "$FAKE/{0}.says" 2>/dev/null || true
"""
GOOD = ("cosched/1 state=final attached=1 granted=8 program={program} "
        "class={kind} rho=0.5 best_cores=4 work_s=100 done_s=20 steps=400 "
        "ults=4 alone_s=19 alone_share=0.9")


def user_of(uid):
    """What Slurm calls the user UID."""
    with contextlib.suppress(KeyError, TypeError):
        return pwd.getpwuid(uid).pw_name
    return "ann"


def row(job, name, comment=None, system="", **more):
    """A line of sacct: a completed job."""
    now = int(time.time())
    kind = more.pop("kind", "memory")
    if comment is None:
        comment = GOOD.format(program=more.pop("program", "cg"), kind=kind)
    uid = more.pop("uid", 1000)
    fields = {"cluster": "c", "job": job, "uid": uid, "user": user_of(uid),
              "state": "COMPLETED", "start": now - 5000 + job,
              "end": now - 4000 + job, "name": name, "comment": comment, **more}
    return line(*fields.values(), system)


def line(*fields):
    """A row as Slurm prints it."""
    return "".join(f"{field}\0" for field in fields) + "\n"


class FakeSlurm:
    """A folder with the programs, and in `folder` what coschedhistory keeps."""

    def __init__(self):
        self.top = tempfile.TemporaryDirectory(prefix="cosched-test.")
        self.bin = os.path.join(self.top.name, "bin")
        self.folder = os.path.join(self.top.name, "history")
        self.db = os.path.join(self.folder, "history.db")
        os.mkdir(self.bin)
        for name in ("sacct", "squeue", "sinfo", "scontrol"):
            path = os.path.join(self.bin, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(PROGRAM.format(name))
            os.chmod(path, 0o755)
        self.env = {**os.environ, "FAKE": self.top.name,
                    "PATH": f"{self.bin}:/usr/bin:/bin"}

    def says(self, name, text):
        with open(f"{self.top.name}/{name}", "w", encoding="utf-8",
                  errors="surrogateescape") as file:
            file.write(text)

    def asked(self, name):
        with open(f"{self.top.name}/{name}.asked", encoding="utf-8") as file:
            return file.read()

    def run(self, *arguments):
        return subprocess.run([HISTORY, arguments[0], "--db", self.db,
                               *arguments[1:]], env=self.env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              check=False)

    def call(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def file(self, name):
        with open(f"{self.folder}/{name}", encoding="ascii") as file:
            return file.read()

    def suit(self, level, features):
        """Write that nodes with FEATURES suit jobs of LEVEL."""
        with open(f"{self.folder}/partners", "w", encoding="ascii") as file:
            file.write(f"cosched-partners/2 time={int(time.time())}\nedges \nidle \n"
                       f"level{level} {features}\n")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.top.cleanup()
