# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The coschedule developers
"""A page on jobs: what sharing gained and what to change, charts, tables, in one file.

It loads nothing, runs only its own script (sorting of tables), which its
Content-Security-Policy names by hash, and follows the reader's light or dark
theme.  Without script it is complete but not sortable.
"""

import base64
import hashlib
import time
from html import escape

import svgchart
from reporting import chart, gains, group, heat, listing, summary

STYLE = """
:root {{ color-scheme: light dark; --back: {light[back]};
  --text: {light[text]}; --faint: {light[faint]}; --line: {light[line]};
  --idle: {light[idle]}; --link: #0b57a4 }}
@media (prefers-color-scheme: dark) {{ :root {{ --back: {dark[back]};
  --text: {dark[text]}; --faint: {dark[faint]}; --line: {dark[line]};
  --idle: {dark[idle]}; --link: #8ab8f0 }} }}
@media print {{ :root {{ color-scheme: light; --back: {light[back]};
  --text: {light[text]}; --faint: {light[faint]}; --line: {light[line]};
  --idle: {light[idle]} }}
  body {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; font-size: 9pt }}
  .scroll {{ overflow: visible }} table {{ font-size: 6.5pt }}
  th button {{ text-decoration: none }} th, td {{ padding: .1rem .25rem }}
  svg {{ min-width: 0 }} figure, .cards li {{ break-inside: avoid }}
  tr {{ break-inside: avoid }} h2 {{ break-after: avoid }} }}
body {{ margin: 0 auto; padding: 1rem; max-width: 77rem; line-height: 1.5;
  background: var(--back); color: var(--text);
  font-family: system-ui, Helvetica, Arial, sans-serif }}
h1 {{ font-size: 1.5rem; margin: 0 }}
h2 {{ font-size: 1.15rem; margin: 2rem 0 .5rem }}
a {{ color: var(--link) }}
.when, figcaption, caption {{ color: var(--faint) }}
caption {{ text-align: left; padding-bottom: .5rem }}
figure {{ margin: 0 }}
.scroll {{ overflow-x: auto }}
.scroll:focus-visible, button:focus-visible {{ outline: 2px solid var(--link);
  outline-offset: 2px }}
svg {{ max-width: 100%; height: auto; min-width: 40rem }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums;
  font-size: .85rem }}
th, td {{ padding: .2rem .4rem; text-align: left; white-space: nowrap;
  border-bottom: 1px solid var(--idle) }}
.cards {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr));
  gap: .75rem; padding: 0; list-style: none }}
.cards li {{ border: 1px solid var(--line); border-radius: .4rem;
  padding: .5rem .75rem }}
.cards strong {{ display: block; font-size: 1.6rem; line-height: 1.2 }}
th {{ vertical-align: bottom; border-bottom: 1px solid var(--line) }}
.right {{ text-align: right }}
th button {{ font: inherit; font-weight: bold; color: inherit; padding: 0;
  background: none; border: 0; cursor: pointer; text-decoration: underline }}
th[aria-sort="ascending"] button::after {{ content: " \\2191" }}
th[aria-sort="descending"] button::after {{ content: " \\2193" }}
dt {{ font-weight: bold }}
"""

# Sorts a table by the column whose heading is pressed; empty values go last.
SCRIPT = """
"use strict";
document.querySelectorAll("table").forEach(function (table) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach(function (head, column) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.textContent = "";
    head.appendChild(button);
    button.addEventListener("click", function () {
      const up = head.getAttribute("aria-sort") !== "ascending";
      const value = function (row) { return row.cells[column].dataset.v; };
      const rows = Array.from(table.tBodies[0].rows);
      const known = rows.filter(function (r) { return value(r) !== ""; });
      const rest = rows.filter(function (r) { return value(r) === ""; });
      const numbers = known.every(function (r) { return isFinite(value(r)); });
      known.sort(function (a, b) {
        return (up ? 1 : -1) * (numbers ? value(a) - value(b)
          : value(a).localeCompare(value(b), undefined, {numeric: true}));
      });
      table.tBodies[0].append(...known, ...rest);
      heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    });
  });
});
"""

WORDS = (
    ("Wait, turnaround", "from submission to start, from submission to end, by "
     "Slurm's clock, in whole seconds"),
    ("Cores", "mean number of cores while the job had running processes; last: "
     "when it ended"),
    ("Held", "core-seconds it had of the core-seconds Slurm allocated to it; of "
     "a shared node Slurm allocates all cores to each job"),
    ("Slowdown", "run time by the best known run time of the same program alone "
     "on the node; ± what whole seconds leave open"),
    ("Regions, parallel", "different parallel regions seen, and the share of "
     "the time they took"),
    ("In turn", "sum of the jobs' run times alone: the makespan without "
     "sharing"),
    ("Exclusive use", "on each node one job at a time, in the order of "
     "submission, each for its time alone; of jobs of which that is known"),
    ("Work of a pair", "1/a + 1/b of their slowdowns a and b: what both do "
     "together, relative to one job alone on the node"),
    ("Hmean", "harmonic mean of the jobs' speedups: run time alone by "
     "turnaround"),
    ("NTT", "from the first start to the last end, relative to the same "
     "programs under native time sharing"),
    ("Norm-ta", "normalised turnaround: total turnaround, relative to the same "
     "programs under native time sharing"),
    ("Energy, EDP", "estimated: the job's share of its packages' energy, and "
     "that times its run time"),
)


REGIONS = 20    # that the page has


def render(jobs, mixes, mix, traces, days, title):
    """The page as text.  MIXES: their rows (group.py); MIX: the jobs are one."""
    comparison = gains.Comparison(jobs)
    gained = [p for p in (heat.against_exclusive(comparison), heat.heat_map(jobs)) if p]
    pictures = [_figure(p, f"p{i}") for i, p in enumerate(
        [*gained, *chart.pictures(jobs, traces)])]
    clock = listing.clock_format(
        [s for j in jobs for s in (j.submit, j.start, j.end)])
    said = summary.of_jobs(jobs, mix, days) if jobs else ""
    keys = listing.KEYS + listing.ENERGY_KEYS + listing.CPU_KEYS
    parts = [
        _head(title), "<main>",
        _cards(jobs, comparison),
        _paragraphs(said),
        "<h2>What to change</h2>", "<ul>",
        *(f"<li>{escape(listing.printable(text))}</li>"
          for text in gains.advice(jobs, comparison)), "</ul>",
        *pictures[:len(gained)], _pairs(jobs), *pictures[len(gained):],
        *(part for by, rows in (("user", group.by_user(jobs)),
                                ("account", group.by_account(jobs)))
          for part in (f"<h2>By {by}</h2>", _table(
              f"{by}s", f"What the jobs of each {by} had",
              listing.GROUP_COLUMNS[by], rows, clock))),
        *_regions(jobs, clock),
        "<h2>Jobs</h2>",
        _table("jobs", f"{len(jobs)} jobs", listing.JOB_COLUMNS,
               [listing.job_values(j, keys) for j in jobs], clock)]
    if any(len(row["jobs"]) > 1 for row in mixes):
        parts += ["<h2>Mixes</h2>",
                  _table("mixes", "Jobs that are connected by having shared a "
                         "node", listing.GROUP_COLUMNS["mix"],
                         [r for r in mixes if len(r["jobs"]) > 1], clock)]
    parts += ["<h2>Words</h2>", "<dl>",
              *(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in WORDS),
              "</dl>", "</main>", f"<script>{SCRIPT}</script>", "</body>",
              "</html>", ""]
    return "\n".join(parts)


def _cards(jobs, comparison):
    """The few numbers that matter."""
    def change(ratio, less, more):
        change = f"{abs(1 - ratio):.0%}"
        return f"{change} {less if ratio < 1 else more}" if change != "0%" else "As long"

    cards = [(str(len(jobs)), "job" if len(jobs) == 1 else "jobs")]
    if comparison.makespan:
        cards.append((change(comparison.makespan, "shorter", "longer"),
                      "makespan against exclusive use"))
    if comparison.turnaround:
        cards.append((change(comparison.turnaround, "shorter", "longer"),
                      "mean turnaround against exclusive use"))
    known = [j.slowdown for j in jobs if j.slowdown]
    if known:
        cards.append((f"{sum(known) / len(known):.2f}", "times the run time alone, on average"))
    found = gains.pairs(jobs)
    for pair, which in ((found[0], "best"), (found[-1], "worst")) if len(found) > 1 else ():
        cards.append((f"{pair.work:.2f}", f"times the work of one alone: {pair.one} with "
                      f"{pair.other}, the {which} pair"))
    return '<ul class="cards" aria-label="Summary">' + "".join(
        f"<li><strong>{escape(value)}</strong>{escape(listing.printable(text))}</li>"
        for value, text in cards) + "</ul>"


PAIR_COLUMNS = (
    listing.Column("PROGRAM", "one", str, False), listing.Column("BESIDE", "other", str, False),
    listing.Column("WORK", "work", "{:.2f}".format),
    listing.Column("SLOWDOWN", "first", "{:.2f}".format),
    listing.Column("OF THE OTHER", "second", "{:.2f}".format))


def _pairs(jobs):
    """The pairs as a table: for who cannot see the map."""
    rows = [{"one": listing.printable(p.one), "other": listing.printable(p.other), "work": p.work,
             "first": p.slowdowns[0], "second": p.slowdowns[1]} for p in gains.pairs(jobs)]
    return _table("pairs", "Pairs of programs, those that do most together first",
                  PAIR_COLUMNS, rows, "") if rows else ""


def _regions(jobs, clock):
    """Where the programs spend their time."""
    rows = group.by_region(jobs)[:REGIONS]
    return ["<h2>Parallel regions</h2>", _table(
        "regions", "Regions that took most time, of each job up to three",
        listing.GROUP_COLUMNS["region"], rows, clock)] if rows else []


def _head(title):
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    style = STYLE.format(light=svgchart.LIGHT, dark=svgchart.DARK) + \
        svgchart.style({name: f"var(--{name})" for name in svgchart.LIGHT})
    made = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en">', "<head>",
        '<meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" content="default-src '
        "'none'; style-src 'unsafe-inline'; script-src "
        f"'sha256-{digest}'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>", f"<style>{style}\n</style>",
        "</head>", "<body>", "<header>", f"<h1>{escape(title)}</h1>",
        f'<p class="when">Written {escape(made)} by coschedreport; all times '
        "are in this zone.</p>", "</header>"])


def _paragraphs(text):
    """The blocks of lines in TEXT."""
    blocks = [block.split("\n") for block in text.strip("\n").split("\n\n")]
    return "\n".join("<p>" + "<br>\n".join(map(escape, block)) + "</p>"
                     for block in blocks if block != [""])


def _figure(picture, identity):
    return "\n".join([
        f"<h2>{escape(picture.title)}</h2>", "<figure>",
        f'<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(picture.title)}, chart">',
        picture.svg(identity), "</div>",
        f"<figcaption>{escape(picture.text)}</figcaption>", "</figure>"])


def _table(identity, caption, columns, rows, clock):
    columns = list(listing.visible(columns, rows))
    lines = [f'<div class="scroll" tabindex="0" role="region" '
             f'aria-label="{escape(caption)}, table">',
             f'<table id="{identity}">', f"<caption>{escape(caption)}</caption>",
             "<thead><tr>"]
    for column in columns:
        side = ' class="right"' if column.right else ""
        lines.append(f'<th scope="col"{side}>'
                     f"{escape(column.title.capitalize())}</th>")
    lines.append("</tr></thead><tbody>")
    for row in rows:
        lines.append("<tr>" + "".join(_cell(c, row, clock) for c in columns) +
                     "</tr>")
    lines.append("</tbody></table></div>")
    return "\n".join(lines)


def _cell(column, row, clock):
    value = row[column.key]
    text = listing.cell(column, row, clock)
    side = ' class="right"' if column.right else ""
    order = text if value is not None and not isinstance(value, (int, float)) \
        else "" if value is None else f"{value:g}" if isinstance(value, float) \
        else str(value)
    return f'<td{side} data-v="{escape(order)}">{escape(text)}</td>'


def title_of(jobs, mix):
    if mix is not None and len(jobs) <= listing.NAMED:
        return "Co-scheduled " + listing.jobs_named([j.job for j in jobs])
    return f"Report on {len(jobs)} " + ("job" if len(jobs) == 1 else "jobs")


def of(jobs, past, mix, traces, days):
    """The page on JOBS."""
    rows = [group.mix_row(mix)] if mix else group.by_mix(jobs, past)
    return render(jobs, rows, mix, traces, days, title_of(jobs, mix))
