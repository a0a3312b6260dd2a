# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""Small plots as SVG: panels with axes, lines, dots and bars."""

import math
from xml.sax.saxutils import escape

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"]


def ticks(low, high, count=5):
    """Round numbers between LOW and HIGH, about COUNT of them."""
    span = (high - low) / count
    unit = 10 ** math.floor(math.log10(span))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= span)
    first = math.ceil(low / step)
    out = []
    while first * step <= high * (1 + 1e-9):
        out.append(round(first * step, 10))
        first += 1
    return out


class Panel:
    """One diagram: data coordinates X0..X1, Y0..Y1 in a box on the picture."""

    def __init__(self, title, x, y, xlabel="", ylabel=""):
        self.title, self.x, self.y = title, x, y
        self.xlabel, self.ylabel = xlabel, ylabel
        self.items = []

    def line(self, points, colour, dash=False):
        self.items.append(("line", points, COLOURS[colour], dash))

    def dots(self, points, colour):
        self.items.append(("dots", points, COLOURS[colour], False))

    def bars(self, bars):
        """BARS: (x, width, height, colour number)."""
        self.items.append(("bars", bars, None, False))

    def draw(self, left, top, width, height):
        (x0, x1), (y0, y1) = self.x, self.y

        def at(px, py):
            py = min(max(py, y0), y1)
            return (left + (px - x0) / (x1 - x0) * width,
                    top + height - (py - y0) / (y1 - y0) * height)

        out = [f'<text x="{left + width / 2:.0f}" y="{top - 6}" '
               f'text-anchor="middle" font-weight="bold">'
               f'{escape(self.title)}</text>']
        for v in ticks(y0, y1):
            _, py = at(x0, v)
            out.append(f'<path d="M{left} {py:.1f}h{width}" stroke="#ddd"/>'
                       f'<text x="{left - 4}" y="{py + 3:.1f}" '
                       f'text-anchor="end">{v:g}</text>')
        if self.xlabel:
            for v in ticks(x0, x1, 6):
                px, _ = at(v, y0)
                out.append(f'<text x="{px:.1f}" y="{top + height + 13}" '
                           f'text-anchor="middle">{v:g}</text>')
        out.append(f'<path d="M{left} {top}v{height}h{width}" fill="none" '
                   f'stroke="#444"/>')
        for kind, data, colour, dash in self.items:
            out += getattr(self, "_" + kind)(data, colour, dash, at)
        out.append(f'<text x="{left + width / 2:.0f}" y="{top + height + 27}" '
                   f'text-anchor="middle">{escape(self.xlabel)}</text>')
        out.append(f'<text transform="translate({left - 30},'
                   f'{top + height / 2:.0f}) rotate(-90)" '
                   f'text-anchor="middle">{escape(self.ylabel)}</text>')
        return out

    @staticmethod
    def _line(points, colour, dash, at):
        path = " ".join("%.1f,%.1f" % at(*p) for p in points)
        style = ' stroke-dasharray="4 3"' if dash else ""
        return [f'<polyline points="{path}" fill="none" stroke="{colour}" '
                f'stroke-width="1.5"{style}/>']

    @staticmethod
    def _dots(points, colour, _dash, at):
        return ['<circle cx="%.1f" cy="%.1f" r="2.3" fill="%s"/>' %
                (*at(*p), colour) for p in points]

    @staticmethod
    def _bars(bars, _colour, _dash, at):
        out = []
        for x, width, height, colour in bars:
            left, top = at(x, height)
            right, bottom = at(x + width, 0)
            out.append(f'<rect x="{left:.1f}" y="{top:.1f}" '
                       f'width="{right - left:.1f}" '
                       f'height="{bottom - top:.1f}" '
                       f'fill="{COLOURS[colour]}"/>')
        return out


SLANT_DEGREES = 35
CHARACTER = 5.5  # its width in the mean is at most this, of font size 10


class Captions:
    """Texts below the axis: (panel number, x, text).  Slanted if they would
    touch each other."""

    def __init__(self, captions, panels, width):
        self.texts = {}
        for which, x, text in captions:
            x0, x1 = panels[which].x
            self.texts.setdefault(which, []).append(
                ((x - x0) / (x1 - x0) * width, text))
        gaps = [b - a for texts in self.texts.values()
                for (a, _), (b, _) in zip(texts, texts[1:])]
        longest = max((len(text) for _, _, text in captions),
                      default=0) * CHARACTER
        self.slanted = longest > min(gaps, default=longest)
        self.height = round(longest * math.sin(math.radians(SLANT_DEGREES))
                            if self.slanted else 0)

    def draw(self, which, left, bottom):
        for x, text in self.texts.get(which, ()):
            if self.slanted:
                place = (f'transform="translate({left + x + 3:.1f},'
                         f'{bottom + 12}) rotate(-{SLANT_DEGREES})" '
                         f'text-anchor="end"')
            else:
                place = (f'x="{left + x:.1f}" y="{bottom + 13}" '
                         f'text-anchor="middle"')
            yield f"<text {place}>{escape(text)}</text>"


def picture(path, panels, columns, legend, size=(230, 150), captions=()):
    """Write PANELS to PATH in rows of COLUMNS.  LEGEND: (text, colour number,
    "line", "dash" or "dots").  CAPTIONS: see above."""
    width, height = size
    captions = Captions(captions, panels, width)
    cell_w, cell_h = width + 60, height + 62 + captions.height
    rows = -(-len(panels) // columns)
    lines = -(-len(legend) // 4)
    total_w, total_h = columns * cell_w + 10, rows * cell_h + 16 * lines + 14
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_w}" '
           f'height="{total_h}" viewBox="0 0 {total_w} {total_h}" '
           f'font-family="sans-serif" font-size="10">'
           f'<rect width="100%" height="100%" fill="white"/>']
    for i, (text, colour, kind) in enumerate(legend):
        x = 20 + i % 4 * ((total_w - 20) // min(4, len(legend)))
        y = 16 + i // 4 * 16
        if kind == "dots":
            out.append(f'<circle cx="{x + 9}" cy="{y - 3}" r="3" '
                       f'fill="{COLOURS[colour]}"/>')
        else:
            dash = ' stroke-dasharray="4 3"' if kind == "dash" else ""
            out.append(f'<path d="M{x} {y - 3}h18" stroke-width="3" '
                       f'stroke="{COLOURS[colour]}"{dash}/>')
        out.append(f'<text x="{x + 23}" y="{y}">{escape(text)}</text>')
    for i, panel in enumerate(panels):
        left = 46 + i % columns * cell_w
        top = 16 * lines + 24 + i // columns * cell_h
        out += panel.draw(left, top, width, height)
        out += captions.draw(i, left, top + height)
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
