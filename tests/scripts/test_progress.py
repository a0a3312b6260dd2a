#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Commands say on a terminal what they do and how long it will take, and nothing elsewhere: the
ways of Python, C and shell, each in a command that uses it."""

import fcntl
import io
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

SOURCE, BUILD = os.environ["abs_top_srcdir"], os.environ["abs_top_builddir"]
sys.path.insert(0, os.path.join(SOURCE, "plot"))
import progress     # noqa: E402

LIMIT_S = 120
SWEEP = [os.path.join(BUILD, "simulator/coschedsim"), "sweep", "--json", "--machine",
         os.path.join(SOURCE, "machines/amd-opteron-6380-8x8.json"), "--vary",
         "seed=" + ",".join(map(str, range(1, 200))),
         "--policy", "equal", os.path.join(SOURCE, "simulator/scenarios/case-study.json")]


class Command:
    """WORDS with a terminal of COLUMNS for standard output and error, or its output read."""

    def __init__(self, words, columns=80, stdout=None, **env):
        self.text, self.terminal = "", pty.openpty()
        fcntl.ioctl(self.terminal[1], termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=stdout or self.terminal[1],
            stderr=self.terminal[1], start_new_session=True,
            env={**os.environ, "TERM": "xterm", **env})
        os.close(self.terminal[1])

    def until(self, words):
        """Read until WORDS are there."""
        while words not in self.text:
            ready = select.select([self.terminal[0]], [], [], LIMIT_S)[0]
            assert ready, f"no {words!r} in {self.text!r}"
            try:
                data = os.read(self.terminal[0], 4096)
            except OSError:     # its other end is closed
                data = b""
            assert data, f"ended without {words!r}: {self.text!r}"
            self.text += data.decode()

    def lines(self):
        """What a terminal showed, one after the other."""
        return [part.replace("\033[K", "") for part in
                self.text.replace("\n", "\r").split("\r") if part]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.terminal[0])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Line(unittest.TestCase):
    """The line itself, with a clock of the test's own."""

    def setUp(self):
        self.now, self.stream = 0.0, Terminal()

    def made(self, **more):
        return progress.Progress("demo", clock=lambda: self.now, stream=self.stream, **more)

    def test_how_long(self):
        with self.made(total=4) as p:
            p.show("first")
            self.assertEqual(self.stream.getvalue(), "", "at once")
            self.now = 30
            p.step("second")
            self.assertIn("demo: 1 of 4, second, 30 s, about 2 min left", self.stream.getvalue())
            self.now = 7200
            p.step("third")
            self.assertIn("2 of 4, third, 2.0 h, about 2.0 h left", self.stream.getvalue())
        self.assertTrue(self.stream.getvalue().endswith("\r\033[K"), "the line is taken away")

    def test_limit_and_names(self):
        with self.made(seconds=600) as p:
            self.now = 60
            p.show("a\033[31m\nb" + "x" * 500)
            text = self.stream.getvalue()
            self.assertTrue(text.startswith("\r\033[Kdemo: a?[31m?bx"), text)
            self.assertLess(len(text), 90)
            p.show("b")
            self.assertIn("demo: b, 60 s, at most 9 min left", self.stream.getvalue())

    def test_quiet(self):
        self.stream.isatty = lambda: False
        with self.made(total=2) as p:
            self.now = 99
            p.step("x")
        self.assertEqual((self.stream.getvalue(), p.ticker), ("", None))


class Commands(unittest.TestCase):
    def test_python(self):
        """An evaluation whose machine hangs: the line comes without its doing."""
        with tempfile.TemporaryDirectory() as folder:
            hang = os.path.join(folder, "emulate")
            with open(hang, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\nexec sleep 600\n")
            os.chmod(hang, 0o755)
            words = [sys.executable, os.path.join(SOURCE, "emulator/evaluate"), "--mix", "ep cg",
                     "--ways", "native corun", "--emulate", hang, "--results", folder,
                     "--build", BUILD]
            with Command(words, columns=40) as command:
                command.until(", ep, size, ")
                self.assertIn("evaluate: 0 of 2, ep, size, ", command.text)
                self.assertTrue(all(len(line) < 40 for line in command.lines()), command.text)

    def test_c(self):
        """Of the same three, two are not for people."""
        with open(os.devnull, "wb") as null, tempfile.TemporaryFile() as file, \
                Command(SWEEP, stdout=null, TERM="dumb") as dumb, \
                Command(["sh", "-c", '"$@" 2>&1', "sh", *SWEEP], stdout=file), \
                Command(SWEEP, stdout=null) as command:
            for _ in range(2):
                command.text = ""
                command.until(" left")
            self.assertRegex(command.lines()[-1], r"^coschedsim: .*: \d+ of \d+, \d+ s, about ")
            self.assertEqual(os.fstat(file.fileno()).st_size, 0)
            self.assertEqual(select.select([dumb.terminal[0]], [], [], 0)[0], [])

    def test_shell(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f"""program=demo top={SOURCE} build={folder}
                . {SOURCE}/scripts/stage.sh; mkdir {folder}/log; echo 7 >{folder}/log/build.log.s
                stage build sh -c 'until [ -e {folder}/go ]; do sleep 0.1; done'"""
            with Command(["bash", "-c", script]) as command:
                command.until(" s of about 7 s")
                with open(os.path.join(folder, "go"), "w", encoding="ascii"):
                    command.until("ok, ")
                self.assertRegex(command.lines()[-1], r"^demo: build +ok, \d+")
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, check=True)
            self.assertRegex(done.stdout, r"^demo: build +ok, \d+ s\n$")


if __name__ == "__main__":
    unittest.main()
