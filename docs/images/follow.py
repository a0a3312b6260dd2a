#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Draws docs/images/follow.svg, the decision tree of docs/follow.md.

usage: follow.py FILE"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "plot"))
import svgchart

# A question, the answer that leads to the right, and the words there (protocol/follow.c) with what
# they mean; the other answer leads down.
QUESTIONS = (
    ("Are its threads those of OpenMP?", "no",
     (("no-openmp", "pinned: MPI, pthreads, Java, TBB"),)),
    ("Is the OpenMP runtime that of GCC, LLVM or Intel?", "no",
     (("other-runtime", "pinned: NVIDIA, Cray, Fujitsu, IBM"),)),
    ("Is the runtime linked statically?", "yes",
     (("static", "pinned: link it without -static, -static-libgomp"),)),
    ("Has it all of the job's environment?", "no",
     (("environment", "pinned: no env -i, ssh, unset LD_AUDIT"),
      ("refused", "pinned, as the user asked: libgomp=stock"),
      ("own-runtime", "pinned: setuid programs have their own"),
      ("broken-library", "pinned: a damaged file; tell the site"))),
    ("Does its container lack something?", "yes",
     (("no-library", "pinned: bind the library's directory into it"),
      ("no-socket", "pinned: bind the socket's directory into it"),
      ("old-glibc", "pinned: use a container with a newer glibc"))),
    ("Is its GCC newer than the site's libgomp?", "yes",
     (("newer-symbols", "pinned if it uses what is new"),)),
    ("Is it started with chrt?", "yes",
     (("realtime", "pinned: use the normal scheduling policy"),)),
    ("Does it begin a parallel region?", "no",
     (("no-region", "serial, or pinned if other threads use cores"),)),
    ("Does it bind, signal or count kernel threads?", "yes",
     (("kthread", "follows, with kernel threads"),)),
)
END = ("follows", "follows")

LEFT, BOX, ARROW, ANSWER = 24, 376, 72, 452
LINE, PAD, GAP = 20, 10, 22


def question(picture, y, height, text):
    picture.rect(LEFT, y, BOX, height, "idle")
    picture.label(LEFT + BOX / 2, y + height / 2 + 4, text, anchor="middle", size=14)


def answer(picture, x, y, width, lines):
    """The box of LINES, (word, what it means); a coloured edge: it follows."""
    height = LINE * len(lines) + 2 * PAD - 6
    follows = all(word in ("follows", "kthread") for word, _ in lines)
    picture.rect(x, y, 6, height, "c2" if follows else "c1")
    for i, (word, text) in enumerate(lines):
        at = y + PAD + 9 + i * LINE
        picture.label(x + 16, at, word, size=14)
        if text != word:
            picture.label(x + 130, at, text, "faint", size=13)
    return height


def arrow(picture, points, text, x, y):
    picture.line(points)
    (x0, y0), (x1, y1) = points[-2:]
    if y0 == y1:
        picture.line([(x1 - 6, y1 - 4), (x1, y1), (x1 - 6, y1 + 4)])
    else:
        picture.line([(x1 - 4, y1 - 6), (x1, y1), (x1 + 4, y1 - 6)])
    picture.label(x, y, text, "faint", size=13)


def draw():
    picture = svgchart.Picture(
        "Will my program follow?",
        "; ".join(f"{text} {which}: " + " or ".join(f"{word} ({means})"
                                                    for word, means in answers)
                  for text, which, answers in QUESTIONS) + "; else it follows.",
        width=ANSWER + ARROW + 380)
    y, middle = 8, LEFT + BOX / 2
    for text, which, answers in QUESTIONS:
        height = max(34, LINE * len(answers) + 2 * PAD - 6)
        question(picture, y, height, text)
        centre = y + height / 2
        right = LEFT + BOX
        arrow(picture, [(right, centre), (right + ARROW, centre)], which,
              right + 22, centre - 6)
        answer(picture, right + ARROW + 4,
               centre - (LINE * len(answers) + 2 * PAD - 6) / 2, 0, answers)
        y += height
        arrow(picture, [(middle, y), (middle, y + GAP)], "yes" if which == "no" else "no",
              middle + 8, y + GAP - 6)
        y += GAP
    answer(picture, middle - 40, y, 0, (END,))
    picture.y = y + 40
    return svgchart.document([picture])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.rsplit("\n", maxsplit=1)[-1])
    svgchart.write(sys.argv[1], draw())
