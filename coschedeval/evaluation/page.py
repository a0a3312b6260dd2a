# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""One HTML file with all that was measured; it loads nothing and runs no script."""

import time
from html import escape

import svgchart
from evaluation import intervals, verdict

STYLE = """
:root {{ color-scheme: light dark; --back: {light[back]}; --text: {light[text]};
  --faint: {light[faint]}; --idle: {light[idle]} }}
@media (prefers-color-scheme: dark) {{ :root {{ --back: {dark[back]}; --text: {dark[text]};
  --faint: {dark[faint]}; --idle: {dark[idle]} }} }}
body {{ margin: 0 auto; padding: 1rem; max-width: 70rem; line-height: 1.5;
  background: var(--back); color: var(--text); font-family: system-ui, sans-serif }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
th, td {{ padding: .2rem .7rem; text-align: right; border-bottom: 1px solid var(--idle) }}
th:first-child, td:first-child {{ text-align: left }}
.faint {{ color: var(--faint) }}
svg {{ max-width: 100%; height: auto }}
.scroll {{ overflow-x: auto }}
"""


def _usage(samples):
    """(time, cores in use) between SAMPLES of (time, CPU seconds so far)."""
    points, before = [], (0.0, 0.0)
    for now in samples:
        if now[0] - before[0] < 0.05:
            continue
        rate = max(0.0, now[1] - before[1]) / (now[0] - before[0])
        points += [(before[0], rate), (now[0], rate)]
        before = now
    return points


def _median_run(result, name):
    runs = sorted(result.measured(name), key=verdict.makespan)
    return runs[len(runs) // 2] if runs else None


def _bars(result):
    picture = svgchart.Picture(result.mix.name, result.sentence())
    rows = []
    for mode in result.modes:
        runs = result.measured(mode.name)
        if runs:
            estimate = result.relative(mode.name)
            name = mode.name
            if estimate.half:
                name += f" ±{50 * (estimate.high - estimate.low):.0f} %"
            rows.append((name, intervals.median([run.makespan for run in runs]),
                         "text" if mode.policy else "shared"))
    svgchart.bars(picture, rows, "makespan, seconds (median; ± of the ratio to native)")
    return picture


def _speeds(result):
    """Cores in use by each job over time, a panel a mode."""
    panels, longest = [], 0.0
    for mode in result.modes:
        run = _median_run(result, mode.name)
        if run:
            longest = max(longest, run.makespan)
    for mode in result.modes:
        run = _median_run(result, mode.name)
        if not run or mode.name.startswith("split-"):
            continue
        panel = svgchart.Panel(mode.name, (0, longest), None, "seconds", "cores in use")
        for number, samples in enumerate(run.samples):
            panel.line(_usage(samples), svgchart.line_class(number))
        panels.append(panel)
    picture = svgchart.Picture(f"{result.mix.name}: cores in use",
                               "CPU time of each job over time, in each mode's median run.")
    entries = [(job.name, svgchart.line_class(number), "line")
               for number, job in enumerate(result.mix.jobs)]
    if panels:
        svgchart.grid(picture, panels, 3, entries)
    return picture


def _table(results):
    parts = []
    for number, row in enumerate(verdict.rows(results)):
        tag = "td" if number else "th"
        parts.append("<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>")
    return "<div class=scroll><table>" + "".join(parts) + "</table></div>"


def render(results, node):
    """The page.  NODE: what to say of the machine."""
    style = (STYLE.format(light=svgchart.LIGHT, dark=svgchart.DARK) +
             svgchart.style(svgchart.LIGHT) + "\n@media (prefers-color-scheme: dark) {\n" +
             svgchart.style(svgchart.DARK) + "\n}")
    parts = ["<!DOCTYPE html><html lang=en><head><meta charset=utf-8>",
             "<meta name=viewport content='width=device-width'>",
             f"<title>Co-scheduling on {escape(node['name'])}</title><style>{style}</style>",
             "</head><body><main>", f"<h1>Co-scheduling on {escape(node['name'])}</h1>",
             f"<p class=faint>{escape(node['text'])}, "
             f"{time.strftime('%Y-%m-%d %H:%M')}</p>"]
    parts += [f"<p>{escape(text)}.</p>" for text in verdict.summary(results)]
    parts.append(_table(results))
    for number, result in enumerate(results):
        parts += [f"<h2>{escape(result.mix.name)}</h2><p>{escape(result.sentence())}.</p>",
                  _bars(result).svg(f"b{number}"), _speeds(result).svg(f"s{number}")]
    parts.append("</main></body></html>\n")
    return "\n".join(parts)
