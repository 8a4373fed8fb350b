"""A report as one HTML file: words, figures, and beside each figure its numbers in a table.

The file needs no other, no network and no JavaScript, and says so to the browser, which would
refuse to fetch anything. It follows the reader's choice of light or dark, and can be printed.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from latecomer.report import figures, tables
from latecomer.report.words import headline, notes, recommendation
from latecomer.time import format_duration

if TYPE_CHECKING:
    from latecomer.report.profile import Profile
    from latecomer.report.tables import Table

_PAGE = Path(__file__).with_name("page.html")


def page(profile: Profile) -> str:
    """Write the report of a profile."""
    sections = _sections(profile) if profile.timed else []
    template = Template(_PAGE.read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(f'How disordered is "{profile.source.time.name}"?'),
        headline=escape(headline(profile)) + ".",
        notes="".join(f"<li>{escape(note)}</li>" for note in notes(profile)),
        recommendation=_recommended(profile) if profile.timed else "",
        sections="\n".join(sections),
    )


def _recommended(profile: Profile) -> str:
    lines = []
    for line in recommendation(profile):
        words, _, code = line.partition(": ")
        shown = f": <code>{escape(code)}</code>" if code else ""
        lines.append(f"<p>{escape(words)}{shown}</p>")
    return "".join(lines)


def _sections(profile: Profile) -> list[str]:
    found = profile.counted.findings
    wide, high = 1 << found.by_time.wide, format_duration(1 << found.by_time.high)
    every = f"All {profile.timed:,} rows are drawn. A cell spans {_arrivals(wide)}"
    sections = []
    if profile.out_of_order:
        sections += [
            _section(
                "What a wait keeps",
                "A row is in time if its delay is not longer than the wait. Waiting costs: every "
                "answer comes so much later, and rows are held meanwhile.",
                figures.wait_figure(profile),
                tables.waits_table(profile),
            ),
            _section(
                "Delays",
                "How far behind the newest row so far a row came. "
                f"{_without_delay(profile)} not drawn.",
                figures.delay_figure(profile),
                tables.delays_table(profile),
            ),
        ]
    sections.append(
        _section(
            "Event time against arrival",
            "A stream in order rises from left to right; what hangs below came behind newer rows. "
            f"{every} and {high} of event time; the stronger its colour, the more rows are in it.",
            figures.time_figure(profile) + _legend(figures.shades(found.by_time)),
            tables.times_table(profile),
        )
    )
    if profile.out_of_order:
        sections.append(
            _section(
                "Delay against arrival",
                "Whether disorder is a habit or an accident: a band, or a spike. "
                f"{every}, and four cells one doubling of the delay.",
                figures.level_figure(profile) + _legend(figures.shades(found.by_level)),
                tables.levels_table(profile),
            )
        )
    if profile.keys is not None:
        sections.append(_keys(profile))
    if profile.measures is not None:
        sections.append(
            _section(
                "Measures of order",
                "Four numbers that tell ways of being disordered apart, each exact.",
                "",
                tables.measures_table(profile),
                kind="prose",
            )
        )
    return sections


def _keys(profile: Profile) -> str:
    table = tables.keys_table(profile)
    count = profile.keys.num_rows if profile.keys is not None else 0
    shown = (
        f"The {len(table.rows)} worst of {count:,} keys"
        if count > len(table.rows)
        else (f"All {count:,} keys" if count > 1 else "The one key")
    )
    return _section(
        "Worst keys",
        f"{shown}, by largest delay: for their rows a wait has to be the longest.",
        figures.key_figure(profile, [(r[0], r[1], r[2], r[3]) for r in table.rows]),
        table,
        kind="names",
    )


def _without_delay(profile: Profile) -> str:
    count = profile.timed - profile.out_of_order
    rows = "row, which had none, is" if count == 1 else "rows, which had none, are"
    return f"{count:,} {rows}"


def _arrivals(count: int) -> str:
    return f"{count:,} consecutive arrivals" if count > 1 else "1 arrival"


def _section(heading: str, text: str, figure: str, table: Table, kind: str = "numbers") -> str:
    drawn = f"<figure>{figure}</figure>" if figure else ""
    return (
        f"<section><h2>{escape(heading)}</h2><p>{escape(text)}</p>"
        f'<div class="pair">{drawn}{_table(heading, table, kind)}</div></section>'
    )


def _table(heading: str, table: Table, kind: str) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in table.rows
    )
    return (
        f'<table class="{kind}"><caption>{escape(heading)}: the numbers</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _legend(starts: list[int]) -> str:
    """Say how many rows each shade stands for."""
    ends = [*(start - 1 for start in starts[1:]), None]
    items = []
    for number, (start, end) in enumerate(
        zip(starts, ends, strict=True), figures.SHADES - len(starts)
    ):
        many = f"{start:,} or more" if end is None else f"{start:,}"
        many = f"{start:,} to {end:,}" if end is not None and end > start else many
        items.append(f'<li><i class="shade-{number}"></i>{many}</li>')
    listed = "".join(["<li>rows in a cell:</li>", *items])
    return f'<ul class="legend" aria-label="rows in a cell">{listed}</ul>'
