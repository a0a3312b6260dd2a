# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What tests of the emulator share."""

import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["abs_top_srcdir"], "tests", "support"))
from coschedtest import BUILD, SOURCE, need, skip     # noqa: E402

EMULATE = os.path.join(SOURCE, "emulator/emulate")
PLUGIN = os.path.exists(os.path.join(BUILD, "emulator/.libs/plugin.so"))
LINES = 14          # a sentence and the guest's last lines


class Emulation:
    """A place of the test's own, by which its processes are known."""

    def __init__(self):
        need("coschedmodel/coschedmodel")
        self.place = tempfile.TemporaryDirectory()
        self.path = self.place.name
        self.environment = {**os.environ, "TMPDIR": self.path, "COSCHED_BUILD_DIR": BUILD,
                            "EMULATE_MARK": self.path}

    def start(self, *arguments, **environment):
        return subprocess.Popen([EMULATE, *arguments], stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=BUILD,
                                env={**self.environment, **environment})

    def run(self, *arguments, **environment):
        """(status, output, errors); nothing is left."""
        process = self.start(*arguments, **environment)
        out, err = process.communicate()
        self.nothing_left()
        return process.returncode, out, err

    def refused(self, why, *arguments, status=125, lines=1, **environment):
        got, out, err = self.run(*arguments, **environment)
        assert (got, out) == (status, ""), (arguments, got, out, err)
        assert why in err and err.startswith("emulate: ") and "Traceback" not in err, err
        assert 1 <= len(err.splitlines()) <= lines, err
        print(err.splitlines()[0])

    def processes(self):
        """Processes that know this place, by their environment: none but they do."""
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as f:
                    if b"EMULATE_MARK=" + self.path.encode() in f.read():
                        found.append(path)
            except OSError:
                pass        # another user's, or it has ended
        return found

    def nothing_left(self):
        assert not self.processes()
        left = set(os.listdir(self.path)) - {"mine"}
        assert not left, left

    def mine(self, name, text, mode=0o644):
        """A file of the test's."""
        path = os.path.join(self.path, "mine", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def need_machine(self):
        """Skip where QEMU or a kernel cannot be had."""
        status, _, err = self.run("--fetch")
        if status:
            skip(err.strip().splitlines()[-1])
