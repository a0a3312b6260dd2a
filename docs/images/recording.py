#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Records the first five minutes with coschedule: real commands on a throw-away Slurm cluster.

Writes FILE.cast for asciinema (version 2) and FILE.svg, in which the lines appear as they did.

usage: recording.py BUILD FILE          start a cluster, and record TOUR on it
       recording.py --of TOUR FILE      record the commands of the file TOUR, a line each"""

import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from xml.sax.saxutils import escape

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
COLUMNS, LIMIT_S = 120, 240
KEY_S, READ_S, PAUSE_S = 0.03, 1.5, 2.0     # typing, reading, and the longest wait that is shown
LINE, CHARACTER, SIZE = 17, 7.8, 13
TOUR = """\
# Two OpenMP programs, compiled by plain gcc -fopenmp, for a node that they share
sbatch --coschedule -J bt -o bt.out job.sh bt --class S --min-time 60
: wait 3
COSCHED_REPORT=1 sbatch --coschedule -J mg -o mg.out job.sh mg --class S --min-time 40
: wait 8
# Which jobs have I, from where I submit them?
coschedctl jobs
# What goes on where one of them runs?
coschedctl --job 2 status
# Will my program follow?
coschedctl --job 2 why
# Why these cores?
coschedctl --job 2 explain | tail -n 3
: until [ -z "$(squeue -h)" ]
: wait 10
# What did sharing do?
tail -n 1 mg.out
coschedreport 1 2
"""


class Recording:
    """What a terminal showed: [(seconds, text)]."""

    def __init__(self, env, directory):
        self.env, self.directory, self.now, self.events = env, directory, 0.5, []

    def show(self, text, seconds=0.0):
        self.events.append((round(self.now, 3), text))
        self.now += seconds

    def silent(self, command):
        """Until COMMAND is true; the viewer does not wait for it."""
        end = time.monotonic() + LIMIT_S
        while subprocess.run(["bash", "-c", command], env=self.env, cwd=self.directory,
                             check=False).returncode:
            if time.monotonic() > end:
                sys.exit(f"recording: {command}: not within {LIMIT_S} s")
            time.sleep(0.2)
        self.now += PAUSE_S

    def run(self, command):
        self.show("$ ", READ_S / 2)
        for character in command:
            self.show(character, KEY_S)
        self.show("\r\n")
        if command.startswith("#"):
            return
        own, other = pty.openpty()
        process = subprocess.Popen(
            ["bash", "-c", "set -o pipefail; stty cols %d; %s" % (COLUMNS, command)],
            stdin=other, stdout=other, stderr=other, env=self.env, cwd=self.directory,
            start_new_session=True)
        os.close(other)
        data, began = b"", time.monotonic()
        while select.select([own], [], [], LIMIT_S)[0]:
            try:
                more = os.read(own, 65536)
            except OSError:
                break
            if not more:
                break
            data += more
        os.close(own)
        if process.wait():
            sys.exit(f"recording: {command}: status {process.returncode}: {data.decode()}")
        self.now += min(PAUSE_S, time.monotonic() - began)
        self.show(data.decode("utf-8", "replace"), READ_S)

    def tour(self, text):
        for line in filter(None, text.split("\n")):
            word, _, rest = line.partition(" ")
            if word != ":":
                self.run(line)
            elif rest.startswith("wait "):
                time.sleep(float(rest[5:]))
                self.now += PAUSE_S
            else:
                self.silent(rest.partition(" ")[2])

    def cast(self, height):
        head = {"version": 2, "width": COLUMNS, "height": height, "title": "coschedule",
                "env": {"TERM": "xterm-256color"}}
        return "\n".join([json.dumps(head)] + [json.dumps([when, "o", text])
                                               for when, text in self.events]) + "\n"

    def lines(self):
        """[(when it was complete, text)]; long ones are folded as a terminal does."""
        done, line = [], ""
        for when, text in self.events:
            for part in text.replace("\r\n", "\n").splitlines(True):
                line += part.rstrip("\n")
                if part.endswith("\n"):
                    done += [(when, line[i:i + COLUMNS])
                             for i in range(0, max(1, len(line)), COLUMNS)]
                    line = ""
        return done

    def svg(self):
        lines = self.lines()
        width, height = COLUMNS * CHARACTER + 24, LINE * len(lines) + 24
        rows = []
        for number, (when, text) in enumerate(lines):
            style = "comment" if text.startswith("$ #") else \
                "typed" if text.startswith("$ ") else "said"
            rows.append(
                f'<text x="12" y="{12 + LINE * (number + 0.8):.1f}" class="{style}" '
                f'xml:space="preserve">{escape(text)}<set attributeName="opacity" to="0" '
                f'begin="0s" dur="{when:.2f}s"/></text>')
        return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" \
role="img" aria-labelledby="t">
<title id="t">The first five minutes with coschedule, in a terminal</title>
<style>
text {{ font: {SIZE}px ui-monospace, DejaVu Sans Mono, Consolas, monospace; fill: #e8e8e8 }}
.typed {{ fill: #ffffff; font-weight: bold }}
.comment {{ fill: #8fc7f0 }}
</style>
<rect width="100%" height="100%" rx="8" fill="#16191d"/>
""" + "\n".join(rows) + "\n</svg>\n"

    def write(self, path):
        for end, text in ("cast", self.cast(len(self.lines()) + 1)), ("svg", self.svg()):
            with open(f"{path}.{end}", "w", encoding="utf-8") as file:
                file.write(text)


def on_cluster(build, path):
    build = os.path.abspath(build)
    script = os.path.join(SOURCE, "slurm_conf/testcluster/cluster")
    with tempfile.TemporaryDirectory(prefix="cs.", dir="/tmp") as folder:
        root = os.path.join(folder, "c")
        os.chmod(folder, 0o755)     # other users' daemons are in it
        os.makedirs(folder + "/bin")
        for name, where in (("coschedctl", f"{build}/coschedctl"),
                            ("job.sh", f"{build}/jobs/job.sh"),
                            ("coschedreport", f"{SOURCE}/slurm_conf/coschedreport")):
            os.symlink(os.path.abspath(where), f"{folder}/bin/{name}")
        os.symlink(f"{folder}/bin/job.sh", f"{folder}/job.sh")
        try:
            subprocess.run([script, "start", root, "--build", build], check=True,
                           stdin=subprocess.DEVNULL)
            env = dict(line.split("=", 1) for line in subprocess.run(
                ["bash", "-c", f". {root}/env.sh && env -0"], check=True, text=True,
                capture_output=True).stdout.split("\0") if "=" in line)
            env.update(COSCHED_JOBS_DIR=f"{build}/jobs", PATH=f"{folder}/bin:{env['PATH']}")
            recording = Recording(env, folder)
            recording.tour(TOUR)
            recording.write(path)
        finally:
            subprocess.run([script, "stop", root], check=False, stdin=subprocess.DEVNULL)


def main():
    if len(sys.argv) == 3 and sys.argv[1] != "--of":
        on_cluster(*sys.argv[1:])
    elif len(sys.argv) == 4 and sys.argv[1] == "--of":
        recording = Recording(dict(os.environ), os.getcwd())
        with open(sys.argv[2], encoding="utf-8") as file:
            recording.tour(file.read())
        recording.write(sys.argv[3])
    else:
        sys.exit(__doc__[__doc__.index("usage:"):])


if __name__ == "__main__":
    main()
