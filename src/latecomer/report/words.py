"""A profile in words: how disordered it is, what each wait keeps and costs, and which to choose.

Rounding never makes a result look better. A wait is rounded *up* to three digits, and the share in
time is that of the rounded wait, rounded *down*: "99.99 %" is at least that, and "100 %" is all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.profile.tally import MOST_MEASURED
from latecomer.time import DAY, HOUR, MINUTE, SECOND, format_duration

if TYPE_CHECKING:
    from latecomer.api.profile import Profile

ASKED = (0.5, 0.9, 0.99, 0.999, 0.9999, 1.0)
"""Shares of the rows for which the report shows a wait."""
CHOICES = (0.99, 0.999, 1.0)
"""Shares of the rows for which the report recommends a wait."""
KEYS_SHOWN = 10
_HEAD = ("wait", "rows in time", "rows late", "rows held, about")


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait, and the rows that are in time, late and held with it."""

    micros: int
    text: str
    in_time: int
    share: float
    late: int
    held: float


def waits(profile: Profile) -> list[Wait]:
    """Return different waits, from none to the one that keeps all rows."""
    needed = [profile.counted.findings.delays.wait_for(share) for share in ASKED]
    return [wait_of(profile, micros) for micros in sorted({0, *map(readable, needed)})]


def wait_of(profile: Profile, micros: int) -> Wait:
    """Return the results of one wait."""
    text = format_duration(micros)
    in_time = profile.counted.findings.delays.in_time([micros])[0]
    share = in_time / profile.timed if profile.timed else 1.0
    return Wait(micros, text, in_time, share, profile.timed - in_time, profile.held_micros(micros))


def choices(profile: Profile) -> list[tuple[float, Wait]]:
    """Return the wait to recommend for each share."""
    delays = profile.counted.findings.delays
    return [(share, wait_of(profile, readable(delays.wait_for(share)))) for share in CHOICES]


def readable(micros: int) -> int:
    """Return a wait rounded up as `format_duration` writes it, so that the text is no shorter."""
    for unit in _UNITS:
        if micros >= unit:
            # As many steps per unit as three digits can show.
            steps = next((n for n in (100, 10) if micros * n <= 999 * unit), 1)
            return -(-micros * steps // unit) * unit // steps
    return micros


_UNITS = (DAY, HOUR, MINUTE, SECOND, 1_000)


def percent(rows: int, of: int) -> str:
    """Return a share rounded down. "100 %" means all rows, "0.00 %" none."""
    if rows >= of:
        return "100 %"
    hundredths = rows * 10_000 // of
    if rows and not hundredths:
        return "< 0.01 %"
    return f"{hundredths / 100:.2f} %"


def headline(profile: Profile) -> str:
    """Return one sentence on how disordered the rows are."""
    rows = _rows(profile.rows)
    if not profile.rows:
        return "No rows: there is nothing to profile"
    if not profile.timed:
        return f"{rows}, none of them with a time: there is nothing to profile"
    of = "of them"
    if profile.timed < profile.rows:
        rows += f", {profile.timed:,} of them with a time"
        of = "of those"
    if not profile.out_of_order:
        return f"{rows}, all {of} in order" if profile.timed > 1 else f"{rows}: it is in order"
    if profile.measures:
        how = f"in at most {profile.measures.interleaved:,} interleaved runs"
    else:
        how = f"in {profile.runs:,} runs"
    return f"{rows}, {_much(profile)} {of} out of order, {how}"


def _much(profile: Profile) -> str:
    """Return the share out of order to three digits; "100 %" only if it is all rows."""
    if profile.out_of_order > 0.9 * profile.timed:
        return percent(profile.out_of_order, profile.timed)
    share = 100 * profile.fraction
    return f"{share:.3g} %" if share >= _SMALLEST_PERCENT else "less than 0.0001 %"


_SMALLEST_PERCENT = 0.0001
"""Smallest percentage that is not written with an exponent."""


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def notes(profile: Profile) -> list[str]:
    """Return notes on the order of arrival, and on rows and measures that are left out."""
    said = [f"Order of arrival: {profile.order}."]
    if profile.without_time:
        said.append(f"Left out: {_rows(profile.without_time)} without a time.")
    if profile.without_arrival:
        said.append(f"Left out: {_rows(profile.without_arrival)} without an arrival.")
    if profile.error:
        said.append(
            "There are very many different delays: they are rounded up by less than 0.1 %. Rows "
            "in time are in time; a wait may be that much longer than needed."
        )
    if profile.measures is None:
        said.append(
            "Inversions, distance and interleaved runs are not measured: that takes all times "
            f"at once, and there are more than {MOST_MEASURED:,}."
        )
    return said


def in_words(profile: Profile) -> str:
    """Return the text of a profile."""
    lines = [headline(profile), *notes(profile)]
    if profile.timed:
        lines += ["", *aligned([_HEAD, *wait_cells(profile)]), "", *recommendation(profile)]
        if profile.measures:
            four = (f"{name} {count:,}" for name, count in asdict(profile.measures).items())
            lines += ["", f"measures: {', '.join(four)}"]
    if profile.keys is not None:
        lines += ["", *_keys(profile, profile.keys)]
    return "\n".join(lines)


def recommendation(profile: Profile) -> list[str]:
    """Return the recommended waits, in words."""
    if not profile.out_of_order:
        return ["No wait is needed."]
    said = []
    found = choices(profile)
    for (share, wait), more in zip(found, [*(wait for _, wait in found[1:]), None], strict=True):
        # The same wait may be enough for the next share too.
        if wait == more:
            continue
        some = "all rows" if share == 1 else f"{100 * share:g} % of the rows"
        said.append(f'To have {some} in time: sort(wait="{wait.text.replace(",", "")}")')
    return said


def wait_cells(profile: Profile) -> list[tuple[str, str, str, str]]:
    """Return the cells of some waits: rows in time, rows late and rows held."""
    return [
        (wait.text, percent(wait.in_time, profile.timed), f"{wait.late:,}", f"{wait.held:,.0f}")
        for wait in waits(profile)
    ]


def _keys(profile: Profile, keys: pa.Table) -> list[str]:
    head = (", ".join(profile.source.key), "rows", "out of order", "largest delay")
    cells = [head, *worst_keys(profile, keys, KEYS_SHOWN)]
    left = keys.num_rows - KEYS_SHOWN
    more = [f"and {left:,} keys more"] if left > 0 else []
    return ["worst keys", *aligned(cells), *more]


def worst_keys(profile: Profile, keys: pa.Table, most: int) -> list[tuple[str, ...]]:
    """Return the cells of the worst keys: rows, rows out of order and largest delay."""
    return [
        (
            ", ".join(str(row[name]) for name in profile.source.key),
            f"{row['rows']:,}",
            percent(row["out_of_order"], row["rows"]),
            format_duration(row["largest"]),
        )
        for row in keys.slice(0, most).to_pylist()
    ]


def aligned(cells: Sequence[tuple[str, ...]]) -> list[str]:
    """Return lines with the first column aligned left, and the others right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for first, *rest in cells:
        padded: Iterable[str] = (
            f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)
        )
        lines.append("   ".join([f"{first:<{widths[0]}}", *padded]).rstrip())
    return lines
