# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""What a command does and how long it will take: one line on a terminal, nothing elsewhere.

The line comes after two seconds and counts them until it is cleared; what a command prints for good
is printed after clear().  scripts/stage.sh and common/progress.h are the same for shell and C."""

import os
import shutil
import sys
import threading
import time

QUIET_S = 2     # quicker commands say nothing


def duration(seconds):
    """90 -> "2 min"."""
    return "%.0f s" % seconds if seconds < 90 else \
        "%.0f min" % (seconds / 60) if seconds < 5400 else "%.1f h" % (seconds / 3600)


def columns(stream):
    """The width of a terminal, which may not know it."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


class Progress:
    """TOTAL steps, if that is known, or at most SECONDS.  To be used by one thread."""

    def __init__(self, program, total=0, seconds=None, stream=None, live=True,
                 clock=time.monotonic):
        self.program, self.total, self.seconds, self.clock = program, total, seconds, clock
        self.stream = sys.stderr if stream is None else stream
        self.live = live and self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self.begin, self.done, self.text, self.shown = clock(), 0, "", False
        self.lock, self.ended, self.ticker = threading.Lock(), threading.Event(), None

    def show(self, text, done=None):
        """What it does now; so many steps are DONE."""
        with self.lock:
            self.text = text
            self.done = self.done if done is None else done
            self._draw()
        if self.live and not self.ticker:
            self.ticker = threading.Thread(target=self._tick, daemon=True)
            self.ticker.start()

    def step(self, text):
        """One more step is done."""
        self.show(text, self.done + 1)

    def line(self):
        spent = self.clock() - self.begin
        parts = ["%d of %d" % (self.done, self.total)] if self.total else []
        parts += [self.text, duration(spent)]
        if self.seconds is not None:
            parts.append("at most %s left" % duration(max(0, self.seconds - spent)))
        elif self.total and 0 < self.done < self.total:
            parts.append("about %s left" % duration(spent / self.done * (self.total - self.done)))
        return self.program + ": " + ", ".join(part for part in parts if part)

    def _draw(self):
        if self.live and self.text and self.clock() - self.begin >= QUIET_S:
            line = "".join(c if c.isprintable() else "?" for c in self.line())
            self.stream.write("\r\033[K" + line[:columns(self.stream) - 1])
            self.stream.flush()
            self.shown = True

    def _tick(self):
        while not self.ended.wait(1):
            with self.lock:
                self._draw()

    def clear(self):
        """Take the line away until the next show()."""
        with self.lock:
            self.text = ""
            if self.shown:
                self.stream.write("\r\033[K")
                self.stream.flush()
                self.shown = False

    def close(self):
        self.clear()
        self.ended.set()
        if self.ticker:
            self.ticker.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
