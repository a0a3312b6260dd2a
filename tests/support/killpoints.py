# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Programs that are killed at their system calls, at one in each life (callpoints.h)."""

import json
import os
import tempfile

from coschedtest import BUILD, need, skip, wait_for

AT_CALL = os.path.join(BUILD, "tests", "support", "at_call")
ALL = "COSCHED_KILL_ALL" in os.environ # else a sample


class KillPoint:
    """Call NUMBER (0: none) of those that may change something, or of ALL_CALLS.  With WINDOW
    calls count only between begin() and end()."""

    def __init__(self, folder, number, window, all_calls):
        self.report = f"{folder}/{number}"
        self.counts = f"{folder}/counts"
        # What the program is run under.
        self.command = [AT_CALL, "--number", str(number), "--report", self.report,
                        "--while", self.counts if window else "/",
                        *([] if all_calls else ["--call", "changing"]), "--"]

    def begin(self):
        with open(self.counts, "wb"):
            pass

    def end(self):
        os.unlink(self.counts)

    def result(self):
        """Calls that counted, and whether it was killed; after its end."""
        wait_for("report of the tracer", lambda: os.path.exists(self.report))
        with open(self.report, encoding="ascii") as file:
            report = json.load(file)
        return report["matched"], report["struck"] > 0


def need_tracing():
    need("tests/support/at_call")
    if os.uname().machine not in ("x86_64", "aarch64"):
        skip("system calls are not traced on this processor")


def walk(name, live, sample, window=False, all_calls=False):
    """Call LIVE(kill point) for each call there is, or for SAMPLE of them.  Lives need not be
    the same in all calls."""
    with tempfile.TemporaryDirectory(prefix="cosched-test.") as folder:

        def one(number):
            point = KillPoint(folder, number, window, all_calls)
            try:
                live(point)
                return point.result()
            except BaseException:
                print(f"---- {name}, call {number} ----", flush=True)
                raise

        total, _ = one(0)
        assert total > sample, (name, total)
        lives, killed = total if ALL else sample, 0
        for i in range(lives):
            calls, struck = one(i + 1 if ALL else 1 + (2 * i + 1) * total // (2 * lives))
            killed += struck
            if not struck and not ALL:
                total = min(total, calls)   # the first one had more: it was slow
    print(f"{name}: {total} calls, {lives} lives, {killed} killed", flush=True)
    assert 2 * killed > lives, (name, killed)
