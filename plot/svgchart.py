# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Draws every chart of the package, as SVG.

    picture = svgchart.Picture("ep + cg", "Which job had which CPU.")
    svgchart.cores(picture, segments, {"17": "ep"})
    svgchart.write("cores.svg", svgchart.document([picture]))

A Picture is marks below each other; functions add a part to it and move its
lower end, `y`, down.  grid() makes a picture of Panels: diagrams with axes.
document() puts pictures into one file.  Lengths are in pixels.

A picture names colours by class only; style() says what they are, so that a
page can have them lighter or darker.  A mark can have a text, which is shown
under the pointer; no meaning is in a colour alone.  Python 3.6 is enough.
"""

import math
import os
import tempfile
from xml.sax.saxutils import escape

# Okabe and Ito's colours: told apart by colour-blind eyes and in grey print.
# With each, what can be read on it.
COLOURS = (("#0072b2", "#ffffff"), ("#d55e00", "#000000"),
           ("#009e73", "#000000"), ("#cc79a7", "#000000"),
           ("#e69f00", "#000000"), ("#56b4e9", "#000000"),
           ("#8a8a8a", "#000000"), ("#f0e442", "#000000"))
# From little to much, lightness alone tells: with each, what can be read on it.
HEAT = (("#fff3d6", "#000000"), ("#fddca6", "#000000"), ("#fdbb6b", "#000000"),
        ("#f08e3c", "#000000"), ("#d1611a", "#000000"), ("#a63c0b", "#ffffff"),
        ("#6b1f06", "#ffffff"))
LINES = len(COLOURS) - 1    # yellow lines cannot be seen on white
LIGHT = {"back": "#ffffff", "text": "#1a1a1a", "faint": "#5e5e5e",
         "line": "#8a8a8a", "idle": "#ececec"}
DARK = {"back": "#16191d", "text": "#e8e8e8", "faint": "#a9a9a9",
        "line": "#767676", "idle": "#2b3036"}
FONT = 'font-family="system-ui, Helvetica, Arial, sans-serif"'

WIDTH = 960
LEFT, RIGHT = 120, 24       # beside what has names on the left
CHARACTER = 6.6             # mean width of one at SIZE
TITLE = 10                  # in a picture's title
SIZE = 12                   # of text
LEGEND_STEP, BAR_STEP = 20, 24
MOST_SEGMENTS = 20000       # drawn; more cannot be told apart
SLANT_DEGREES = 35          # of captions that would touch each other

UNITS = ((1, "seconds"), (60, "minutes"), (3600, "hours"), (86400, "days"))


def style(colours, indent=""):
    """CSS for the classes of a picture; COLOURS are LIGHT or DARK."""
    rules = [f".back {{ fill: {colours['back']} }}",
             f".text {{ fill: {colours['text']} }}",
             f".faint {{ fill: {colours['faint']} }}",
             f".line {{ stroke: {colours['line']}; fill: none }}",
             f".grid {{ stroke: {colours['idle']}; fill: none }}",
             f".alone {{ stroke: {colours['text']}; stroke-width: 2 }}",
             f".idle {{ fill: {colours['idle']} }}",
             f".shared {{ fill: {colours['line']} }}",
             f".wait {{ fill: none; stroke: {colours['line']}; "
             "stroke-dasharray: 3 2 }",
             f".job {{ stroke: {colours['text']}; stroke-width: 0.5 }}",
             ".dash { stroke-dasharray: 5 3 }"]
    for i, (fill, on) in enumerate(COLOURS):
        rules += [f".c{i} {{ fill: {fill} }}", f".on{i} {{ fill: {on} }}",
                  f".s{i} {{ stroke: {fill}; stroke-width: 2; fill: none }}"]
    for i, (fill, on) in enumerate(HEAT):
        rules += [f".h{i} {{ fill: {fill} }}", f".onh{i} {{ fill: {on} }}"]
    return "\n".join(indent + rule for rule in rules)


class Picture:
    """Marks, and how far down they reach."""

    def __init__(self, title, text="", width=WIDTH):
        self.title, self.text, self.width = title, text, width
        self.parts, self.y = [], 8

    def _mark(self, shape, classes, title=""):
        body = f"><title>{escape(title)}</title></{shape.split()[0]}>" \
            if title else "/>"
        self.parts.append(f'<{shape} class="{classes}"{body}')

    def rect(self, x, y, width, height, classes, title=""):
        self._mark(f'rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0):.2f}" '
                   f'height="{max(height, 0):.2f}"', classes, title)

    def dot(self, x, y, classes, title=""):
        self._mark(f'circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"', classes, title)

    def line(self, points, classes="line", title=""):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._mark(f'polyline points="{path}"', classes, title)

    def label(self, x, y, text, classes="text", anchor="start", size=SIZE,
              turn=0):
        if not text:
            return
        place = f' transform="rotate({-turn} {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" font-size="{size}"'
            f' text-anchor="{anchor}"{place}>{escape(text)}</text>')

    def element(self, identity, tag, attributes):
        """The picture as the element TAG.  IDENTITY is unique in the file."""
        return "\n".join([
            f'<{tag} {attributes} role="img" '
            f'aria-labelledby="{identity}-t {identity}-d">',
            f'<title id="{identity}-t">{escape(self.title)}</title>',
            f'<desc id="{identity}-d">{escape(self.text)}</desc>',
            *self.parts, f"</{tag}>"])

    def svg(self, identity):
        """The picture as an element of a page."""
        return self.element(
            identity, "svg", f'viewBox="0 0 {self.width:g} {self.y:g}" '
            f'width="{self.width:g}" height="{self.y:g}" {FONT}')


def document(pictures, title=""):
    """PICTURES below each other as one file, each under its title."""
    width = max(max(picture.width, 48 + TITLE * len(picture.title))
                for picture in pictures)
    y, parts = 0, []
    if title:
        parts.append(f'<text x="24" y="34" class="text" font-size="20" '
                     f'font-weight="bold">{escape(title)}</text>')
        y = 34
    for number, picture in enumerate(pictures):
        parts.append(f'<text x="24" y="{y + 30}" class="text" font-size="16" '
                     f'font-weight="bold">{escape(picture.title)}</text>')
        parts.append(picture.element(f"p{number}", "g",
                                     f'transform="translate(0 {y + 40})"'))
        y += math.ceil(picture.y) + 52
    title = title or ", ".join(picture.title for picture in pictures)
    return "\n".join([
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" '
        f'height="{y:g}" viewBox="0 0 {width:g} {y:g}" {FONT}>',
        f"<title>{escape(title)}</title>", f"<style>\n{style(LIGHT)}\n</style>",
        f'<rect width="{width:g}" height="{y:g}" class="back"/>', *parts,
        "</svg>", ""])


def write(path, text):
    """Write PATH at once or not at all, or OSError; "-" is standard output."""
    if path == "-":
        print(text, end="", flush=True)
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8") as file:     # a device
            file.write(text)
        return
    with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=os.path.dirname(path) or ".",
            prefix=".cosched.", delete=False) as file:
        file.write(text)
    try:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(file.name, 0o666 & ~mask)
        os.replace(file.name, path)
    except OSError:
        os.unlink(file.name)
        raise


# ---- what pictures have in common --------------------------------------------

def ticks(high, low=0, count=8):
    """About COUNT round numbers from LOW on to at most HIGH."""
    if high <= low:
        return [low]
    step = 10 ** math.floor(math.log10((high - low) / count))
    step *= next(k for k in (1, 2, 5, 10) if (high - low) / (k * step) <= count)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def fitting(text, width):
    """TEXT cut to WIDTH."""
    most = int(width / CHARACTER)
    return text if len(text) <= most else text[:max(most - 1, 0)] + "…"


def width_of(texts):
    """Of the longest of TEXTS."""
    return CHARACTER * max((len(text) for text in texts), default=0)


def line_class(number):
    """Of line NUMBER: beyond the colours, dashed ones."""
    return f"s{number % LINES}" + (" dash" if number // LINES % 2 else "")


def legend(picture, left, right, entries):
    """What is what: ENTRIES are (text, classes, "box", "line" or "dots")."""
    x = left
    for text, classes, kind in entries:
        width = CHARACTER * len(text) + 40
        if x + width > right and x > left:
            x, picture.y = left, picture.y + LEGEND_STEP
        y = picture.y + 12
        if kind == "box":
            picture.rect(x + 4, y - 10, 12, 12, classes)
        elif kind == "line":
            picture.line([(x, y - 4), (x + 18, y - 4)], classes)
        else:
            picture.dot(x + 9, y - 4, classes)
        picture.label(x + 23, y, text)
        x += width
    picture.y += LEGEND_STEP if entries else 0


def time_axis(picture, left, right, length, what):
    """Below the marks; LENGTH in seconds."""
    unit, name = max((u for u in UNITS if length / u[0] >= 3),
                     default=UNITS[0])
    y, scale = picture.y, (right - left) / length
    picture.line([(left, y), (right, y)])
    for tick in ticks(length / unit, count=max(2, int((right - left) / 60))):
        x = left + tick * unit * scale
        picture.line([(x, y), (x, y + 5)])
        picture.label(x, y + 18, f"{tick:g}", anchor="middle")
    picture.label((left + right) / 2, y + 36, f"{name} {what}".strip(), "faint",
                  "middle")
    picture.y = y + 48


def nothing(picture, text):
    """TEXT instead of marks."""
    picture.label(LEFT, picture.y + 22, text, "faint")
    picture.y += 36


# ---- parts of a picture --------------------------------------------------------

def cores(picture, segments, names, left=LEFT, right=WIDTH - RIGHT, height=320):
    """Which job had which CPU when: SEGMENTS are coretrace.Segment, NAMES those
    of jobs, which get colours in that order.  A job "" is several at once."""
    if not segments:
        nothing(picture, "nobody had a CPU")
        return
    left_out = len(segments) - MOST_SEGMENTS
    segments = sorted(segments, key=lambda s: s.start)[:MOST_SEGMENTS]
    jobs = [*names, *sorted({s.job for s in segments} - {*names, ""},
                            key=lambda job: (len(job), job))]
    names = {"": "several jobs", **{j: names.get(j, f"job {j}") for j in jobs}}
    classes = {job: f"c{i % len(COLOURS)}" for i, job in enumerate(jobs)}
    classes[""] = "shared"
    legend(picture, left, right,
           [(names[job], f"job {classes[job]}", "box")
            for job in jobs + [""] * any(not s.job for s in segments)])
    cpus = sorted({s.cpu for s in segments})
    length = max(s.end for s in segments)
    step = min(28, max(2, height / len(cpus)))
    scale, every = (right - left) / length, math.ceil(13 / step)
    row = {cpu: picture.y + 6 + i * step for i, cpu in enumerate(cpus)}
    bar = step * (0.86 if step > 5 else 1)
    for cpu in cpus:
        picture.rect(left, row[cpu], right - left, bar, "idle")
    for cpu in cpus[::every]:
        picture.label(left - 8, row[cpu] + bar / 2 + 4, f"CPU {cpu}",
                      anchor="end")
    for s in segments:
        picture.rect(left + s.start * scale, row[s.cpu],
                     max(0.4, (s.end - s.start) * scale), bar, classes[s.job],
                     f"{names[s.job]} on CPU {s.cpu}: {s.start:.3f} s to "
                     f"{s.end:.3f} s")
    picture.y = row[cpus[-1]] + step + 4
    time_axis(picture, left, right, length, "since the first allotment")
    if left_out > 0:
        picture.label(left, picture.y, f"the last {left_out} changes are not "
                      "drawn", "faint")
        picture.y += 8


def bars(picture, rows, what, left=24, right=WIDTH - RIGHT, digits=1):
    """A bar to the right for each of ROWS: (label, value, classes), perhaps with the
    ends of a line on it, (low, high).  WHAT the values are, with their unit."""
    start = left + min(width_of(row[0] for row in rows) + 8, (right - left) / 2)
    longest = max((max((row[1],) + sum(row[3:], ())) for row in rows), default=0) or 1
    scale = (right - start - 52) / longest      # the rest is for the number
    for label, value, classes, *ends in rows:
        picture.label(start - 8, picture.y + 14,
                      fitting(label, start - left - 8), anchor="end")
        picture.rect(start, picture.y, value * scale, BAR_STEP - 6, classes,
                     f"{label}: {value:.{digits}f}")
        end = value
        for low, high in ends:
            end, y = max(end, high), picture.y + BAR_STEP / 2 - 3
            picture.line([(start + low * scale, y), (start + high * scale, y)], "s4",
                         f"{label}: {low:.{digits}f} to {high:.{digits}f}")
        picture.label(start + end * scale + 6, picture.y + 14,
                      f"{value:.{digits}f}")
        picture.y += BAR_STEP
    picture.label(start, picture.y + 12, what, "faint")
    picture.y += 24


def matrix(picture, values, rows, columns, cell=84):
    """VALUES[row][column] with their numbers, the darker the greater; None is
    left out."""
    left = 32 + width_of(rows)
    most = max((v for row in values for v in row if v is not None), default=0)
    for j, name in enumerate(columns):
        picture.label(left + cell * (j + 0.5), picture.y + 12, name,
                      anchor="middle")
    picture.y += 20
    for name, row in zip(rows, values):
        picture.label(left - 8, picture.y + 20, name, anchor="end")
        for j, value in enumerate(row):
            if value is None:
                continue
            x = left + cell * j
            picture.parts.append(
                f'<rect x="{x:.1f}" y="{picture.y:.1f}" width="{cell}" '
                f'height="32" class="c0" opacity="{0.45 * value / most:.3f}"/>')
            picture.rect(x, picture.y, cell, 32, "line")
            picture.label(x + cell / 2, picture.y + 20, f"{value:.2f}",
                          anchor="middle")
        picture.y += 32
    picture.y += 12


# ---- diagrams --------------------------------------------------------------------

def _density(length):
    """About so many marks are readable beside LENGTH."""
    return min(10, max(3, length // 20))


class Panel:
    """A diagram with axes.  X and Y are the values at their ends; None: as the
    data need it, Y from 0 on.  CAPTIONS, (x, text), stand below the axis
    instead of numbers, NOTE below the title."""

    def __init__(self, title, x=None, y=None, x_label="", y_label="", note="",
                 captions=()):
        self.title, self.x, self.y, self.note = title, x, y, note
        self.x_label, self.y_label = x_label, y_label
        self.captions, self.items = captions, []

    def line(self, points, classes):
        self.items.append(("line", points, classes))

    def dots(self, points, classes):
        self.items.append(("dots", points, classes))

    def bars(self, rows, classes):
        """Bars up from 0: ROWS are (x, width, height)."""
        self.items.append(("bars", rows, classes))

    def fit(self, height):
        """Give X and Y where they are None, for a box so HEIGHT."""
        at = [p for kind, points, _ in self.items for p in points]
        high = max((p[-1] for p in at), default=1)
        low = min(min((p[-1] for p in at), default=0), 0)
        if self.x is None:
            self.x = (min((p[0] for p in at), default=0),
                      max((p[0] for p in at), default=1))
        if self.x[0] == self.x[1]:
            self.x = (self.x[0], self.x[0] + 1)
        if self.y is None:
            marks = ticks(high, low, _density(height)) if high > low \
                else [0, 1]
            step = marks[1] - marks[0] if len(marks) > 1 else high - low
            self.y = (step * math.floor(low / step + 1e-9),
                      step * math.ceil(high / step - 1e-9))

    def draw(self, picture, left, top, width, height):
        """Into a box of PICTURE; names and numbers stand outside."""
        (x0, x1), (y0, y1) = self.x, self.y

        def across(x):
            return left + (x - x0) / (x1 - x0) * width

        def down(y):
            return top + height - (min(max(y, y0), y1) - y0) / (y1 - y0) * height

        picture.label(left, top - (22 if self.note else 8), self.title)
        picture.label(left, top - 8, self.note, "faint", size=11)
        for v in ticks(y1, y0, _density(height)):
            picture.line([(left, down(v)), (left + width, down(v))], "grid")
            picture.label(left - 5, down(v) + 4, f"{v:g}", anchor="end", size=11)
        for v in () if self.captions else ticks(x1, x0, _density(width / 2)):
            picture.line([(across(v), top + height),
                          (across(v), top + height + 4)])
            picture.label(across(v), top + height + 16, f"{v:g}",
                          anchor="middle", size=11)
        for kind, points, classes in self.items:
            getattr(self, "_" + kind)(picture, points, classes, across, down)
        picture.line([(left, top), (left, top + height),
                      (left + width, top + height)])
        picture.label(left + width / 2, top + height + 31, self.x_label, "faint",
                      "middle")
        picture.label(left - 42, top + height / 2, self.y_label, "faint",
                      "middle", turn=90)

    @staticmethod
    def _line(picture, points, classes, across, down):
        picture.line([(across(x), down(y)) for x, y in points], classes)

    @staticmethod
    def _dots(picture, points, classes, across, down):
        for x, y in points:
            picture.dot(across(x), down(y), classes, f"{x:g}: {y:.4g}")

    @staticmethod
    def _bars(picture, rows, classes, across, down):
        for x, width, height in rows:
            picture.rect(across(x), down(height), across(x + width) - across(x),
                         down(0) - down(height), classes, f"{height:.4g}")


def grid(picture, panels, columns, entries=(), size=(230, 150)):
    """PANELS in rows of COLUMNS below a legend of ENTRIES; SIZE is that of the
    data's box.  Sets the picture's width."""
    width, height = size
    texts = [text for p in panels for _, text in p.captions]
    gaps = [(b[0] - a[0]) / (p.x[1] - p.x[0]) * width for p in panels
            for a, b in zip(p.captions, p.captions[1:])]
    longest = width_of(texts)
    slanted = longest > min(gaps, default=longest)
    slope = math.sin(math.radians(SLANT_DEGREES))
    below = 38 + (longest * slope if slanted else 0)
    columns = min(columns, len(panels))
    picture.width = max(columns * (width + 76) + 14, 420)
    legend(picture, 24, picture.width - 10, entries)
    above = 30 + 14 * any(p.note for p in panels)
    for i, panel in enumerate(panels):
        panel.fit(height)
        left = 66 + i % columns * (width + 76)
        top = picture.y + above + i // columns * (height + above + below)
        panel.draw(picture, left, top, width, height)
        for x, text in panel.captions:
            x = left + (x - panel.x[0]) / (panel.x[1] - panel.x[0]) * width
            picture.label(x + 3 * slanted, top + height + 14, text,
                          anchor="end" if slanted else "middle",
                          turn=SLANT_DEGREES * slanted)
    picture.y += -(-len(panels) // columns) * (height + above + below)
