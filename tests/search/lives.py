"""Operators on lifetimes by brute force: those on one stream, and those that join two.

From docs/temporal.md; overlapping windows are described in `latecomer.operators.temporal.alter`.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

SECOND, POINT = 1_000_000, 1
EVER = 10**18
"""Later than all times."""
LONG = 12 * SECOND
"""The longest lifetime of a row that is chopped."""
TOLERANCE = 4 * SECOND
"""The greatest age of a partner in an as-of join."""


class Life(NamedTuple):
    """A row with its lifetime, its key and its other columns."""

    start: int
    end: int
    key: str | None
    rest: tuple[Any, ...]


def changed(rows: list[Life], asked: tuple[str, Any]) -> list[Life]:
    """Apply an operator. Rows whose lifetime becomes empty are removed."""
    if asked[0] == "where":
        return [row for row in rows if row.rest[0] is not None and row.rest[0] >= asked[1]]
    if asked[0] == "with_columns":
        computed = [None if row.rest[0] is None else row.rest[0] * 2 + 1 for row in rows]
        pairs = zip(rows, computed, strict=True)
        return [row._replace(rest=(*row.rest, value)) for row, value in pairs]
    found = [
        row._replace(start=start, end=end)
        for row in rows
        for start, end in _lifetimes(row, rows, *asked)
    ]
    return [row for row in found if row.start < row.end]


def _lifetimes(  # noqa: PLR0911 - one for each operator
    row: Life,
    rows: list[Life],
    name: str,
    by: Any,  # noqa: ANN401
) -> list[tuple[int, int]]:
    start, end, is_ever = row.start, row.end, row.end == EVER
    length = by * SECOND if isinstance(by, int) else 0
    own = sorted(each.start for each in rows if by is not True or each.key == row.key)
    match name:
        case "alter":
            return [(start, EVER if by is None else start + length)]
        case "extend":
            return [(start, EVER if is_ever else end + length)]
        case "shift":
            return [(start + length, EVER if is_ever else end + length)]
        case "clip":
            return [(start, min(end, start + length))]
        case "until_next":
            return [(start, min((each for each in own if each > start), default=EVER))]
        case "session":
            last = start
            for each in own:
                last = each if last <= each < last + 3 * SECOND else last
            return [(start, last + 3 * SECOND)]
        case "quantize":
            return [_quantized(row, *(each * SECOND for each in by))]
        case "point_at_end":
            return [] if is_ever else [(end, end + POINT)]
    end = min(end, start + LONG)
    cuts = [start, *range((start // length + 1) * length, end, length), end]
    return list(pairwise(cuts))


def _quantized(row: Life, size: int, hop: int) -> tuple[int, int]:
    """Begin with the last window that begins by `start`; end with the first one to end by then."""
    begin = row.start // hop * hop
    if row.end == EVER:
        return begin, EVER
    stop = begin + size
    while stop < row.end:
        stop += hop
    return begin, stop


def met(left: list[Life], right: list[Life], options: dict[str, Any]) -> list[Life]:
    how, out = options["meets"], list[Life]()
    if how == "union":
        return left + right
    pairs = [(one, other) for one in left for other in right if _are_partners(one, other, options)]
    if how == "clip":
        return [_cut(row, [other for one, other in pairs if one is row]) for row in left]
    if how != "anti":
        for one, other in _as_of(pairs) if how == "asof" else pairs:
            start, end = max(one.start, other.start), min(one.end, other.end)
            if start < end:
                theirs = other.rest if options["on"] else (other.key, *other.rest)
                out.append(Life(start, end, one.key, one.rest + theirs))
    more = (None,) * (2 + options["carried"] + (not options["on"]))
    if how in ("left", "full", "anti"):
        for row in left:
            rest = row.rest if how == "anti" else row.rest + more
            alone = _alone(row, [other for one, other in pairs if one is row])
            out += [Life(start, end, row.key, rest) for start, end in alone]
    if how == "full":
        for row in right:
            alone = _alone(row, [one for one, other in pairs if other is row])
            key = row.key if options["on"] else None
            theirs = row.rest if options["on"] else (row.key, *row.rest)
            ours = (None,) * (2 + options["carried"])
            out += [Life(start, end, key, (*ours, *theirs)) for start, end in alone]
    return out


def _cut(row: Life, partners: list[Life]) -> Life:
    """End a row where the first partner begins after its start."""
    begins = [other.start for other in partners if other.start > row.start]
    return row._replace(end=min([row.end, *begins]))


def _as_of(pairs: list[tuple[Life, Life]]) -> list[tuple[Life, Life]]:
    """Return each row as a point in time, with the last partner that began by then."""
    out = []
    for one, other in pairs:
        begins = [each.start for own, each in pairs if own is one and each.start <= one.start]
        is_last = other.start == max(begins, default=None)
        if is_last and one.start - other.start <= TOLERANCE:
            out.append((one._replace(end=one.start + POINT), other._replace(end=EVER)))
    return out


def _are_partners(one: Life, other: Life, options: dict[str, Any]) -> bool:
    is_equal = not options["on"] or (one.key is not None and one.key == other.key)
    return is_equal and (not options["where"] or one.rest[0] <= other.rest[0])


def _alone(row: Life, partners: list[Life]) -> list[tuple[int, int]]:
    """Return the parts of a row's lifetime in which no partner counts."""
    out, since = [], row.start
    for partner in sorted(partners, key=lambda each: each.start):
        if partner.start > since:
            out.append((since, min(partner.start, row.end)))
        since = max(since, partner.end)
        if since >= row.end:
            break
    else:
        out.append((since, row.end))
    return [(start, end) for start, end in out if start < end]


def stitched(rows: list[Life], same: Callable[[Life], Any]) -> list[Life]:
    """Merge pairs of equal rows of which one begins where the other ends, until none is left."""
    rows = list(rows)
    for one in rows:
        for other in rows:
            if (one.end, same(one)) == (other.start, same(other)):
                left = [row for row in rows if row is not one and row is not other]
                return stitched([*left, one._replace(end=other.end)], same)
    return rows


def followed(rows: list[Life], *, by_key: bool) -> list[Life] | None:
    """Stitch rows whose values differ by at most 1; return None if the choice is ambiguous.

    If several rows end when one begins, the row that began first is continued. If several rows
    begin then, it is continued by the one that ends first.
    """
    chains: list[Life] = []
    spans = Counter((row.start, row.end, row.key if by_key else "") for row in rows)
    if max(spans.values(), default=0) > 1:
        return None
    for row in sorted(rows, key=lambda each: (each.start, each.end)):
        likely = [each for each in chains if each.end == row.start]
        likely = [each for each in likely if not by_key or each.key == row.key]
        if len({each.start for each in likely}) < len(likely):
            return None
        value = row.rest[0] or 0
        alike = [each for each in likely if abs((each.rest[0] or 0) - value) <= 1]
        if alike:
            first = min(alike, key=lambda each: each.start)
            chains.remove(first)
            row = first._replace(end=row.end)  # noqa: PLW2901 - it is what goes on
        chains.append(row)
    return chains
