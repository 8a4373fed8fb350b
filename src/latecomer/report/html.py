"""A report as one HTML file: text, figures, and the numbers of each figure in a table beside it.

`latecomer.report.page` makes the file self-contained.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.report import figures, tables
from latecomer.report.page import Page, legend, section
from latecomer.report.words import headline, notes, recommendation
from latecomer.time import format_duration

if TYPE_CHECKING:
    from latecomer.api.profile import Profile
    from latecomer.report.what_if import WhatIf

_FOOTER = (
    "A delay is how far behind the newest row so far a row came; a row is in time if its delay is "
    "not longer than the wait. Written by Latecomer; see “How long to wait?” in its documentation."
)


def page(profile: Profile, what_if: WhatIf | None = None) -> Page:
    """Return the report of a profile, with a what-if comparison of waits if there is one."""
    return Page(
        title=f'How disordered is "{profile.source.time.name}"?',
        headline=headline(profile) + ".",
        choose=_recommended(profile) if profile.timed else "",
        notes=notes(profile),
        sections=[
            *(_sections(profile) if profile.timed else []),
            *(what_if.sections() if what_if else []),
        ],
        footer=_FOOTER,
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
            section(
                "What a wait keeps",
                "A row is in time if its delay is not longer than the wait. Waiting costs: every "
                "answer comes so much later, and rows are held meanwhile.",
                figures.wait_figure(profile),
                tables.waits_table(profile),
            ),
            section(
                "Delays",
                "How far behind the newest row so far a row came. "
                f"{_without_delay(profile)} not drawn.",
                figures.delay_figure(profile),
                tables.delays_table(profile),
            ),
        ]
    sections.append(
        section(
            "Event time against arrival",
            "A stream in order rises from left to right; what hangs below came behind newer rows. "
            f"{every} and {high} of event time; the stronger its colour, the more rows are in it.",
            figures.time_figure(profile) + _legend(figures.shades(found.by_time)),
            tables.times_table(profile),
        )
    )
    if profile.out_of_order:
        sections.append(
            section(
                "Delay against arrival",
                "Whether disorder is a habit or an accident: a band, or a spike. "
                f"{every}, and four cells one doubling of the delay.",
                figures.level_figure(profile) + _legend(figures.shades(found.by_level)),
                tables.levels_table(profile),
            )
        )
    if profile.keys is not None:
        sections.append(_keys(profile, profile.keys))
    if profile.measures is not None:
        sections.append(
            section(
                "Measures of order",
                "Four numbers that tell ways of being disordered apart, each exact.",
                "",
                tables.measures_table(profile),
                kind="prose",
            )
        )
    return sections


def _keys(profile: Profile, keys: pa.Table) -> str:
    table, count = tables.keys_table(profile, keys), keys.num_rows
    shown = (
        f"The {len(table.rows)} worst of {count:,} keys"
        if count > len(table.rows)
        else (f"All {count:,} keys" if count > 1 else "The one key")
    )
    return section(
        "Worst keys",
        f"{shown}, by largest delay: for their rows a wait has to be the longest.",
        figures.key_figure(keys, table.rows),
        table,
        kind="names",
    )


def _without_delay(profile: Profile) -> str:
    count = profile.timed - profile.out_of_order
    rows = "row, which had none, is" if count == 1 else "rows, which had none, are"
    return f"{count:,} {rows}"


def _arrivals(count: int) -> str:
    return f"{count:,} consecutive arrivals" if count > 1 else "1 arrival"


def _legend(starts: list[int]) -> str:
    """Return the legend: the number of rows in a cell of each shade."""
    ranges = [
        f"{start:,} to {past - 1:,}" if past - start > 1 else f"{start:,}"
        for start, past in pairwise(starts)
    ]
    texts = enumerate([*ranges, f"{starts[-1]:,} or more"], figures.SHADES - len(starts))
    return legend("rows in a cell", [(f"shade-{number}", text) for number, text in texts])
